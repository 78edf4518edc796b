"""A randomiser by its name: what is known of it, and data sets of its own.

>>> from shuffledp import accountants
>>> setting = {"n": 6e4, "k": 2e3, "eps0": 2, "rounds": 5800, "delta": 1e-5}
>>> accountants.epsilon(**setting, randomizer="privunit", dimension=13706)
>>> accountants.bracket(**setting, randomizer="krr", categories=100)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks, numerics, variables
from shuffledp.accountants import blankets, registry, systems, via_pld
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes, dominating, merge_to_lattice
from shuffledp.profiles import attacks, named_randomizers, two_records, two_valued, worst_kinds
from shuffledp.profiles.randomized_response import many_symbols_pair

# Where there are but two records: clients up to whom every number of others that hold the second is tried,
# and up to whom some small numbers are; reports of a sample up to which larger numbers are looked at too, of
# which none was ever worst; and how large a small number may be.
_EVERY, _SOME, _SAMPLED, _FEW = 40, 3000, 300, 32
# Clients up to whom one round with two records is bounded by going through all data sets.
_EXACT = 1000
# From here on shuffling hides little, and what the general bounds are rounded to may be less.
_LARGE_EPS0 = 20.0
_OF_PROTOCOLS = frozenset(name for base in blankets.BASES for name in base.variables)
# By kind: the theorem, and what a reader must know.
_WORDS = {
    "upper": (
        "the blanket's reports in four kinds",
        "Certified for this randomiser alone, by its share and, where that says more, its total variation.",
    ),
    "lower": (
        "data sets of the randomiser's own",
        "The largest epsilon of some data sets and neighbours: no valid accountant of this randomiser can "
        "report less.",
    ),
}


# Data sets, as ``_attacks`` has them in words, by what all others hold.
_OTHERS = {
    "all others on a third category": "third",
    "all others on a third record": "third",
    "all others on the first record": "first",
}


class Leak(NamedTuple):
    """What one round of a named randomiser leaks of two neighbouring data sets.

    Attributes:
        pairs: as for ``losses.pairs``, of a lower bound.
        error: relative, of the laws of reports that they rest on.
        reports: of a round.
    """

    pairs: list[Outcomes]
    error: float
    reports: int


class _Case(NamedTuple):
    """A named randomiser in a protocol.

    Attributes:
        system: the protocol with any eps0-LDP randomiser.
        setting: its variables, checked.
        randomizer: the name.
        known: None at eps0 = 0.
    """

    system: systems.System
    setting: systems.Setting
    randomizer: str
    known: two_valued.Known | None
    parameters: dict[str, Any]


def epsilon(
    name: str | None = None,
    *,
    rounds: ArrayLike,
    delta: float,
    randomizer: str | None = None,
    **setting: Any,
) -> float | FloatArray:
    """Return epsilon of T rounds, by an accountant or of a randomiser.

    Args:
        name: the accountant's; may be left out where a randomiser is named.
        rounds: numbers of rounds T, whole numbers >= 0, any shape.
        delta: target, in [0, 1).
        randomizer: one of ``named_randomizers.NAMES``: epsilon is then an upper bound for it, by what is
            known of it.
        setting: the variables of the accountant's system. Where a randomiser is named: n and eps0, with k for
            rounds of k clients, with rate for clients who check in, or with neither for rounds of all n
            clients; and the randomiser's own parameters.

    Returns:
        Epsilon, of the shape of ``rounds``; see ``Accountant.epsilon``.

    Raises:
        ValueError: an argument is missing, unknown or out of range; or the accountant named is for another
            protocol, or not for what is known of the randomiser.
    """
    if randomizer is None:
        if name is None:
            raise ValueError(
                "name must be an accountant's where no randomizer is named, got None; give either"
            )
        return registry.epsilon(name, rounds=rounds, delta=delta, **setting)
    case = _case(randomizer, setting)
    if name is None:
        return _upper(case, rounds, delta)[0]
    entry = registry.get(name)
    return entry.epsilon(rounds=rounds, delta=delta, **_setting_of(entry, case))


def bracket(*, rounds: int, delta: float, randomizer: str | None = None, **setting: Any) -> registry.Bracket:
    """Return the tightest lower and upper bounds on epsilon: of any randomiser's worst, or of a named one.

    Args:
        rounds: number of rounds, one number.
        delta: target, in [0, 1).
        randomizer: as for ``epsilon``.
        setting: as for ``epsilon``; without a randomiser protocol and mechanism of a system, the subsampled
            shuffle of eps0-LDP reports if left out, and its variables.

    Returns:
        ``registry.bracket`` without a randomiser, else the bracket of the named one, whose lower bound is
        epsilon of one of its data sets and neighbours.

    Raises:
        ValueError: an argument is missing, unknown or out of range.
        ArithmeticError: the lower bound of a randomiser exceeds its upper bound by more than rounding.
    """
    if randomizer is None:
        return registry.bracket(rounds=rounds, delta=delta, **setting)
    case = _case(randomizer, setting)
    count = checks.count("rounds", rounds, at_least=0)
    value, by = _upper(case, count, delta)
    upper = float(value)
    lower, words = _lower(case, count, checks.probability("delta", delta, zero=True))
    registry.check_order(lower, upper, (f"{randomizer!r} with {words}", f"{by!r}"))
    # they may cross by rounding where both are the pure DP of the protocol
    return registry.Bracket(min(lower, upper), upper, (words, by), case.system.neighbours)


def accountant(
    name: str,
    *,
    randomizer: str | None = None,
    kind: Literal["upper", "lower"] = "upper",
    protocol: str = systems.SUBSAMPLED_SHUFFLE[0],
    **parameters: Any,
) -> registry.Accountant:
    """Return an accountant of a randomiser, for curves along any variable of a protocol.

    What is known of a randomiser depends on eps0; here it is derived anew for each.

    Args:
        name: of the accountant; without a randomiser the registry's.
        randomizer: as for ``epsilon``.
        kind: "upper", certified for this randomiser; or "lower", epsilon of data sets of its own.
        protocol: one with eps0-LDP reports for which share and total variation are accounted for.
        parameters: the randomiser's own.

    Raises:
        ValueError: one of them is missing, unknown or out of range.
    """
    if randomizer is None:
        return registry.get(name)
    checks.choice("kind", kind, tuple(_WORDS))
    system = systems.get(
        checks.choice("protocol", protocol, tuple(blankets.NAMES)), systems.SUBSAMPLED_SHUFFLE[1]
    )
    named_randomizers.named(randomizer, eps0=1.0, **parameters)
    described = ", ".join([randomizer, *(f"{key} = {value:g}" for key, value in parameters.items())])

    def compute(*, rounds: FloatArray, delta: float, **setting: Any) -> registry.Columns:
        case = _case(randomizer, {**setting, **parameters})
        if kind == "upper":
            return {"epsilon": np.asarray(_upper(case, rounds, delta)[0], dtype=np.float64)}
        return {"epsilon": np.array([_lower(case, int(count), delta)[0] for count in rounds])}

    theorem, note = _WORDS[kind]
    return registry.Accountant(
        name=name,
        citation="this project, feldman2022, balle2019, doroshenko2022",
        theorem=theorem,
        kind=kind,
        label=f"{described}, {kind} bound",
        needs=(described,),
        scope="epsilon",
        protocol=system.protocol,
        mechanism=system.mechanism,
        variant_of="",
        note=note,
        compute=compute,
    )


def known(randomizer: str, setting: Mapping[str, Any]) -> tuple[registry.Accountant, systems.Setting]:
    """Return the accountant that makes the most of what is known of a randomiser, and its setting.

    Args:
        randomizer: as for ``epsilon``.
        setting: as for ``epsilon``.

    Raises:
        ValueError: an argument is missing, unknown or out of range.
    """
    return upper_accountant(_case(randomizer, setting))


def _upper(case: _Case, rounds: ArrayLike, delta: float) -> tuple[float | FloatArray, str]:
    """Return an upper bound on epsilon, of the shape of ``rounds``, and the accountant that gives it."""
    entry, own = upper_accountant(case)
    try:
        value = entry.epsilon(rounds=rounds, delta=delta, **own)
    except ValueError:
        if not {"share", "tv"} <= set(own):
            raise
        # there are so many clients that both numbers take too long
        entry = registry.get(blankets.NAMES[case.system.protocol]["share"])
        del own["tv"]
        value = entry.epsilon(rounds=rounds, delta=delta, **own)
    by = entry.name
    if case.setting["eps0"] > _LARGE_EPS0:
        # a bound for any randomiser may be rounded to less
        listed = registry.names("upper", protocol=case.system.protocol, mechanism=case.system.mechanism)
        answers, _ = registry.attempts(map(registry.get, listed), rounds=rounds, delta=delta, **case.setting)
        for other, columns in answers:
            if np.max(columns["epsilon"]) < np.max(value):
                by = other.name
            value = np.minimum(value, columns["epsilon"])
    n, alone = case.setting["n"], np.equal(rounds, 1)
    exact = case.known is not None and case.known.third is None and set(case.setting) == {"n", "eps0"}
    if exact and n <= _EXACT and delta >= two_records.SMALLEST_DELTA and alone.any():
        worst = two_records.worst_epsilon(n=n, eps0=case.setting["eps0"], delta=delta)
        if np.ndim(rounds) == 0 and worst < value:
            by = "all data sets of two records"
        value = np.where(alone, np.minimum(value, worst), value)
    return checks.like_input(np.asarray(value, dtype=np.float64)), by


def upper_accountant(case: _Case) -> tuple[registry.Accountant, systems.Setting]:
    """Return the accountant that makes the most of what is known of a randomiser, and its setting."""
    if case.known is None:
        own: dict[str, float] = {"share": 0.5}
    elif case.known.share is None:
        own = {"tv": case.known.tv}
    else:
        own = {"share": case.known.share}
        with_tv = worst_kinds.kinds(eps0=case.setting["eps0"], share=case.known.share, tv=case.known.tv)
        if with_tv.heavy > 0:
            own["tv"] = case.known.tv
    mechanism = next(name for name, known in blankets.KNOWN.items() if set(known.variables) == set(own))
    entry = registry.get(systems.get(case.system.protocol, mechanism).default)
    return entry, {**case.setting, **own}


def _setting_of(entry: registry.Accountant, case: _Case) -> systems.Setting:
    """Return the setting of an accountant for a randomiser.

    Raises:
        ValueError: it is for another protocol, or for what is not known.
    """
    known = blankets.KNOWN[entry.mechanism].variables if entry.mechanism in blankets.KNOWN else ()
    found = {name: getattr(case.known, name) if case.known else 0.5 for name in known}
    usable = entry.kind == "upper" and (entry.mechanism == "ldp" or known) and None not in found.values()
    if entry.protocol != case.system.protocol or not usable:
        best, _ = upper_accountant(case)
        raise ValueError(
            f"accountant must be an upper bound for {case.system.protocol} with {case.randomizer!r}, got "
            f"{entry.name!r}, which is for {entry.system}; leave it out or take {best.name!r}"
        )
    return {**case.setting, **found}


def _case(randomizer: str, given: Mapping[str, Any]) -> _Case:
    """Return a randomiser in the protocol that the variables given set.

    Raises:
        ValueError: a variable or parameter is missing, unknown or out of range.
    """
    takes = named_randomizers.parameters(randomizer)
    parameters = {name: value for name, value in given.items() if name in takes}
    setting = {name: value for name, value in given.items() if name not in takes}
    foreign = {name: value for name, value in setting.items() if name not in _OF_PROTOCOLS}
    named_randomizers.check_parameters(randomizer, {**parameters, **foreign})
    found = [base for base in blankets.BASES if set(base.variables) == set(setting)]
    if not found:
        _refuse(randomizer, setting)
    checked = found[0].in_range(setting)
    # where eps0 is not one for numbers, they are checked all the same
    some = min(max(checked["eps0"], via_pld.SMALLEST_EPS0), via_pld.LARGEST_EPS0)
    known = named_randomizers.named(randomizer, eps0=some, **parameters)
    inside = checked["eps0"] == some
    return _Case(found[0], checked, randomizer, _in_range(known) if inside else None, parameters)


def _in_range(known: two_valued.Known) -> named_randomizers.Named:
    """Return the numbers raised to the least that is accounted for: as bounds, larger ones hold too."""
    share = known.share and max(known.share, variables.VARIABLES["share"].least)
    return replace(known, share=share, tv=max(known.tv, variables.VARIABLES["tv"].least))


def lower(randomizer: str, setting: Mapping[str, Any], *, rounds: int, delta: float) -> float:
    """Return the lower end of ``bracket`` of a named randomiser.

    Args:
        randomizer: as for ``epsilon``.
        setting: as for ``epsilon``.
        rounds: number of rounds, one number >= 0.
        delta: target, in [0, 1).
    """
    return _lower(_case(randomizer, setting), rounds, delta)[0]


def leaks(randomizer: str, setting: Mapping[str, Any], *, nats: float) -> dict[str, Leak]:
    """Return what a round leaks by what all other clients hold: "third", a third record, or "first".

    The client who differs holds the first record or the second. So rounds of several randomisers with one
    and the same key have one and the same pair of neighbouring data sets, where a client's record is all that
    the randomisers ask about.

    Args:
        randomizer: as for ``epsilon``.
        setting: as for ``epsilon``.
        nats: how far below the rest an outcome is left out.
    """
    case = _case(randomizer, setting)
    found: dict[str, Leak] = {}
    if case.known is None:
        return found
    reports: int = case.setting["k" if "k" in case.setting else "n"]
    for words, pairs, error in _attacks(case, case.known, nats):
        if words not in _OTHERS:  # from here on clients hold both records
            break
        found.setdefault(_OTHERS[words], Leak(pairs, error, reports))
    return found


def _refuse(randomizer: str, setting: Mapping[str, Any]) -> NoReturn:
    """Refuse variables that are not those of one protocol."""
    got = named_randomizers.in_words(setting, nothing="neither")
    for name in ("n", "eps0"):
        if name not in setting:
            raise ValueError(f"randomizer {randomizer!r} needs {name}, got {got}; give {name}")
    raise ValueError(
        f"randomizer {randomizer!r} needs k, rate or neither beside n and eps0, got {got}; leave rate out "
        "for rounds of k clients, or k for clients who check in"
    )


def _lower(case: _Case, rounds: int, delta: float) -> tuple[float, str]:
    """Return the largest epsilon of the data sets of a randomiser, and the one that it is of."""
    if case.known is None or rounds == 0:
        return 0.0, "nothing"
    target = max(delta, numerics.SMALLEST_DELTA)
    counts = np.array([float(rounds)])
    nats = via_pld.nats(counts, target)
    n: int = case.setting["n"]
    reports = case.setting.get("k", n)
    found = []
    for words, pairs, error in _attacks(case, case.known, nats):
        moved = attacks.loss_error(error, reports=reports, rounds=rounds, nats=nats)
        needed = (target * math.exp(min(moved, 700.0)) + 2 * math.exp(-nats)) * (1 + 4 * numerics.EPSILON)
        if needed < 1:
            columns = via_pld.columns(
                pairs, rounded=merge_to_lattice, rounds=counts, delta=needed, bound="lower"
            )
            found.append((float(max(columns["epsilon"][0] - 2 * moved, 0.0)), words))
    return max(found, default=(0.0, "nothing"))


def _attacks(
    case: _Case, known: two_valued.Known, nats: float
) -> Iterator[tuple[str, list[Outcomes], float]]:
    """Yield data sets in words, the pairs of what their neighbours leak, and the relative error of the laws
    of reports that these rest on."""
    n: int = case.setting["n"]
    k: int = case.setting.get("k", n)
    eps0, rate = case.setting["eps0"], case.setting.get("rate", 1.0)
    none = Outcomes(np.ones(1), np.zeros(1))
    if case.randomizer == "krr" and known.third is not None and rate == 1:
        pair = many_symbols_pair(n=n, k=k, eps0=eps0, categories=int(case.parameters["categories"]))
        yield "all others on a third category", [dominating(pair, gamma=1.0)], 0.0
    for words, others, error in (
        ("a third record", known.third, known.third_error),
        ("the first record", known.first, known.error),
    ):
        if others is None:
            continue
        laws = [known.first, known.second, others]
        if rate < 1:
            laws = [attacks.at_rate(law, rate) for law in laws]
        first, second = (attacks.in_place(law, laws[2], k / n) for law in laws[:2])
        pairs = attacks.score_outcomes(first, second, [(laws[2], k - 1)], nats=nats)
        yield f"all others on {words}", pairs or [none], error
    for rest in _numbers(n) if known.third is None else ():
        held = n - 1 - rest
        if _SAMPLED < k < n and rest > _FEW:
            return
        if k < n:
            pairs = attacks.sampled_counts(known.first, known.second, n=n, k=k, held=held)
        else:
            one, two = (
                attacks.at_rate(law, rate) if rate < 1 else law for law in (known.first, known.second)
            )
            pairs = attacks.score_outcomes(one, two, [(one, held), (two, rest)], nats=nats)
        yield f"{held} others on the first record, {rest} on the second", pairs or [none], known.error


def _numbers(n: int) -> list[int]:
    """Return numbers of others to hold the second of two records; by symmetry, half of them at most."""
    half = (n - 1) // 2
    if n <= _EVERY:
        return list(range(1, half + 1))
    return [*(2**power for power in range(6) if n <= _SOME), half // 2, half]
