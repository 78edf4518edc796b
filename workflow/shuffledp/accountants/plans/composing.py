"""Epsilon of rounds of several kinds: their losses are added up on one lattice, with one error budget."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shuffledp import numerics
from shuffledp.accountants import named_lower, via_pld
from shuffledp.accountants.plans import pairs as of_rounds
from shuffledp.accountants.plans.parts import Noise, Release, Rounds, Side
from shuffledp.pld.common_lattice import compositions
from shuffledp.pld.contour import LatticeTooFineError
from shuffledp.profiles import attacks
from shuffledp.profiles.gaussian import gaussian_epsilon

ROUNDING = 16 * numerics.EPSILON  # relative, of sums and products of epsilons
_TELLING = 0.01  # of delta: errors that take more make a coarser lattice worth a try


def composed(counts: Mapping[Any, int], delta: float, side: Side) -> float:
    """Return epsilon of rounds of several kinds, of one record.

    Args:
        counts: how many rounds there are of each part of a plan.
        delta: target, in [0, 1).
        side: "upper": certified; "lower": no valid accountant can report less.
    """
    pure = sum(part.pure * count for part, count in counts.items() if part.pure > 0)
    if side == "upper":
        pure *= 1 + ROUNDING
    else:
        pure *= 1 - ROUNDING
    moving = {part: count for part, count in counts.items() if part.pure > 0}
    if not moving:
        return 0.0
    if len(moving) == 1:
        ((part, count),) = moving.items()
        if isinstance(part, Rounds):
            return part.alone(count, delta, side)
    if delta < numerics.SMALLEST_DELTA:
        if side == "upper":
            return pure
        delta = numerics.SMALLEST_DELTA
    if side == "upper":
        return min(pure, _upper(moving, delta))
    return min(pure, _lower(moving, delta))


def disclosed(counts: Mapping[Any, int]) -> float:
    """Return the delta that releases of known privacy take, summed over them (basic composition)."""
    return math.fsum(part.delta * count for part, count in counts.items() if isinstance(part, Release))


def _mu(counts: Mapping[Any, int], side: Side) -> float:
    squares = sum(part.mu**2 * count for part, count in counts.items() if isinstance(part, Noise))
    return math.sqrt(squares) * (1 + ROUNDING if side == "upper" else 1 - ROUNDING)


def _upper(counts: Mapping[Any, int], delta: float) -> float:
    mu = _mu(counts, "upper")
    if all(isinstance(part, Noise) for part in counts):
        return float(gaussian_epsilon(delta, mu=mu))
    nats, best = _nats(counts, delta), 0.0
    listed = [(_pairs_of(part, "upper", 0, nats), count) for part, count in counts.items()]
    of = [(pairs, count) for pairs, count in listed if pairs]
    if any(pairs is None for pairs, _ in listed):
        return math.inf
    all_fine = True
    for direction in range(max((len(pairs) for pairs, _ in of), default=1)):
        pairs = [(pairs[direction % len(pairs)], count) for pairs, count in of]
        found, fine = _least(pairs, mu, nats, delta)
        best, all_fine = max(best, found), all_fine and fine
    return best if all_fine else min(best, _apart(counts, delta))


def _apart(counts: Mapping[Any, int], delta: float) -> float:
    """Return the sum of the epsilons of all parts, each at an equal part of delta (basic composition)."""
    share, total, mu = delta / len(counts) * (1 - ROUNDING), 0.0, _mu(counts, "upper")
    for part, count in counts.items():
        if isinstance(part, Rounds):
            total += part.alone(count, share, "upper")
        elif isinstance(part, Release):
            total += part.epsilon * count if part.delta * count <= share else math.inf
    if mu:
        total += float(gaussian_epsilon(share, mu=mu))
    return total * (1 + ROUNDING)


def _least(pairs: list[tuple[Any, int]], mu: float, nats: float, delta: float) -> tuple[float, bool]:
    """Return the least epsilon of one direction, among those of finer and coarser lattices, and whether it
    is that of a lattice fine enough for all."""
    least, all_fine = math.inf, False
    for composition, fine in compositions(pairs, mu=mu, nats=nats, bound="upper"):
        try:
            found, error = composition.epsilon_with_error(delta)
        except LatticeTooFineError:
            continue
        least, all_fine = min(least, found), fine
        if error <= _TELLING * delta:
            break
    return least, all_fine


def _lower(counts: Mapping[Any, int], delta: float) -> float:
    mu, nats, best = _mu(counts, "lower"), _nats(counts, delta), 0.0
    releases = [(part, count) for part, count in counts.items() if isinstance(part, Release)]
    # what releases disclose is a part of delta that no loss accounts for
    log_kept = sum(math.log1p(-part.delta) * count for part, count in releases)
    rest = (delta + math.expm1(log_kept)) * (1 + ROUNDING) + ROUNDING * -math.expm1(log_kept)
    if rest < 0:
        return math.inf
    rest = max(rest, numerics.SMALLEST_DELTA)
    by_name = any(isinstance(part, Rounds) and part.randomizer for part in counts)
    # where all others hold a third record, every other randomiser may be the worst for these data sets too;
    # where they hold the first, only those that are named are known to leak
    for others, choice in (("third", 0), ("third", 1), *([("first", 0)] if by_name else [])):
        leaks = [(_leak(part, others, choice, nats), count) for part, count in counts.items()]
        of = [(leak.pairs, count) for leak, count in leaks if leak.pairs]
        moved = sum(
            attacks.loss_error(leak.error, reports=leak.reports, rounds=count, nats=nats)
            for leak, count in leaks
        )
        needed = rest
        if moved:
            needed = (rest * math.exp(min(moved, 700.0)) + 2 * math.exp(-nats)) * (1 + ROUNDING)
            if needed >= 1:
                continue
        for direction in range(max((len(pairs) for pairs, _ in of), default=1)):
            pairs = [(pairs[direction % len(pairs)], count) for pairs, count in of]
            for composition, _ in compositions(pairs, mu=mu, nats=nats, bound="lower"):
                try:
                    best = max(best, float(composition.epsilon(needed)) - 2 * moved)
                except LatticeTooFineError:
                    continue
                break
    return best


def _pairs_of(part: Any, side: Side, choice: int, nats: float) -> of_rounds.Pairs | None:
    """Return the pairs of one round: none of noise, which is composed by itself, None if there are none."""
    if isinstance(part, Noise):
        return []
    if isinstance(part, Release):
        return [of_rounds.released(part.epsilon, part.delta, bound=side)]
    return _cached_pairs(part, side, choice, nats)


def _leak(part: Any, others: str, choice: int, nats: float) -> named_lower.Leak:
    """Return what one round leaks at least, of data sets in which all others hold the first record or a third
    one; no pairs where nothing is known of it, or where it is noise, which is composed by itself."""
    if not isinstance(part, Rounds):
        return named_lower.Leak(list(_pairs_of(part, "lower", choice, nats) or []), 0.0, 1)
    if part.randomizer:
        return _leaks(part, nats).get(others, named_lower.Leak([], 0.0, 1))
    pairs = _cached_pairs(part, "lower", choice, nats) if others == "third" else None
    return named_lower.Leak(list(pairs or []), 0.0, 1)


@functools.lru_cache(maxsize=64)
def _leaks(part: Rounds, nats: float) -> dict[str, named_lower.Leak]:
    return named_lower.leaks(part.randomizer, dict(part.own), nats=nats)


@functools.lru_cache(maxsize=64)
def _cached_pairs(part: Rounds, side: Side, choice: int, nats: float) -> of_rounds.Pairs | None:
    return part.losses(side, choice, nats)


def _nats(counts: Mapping[Any, int], delta: float) -> float:
    return via_pld.nats(np.array([float(sum(counts.values()))]), delta)
