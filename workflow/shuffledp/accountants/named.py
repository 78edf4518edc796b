"""Epsilon of a randomiser by its name: an upper bound from what is known of it, and a bracket.

>>> from shuffledp import accountants
>>> setting = {"n": 6e4, "k": 2e3, "eps0": 2, "rounds": 5800, "delta": 1e-5}
>>> accountants.epsilon(**setting, randomizer="privunit", dimension=13706)
>>> accountants.bracket(**setting, randomizer="krr", categories=100)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks
from shuffledp.accountants import blankets, brackets, named_cases, named_lower, registry, systems
from shuffledp.checks import FloatArray
from shuffledp.profiles import named_randomizers, two_records, worst_kinds

# Number of clients up to which one round with two records is bounded by going through all data sets.
_EXACT = 1000
# Above this eps0 shuffling hides little, and the rounded bounds for any randomiser may be smaller.
_LARGE_EPS0 = 20.0
# By kind: the theorem, and the accountant's note.
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


def epsilon(
    name: str | None = None,
    *,
    rounds: ArrayLike,
    delta: float,
    randomizer: str | None = None,
    **setting: Any,
) -> float | FloatArray:
    """Return epsilon of T rounds, by a named accountant or of a named randomiser.

    Args:
        name: of the accountant; may be left out where a randomiser is named.
        rounds: numbers of rounds T, whole numbers >= 0, any shape.
        delta: target, in [0, 1).
        randomizer: one of ``named_randomizers.NAMES``; epsilon is then an upper bound for this randomiser,
            from what is known of it.
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
    case = named_cases.case(randomizer, setting)
    if name is None:
        return _upper(case, rounds, delta)[0]
    entry = registry.get(name)
    return entry.epsilon(rounds=rounds, delta=delta, **_setting_of(entry, case))


def bracket(*, rounds: int, delta: float, randomizer: str | None = None, **setting: Any) -> brackets.Bracket:
    """Return the tightest lower and upper bounds on epsilon, of the worst randomiser or of a named one.

    Args:
        rounds: number of rounds, one number.
        delta: target, in [0, 1).
        randomizer: as for ``epsilon``.
        setting: as for ``epsilon``. Without a randomiser: protocol and mechanism of a system (the subsampled
            shuffle of eps0-LDP reports if left out), and its variables.

    Returns:
        Without a randomiser ``brackets.bracket``. Otherwise the bracket of the named randomiser, whose lower
        bound is epsilon of a particular pair of neighbouring data sets.

    Raises:
        ValueError: an argument is missing, unknown or out of range.
        ArithmeticError: the lower bound of a randomiser exceeds its upper bound by more than rounding.
    """
    if randomizer is None:
        return brackets.bracket(rounds=rounds, delta=delta, **setting)
    case = named_cases.case(randomizer, setting)
    count = int(systems.checked("rounds", rounds))
    value, by = _upper(case, count, delta)
    upper = float(value)
    lower, words = named_lower.of_case(case, count, systems.checked("delta", delta))
    brackets.check_order(lower, upper, (f"{randomizer!r} with {words}", f"{by!r}"))
    # rounding may let the ends cross where both are the pure DP of the protocol
    return brackets.Bracket(min(lower, upper), upper, (words, by), case.system.neighbours)


def description(
    name: str,
    *,
    randomizer: str | None = None,
    kind: Literal["upper", "lower"] = "upper",
    protocol: str = systems.SUBSAMPLED_SHUFFLE[0],
    **parameters: Any,
) -> registry.Description:
    """Return what is said of an accountant, of the registry or of a named randomiser; it takes no computing.

    Args:
        name: as for ``accountant``.
        randomizer: as for ``accountant``.
        kind: as for ``accountant``.
        protocol: as for ``accountant``.
        parameters: as for ``accountant``.

    Raises:
        ValueError: one of them is missing, unknown or out of range.
    """
    if randomizer is None:
        return registry.get(name).description
    checks.choice("kind", kind, tuple(_WORDS))
    system = systems.get(
        checks.choice("protocol", protocol, tuple(blankets.NAMES)), systems.SUBSAMPLED_SHUFFLE[1]
    )
    named_randomizers.check_values(randomizer, parameters)
    described = ", ".join([randomizer, *(f"{key} = {value:g}" for key, value in parameters.items())])
    theorem, note = _WORDS[kind]
    return registry.Description(
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
    )


def accountant(
    name: str,
    *,
    randomizer: str | None = None,
    kind: Literal["upper", "lower"] = "upper",
    protocol: str = systems.SUBSAMPLED_SHUFFLE[0],
    **parameters: Any,
) -> registry.Accountant:
    """Return an accountant of a named randomiser, for curves along any variable of a protocol.

    What is known of a randomiser depends on eps0, so it is derived anew for each eps0.

    Args:
        name: of the accountant that is returned; without a randomiser, a name of the registry.
        randomizer: as for ``epsilon``.
        kind: "upper", a bound for this randomiser; or "lower", epsilon of chosen data sets.
        protocol: one with eps0-LDP reports for which share and total variation are accounted for.
        parameters: the randomiser's own.

    Raises:
        ValueError: one of them is missing, unknown or out of range.
    """
    if randomizer is None:
        return registry.get(name)
    about = description(name, randomizer=randomizer, kind=kind, protocol=protocol, **parameters)

    def compute(*, rounds: FloatArray, delta: float, **setting: Any) -> registry.Columns:
        case = named_cases.case(randomizer, {**setting, **parameters})
        if kind == "upper":
            return {"epsilon": np.asarray(_upper(case, rounds, delta)[0], dtype=np.float64)}
        return {"epsilon": np.array([named_lower.of_case(case, int(count), delta)[0] for count in rounds])}

    return registry.Accountant(**vars(about), compute=compute)


def known(randomizer: str, setting: Mapping[str, Any]) -> tuple[registry.Accountant, systems.Setting]:
    """Return the accountant that makes the most of what is known of a randomiser, and its setting.

    Args:
        randomizer: as for ``epsilon``.
        setting: as for ``epsilon``.

    Raises:
        ValueError: an argument is missing, unknown or out of range.
    """
    return upper_accountant(named_cases.case(randomizer, setting))


def _upper(case: named_cases.Case, rounds: ArrayLike, delta: float) -> tuple[float | FloatArray, str]:
    """Return an upper bound on epsilon, of the shape of ``rounds``, and the name of what gives it."""
    entry, own = upper_accountant(case)
    try:
        value = entry.epsilon(rounds=rounds, delta=delta, **own)
    except ValueError:
        if not {"share", "tv"} <= set(own):
            raise
        # with so many clients, accounting for both numbers takes too long
        entry = registry.get(blankets.NAMES[case.system.protocol]["share"])
        del own["tv"]
        value = entry.epsilon(rounds=rounds, delta=delta, **own)
    by = entry.name
    if case.setting["eps0"] > _LARGE_EPS0:
        # a bound for any randomiser may be smaller after rounding
        listed = registry.names("upper", protocol=case.system.protocol, mechanism=case.system.mechanism)
        answers, _ = brackets.attempts(map(registry.get, listed), rounds=rounds, delta=delta, **case.setting)
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


def upper_accountant(case: named_cases.Case) -> tuple[registry.Accountant, systems.Setting]:
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


def _setting_of(entry: registry.Accountant, case: named_cases.Case) -> systems.Setting:
    """Return the setting that an accountant takes for a randomiser.

    Raises:
        ValueError: the accountant is for another protocol, or takes a number that is not known.
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
