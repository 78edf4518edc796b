"""Lower bounds on epsilon of a named randomiser: what its reports leak of chosen neighbouring data sets.

No valid accountant of the randomiser can report less than these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from shuffledp import numerics
from shuffledp.accountants import named_cases, via_pld
from shuffledp.pld.outcomes import Outcomes, dominating, merge_to_lattice
from shuffledp.profiles import attacks, two_valued
from shuffledp.profiles.randomized_response import many_symbols_pair

# For randomisers of two records, which numbers of other clients that hold the second record are tried: all of
# them for up to _EVERY clients, small powers of two for up to _SOME. If a round draws a sample of more than
# _SAMPLED clients, numbers above _FEW are left out; none of those was ever worst.
_EVERY, _SOME, _SAMPLED, _FEW = 40, 3000, 300, 32
# The keys of ``leaks`` by the words that ``_attacks`` has for a data set.
_OTHERS = {
    "all others on a third category": "third",
    "all others on a third record": "third",
    "all others on the first record": "first",
}


class Leak(NamedTuple):
    """What one round of a named randomiser leaks of two neighbouring data sets.

    Attributes:
        pairs: dominated by the round: masses and losses, for a lower bound.
        error: bound on the relative error of the laws of reports that the pairs are computed from.
        reports: number of reports of the round.
    """

    pairs: list[Outcomes]
    error: float
    reports: int


def lower(randomizer: str, setting: Mapping[str, Any], *, rounds: int, delta: float) -> float:
    """Return a lower bound on epsilon of a named randomiser, the lower end of ``named.bracket``.

    Args:
        randomizer: as for ``named.epsilon``.
        setting: as for ``named.epsilon``.
        rounds: number of rounds, one number >= 0.
        delta: target, in [0, 1).

    Raises:
        ValueError: a variable or parameter is missing, unknown or out of range.
    """
    return of_case(named_cases.case(randomizer, setting), rounds, delta)[0]


def leaks(randomizer: str, setting: Mapping[str, Any], *, nats: float) -> dict[str, Leak]:
    """Return what a round leaks where all other clients hold one record, by a key that says which.

    The client who differs holds the first record or the second. The key is "third" where all others hold a
    third record, and "first" where they hold the first. So rounds of several randomisers with equal keys have
    the same pair of neighbouring data sets, provided that the randomisers ask for nothing but a client's
    record.

    Args:
        randomizer: as for ``named.epsilon``.
        setting: as for ``named.epsilon``.
        nats: how far below the rest an outcome is left out.

    Raises:
        ValueError: a variable or parameter is missing, unknown or out of range.
    """
    case = named_cases.case(randomizer, setting)
    found: dict[str, Leak] = {}
    if case.known is None:
        return found
    reports: int = case.setting["k" if "k" in case.setting else "n"]
    for words, pairs, error in _attacks(case, case.known, nats):
        if words not in _OTHERS:  # from here on clients hold both records
            break
        found.setdefault(_OTHERS[words], Leak(pairs, error, reports))
    return found


def of_case(case: named_cases.Case, rounds: int, delta: float) -> tuple[float, str]:
    """Return the largest epsilon over chosen data sets, a lower bound, and the worst data set in words.

    Args:
        case: one of ``named_cases.case``.
        rounds: number of rounds, one number >= 0.
        delta: target, in [0, 1).
    """
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
    case: named_cases.Case, known: two_valued.Known, nats: float
) -> Iterator[tuple[str, list[Outcomes], float]]:
    """Yield for each chosen data set what the others hold in words, the pairs that a round leaks, and a bound
    on the relative error of the laws that the pairs are computed from."""
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
    """Return how many of the others hold the second of two records; by symmetry, at most half of them."""
    half = (n - 1) // 2
    if n <= _EVERY:
        return list(range(1, half + 1))
    return [*(2**power for power in range(6) if n <= _SOME), half // 2, half]
