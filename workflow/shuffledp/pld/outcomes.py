"""Pairs of discrete distributions as lists of outcomes, their subsampling, and their rounding to lattices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from shuffledp import numerics
from shuffledp.checks import FloatArray
from shuffledp.numerics import EPSILON

_PIECE = 2**18  # outcomes that are rounded together
# Lattice points in the root mean square of the losses other than 0 (which is a lattice point itself).
# Rounding to the lattice changes the variance of the loss by some 1/(6 * 20^2) relative, and so epsilon by
# less than 0.03%, whatever the number of rounds.
POINTS_PER_DEVIATION = 20
MOST_STEPS = 2.0**50  # from 0 to the largest loss, so that the indices of lattice points are exact

_MOST_ROUNDS = 32  # largest number of rounds whose outcomes are listed
_DENSE = 8  # lattice points per outcome up to which an array over all points replaces sorting
_CELLS = 64  # cells per step in which outcomes are merged first
_ON_POINT = 1e-9  # a loss that is this part of a step above a lattice point counts as the point


@dataclass(frozen=True)
class Outcomes:
    """A pair (P, Q) of distributions over the same outcomes; arrays of one length.

    Attributes:
        mass: probabilities under P.
        loss: log P/Q, finite.
        infinite: bound on the probability under P of outcomes that are left out. An upper bound counts them
            as infinite loss, a lower bound ignores them.
    """

    mass: FloatArray
    loss: FloatArray
    infinite: float = 0.0


class Coins(Protocol):
    """A pair that can list its outcomes as ``TiltedBinomials.coins`` does."""

    def coins(self) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Return mass under fair coins, x, 1 - |x|, and the mass that is left out."""
        ...


def dominating(pair: Coins, *, gamma: float) -> Outcomes:
    """Return the pair that dominates a mechanism run on a sample of its records: koskela2022, Lemma 7.

    It dominates in both directions of neighbours. Its losses above 0 are those of
    (gamma P + (1 - gamma) Q, Q), its losses below 0 those of (P, gamma Q + (1 - gamma) P), and the rest of
    the mass has loss 0. With P = M (1 + x) and Q = M (1 - x) for the law M of fair coins, everything is
    written in x, so that small losses keep their digits.

    Args:
        pair: (P, Q), which dominates the mechanism.
        gamma: share of the records that is drawn without replacement, in (0, 1].
    """
    coin, x, gap, lost = pair.coins()
    above, below = x > 0, x < 0
    gain = np.log1p(2 * gamma * x[above] / gap[above])
    fall = -np.log1p(-2 * gamma * x[below] / gap[below])
    rest = coin[x == 0].sum() + np.sum(coin[above] * 2 * (1 - gamma) * x[above])
    mass = [coin[above] * (gap[above] + 2 * gamma * x[above]), coin[below] * gap[below], np.full(1, rest)]
    return Outcomes(np.concatenate(mass), np.concatenate([gain, fall, np.zeros(1)]), lost)


@dataclass(frozen=True)
class Lattice:
    """A privacy loss distribution on the multiples of a step; arrays of one length.

    Attributes:
        step: distance of neighbouring points.
        index: whole numbers; the losses are step * index.
        mass: probabilities.
        infinite: as for ``Outcomes``.
    """

    step: float
    index: FloatArray
    mass: FloatArray
    infinite: float = 0.0

    @property
    def loss(self) -> FloatArray:
        """The losses."""
        return self.step * self.index


def _gather(step: float, index: FloatArray, mass: FloatArray, infinite: float) -> Lattice:
    points, inverse = np.unique(index, return_inverse=True)
    total = np.asarray(np.bincount(inverse, weights=mass), dtype=np.float64)
    points, total = points[total > 0], total[total > 0]
    # few outcomes may all lie on a coarser lattice, which needs fewer frequencies
    stride = max(int(np.gcd.reduce(points.astype(np.int64))), 1)
    return Lattice(step * stride, points / stride, total, infinite)


def listed_rounds(
    outcomes: Outcomes, *, rounds: int, bound: Literal["upper", "lower"], rare: float, most: int
) -> Outcomes | None:
    """Return T rounds of a pair, with each of their outcomes listed; None if there are too many.

    Args:
        outcomes: of one round; masses are accurate to ``numerics.OUTWARD``, losses to some units in the last
            place.
        rounds: T >= 1.
        bound: side to which masses and losses are rounded.
        rare: probability in all rounds of outcomes that may be left out. An upper bound counts them as
            infinite loss, a lower bound ignores them.
        most: largest number of outcomes that may be listed.
    """
    if rounds == 1:
        return outcomes
    share = rare / (2 * rounds)

    def too_many(size: int) -> bool:
        return math.comb(size + rounds - 1, rounds) > most

    if rounds > _MOST_ROUNDS or too_many(int(np.count_nonzero(outcomes.mass >= share))):
        return None
    side = 1 if bound == "upper" else -1
    order = np.argsort(outcomes.mass)
    gone = int(np.searchsorted(np.cumsum(outcomes.mass[order]), share))
    kept = np.sort(order[gone:])
    if too_many(kept.size):
        return None
    each = outcomes.infinite + float(outcomes.mass[order[:gone]].sum())
    one, log_mass = outcomes.loss[kept], np.log(outcomes.mass[kept])
    # each multiset of outcomes is listed once, by their places in rising order
    last, same = np.arange(one.size), np.ones(one.size)
    loss, size, log_ways = one, np.abs(one), log_mass
    for count in range(2, rounds + 1):
        choices = one.size - last
        row = np.repeat(np.arange(last.size), choices)
        place = np.arange(row.size) - np.repeat(np.cumsum(choices) - choices, choices) + last[row]
        same = np.where(place == last[row], same[row] + 1, 1.0)
        loss, size = loss[row] + one[place], size[row] + np.abs(one[place])
        log_ways = log_ways[row] + log_mass[place] + np.log(count / same)
        last = place
    mass = np.exp(log_ways) * (1 + side * rounds * numerics.OUTWARD)
    infinite = rounds * each * (1 + numerics.OUTWARD)
    return Outcomes(mass, loss + side * (16 + rounds) * EPSILON * size, infinite)


def lattice_step(outcomes: Outcomes) -> float:
    """Return the step of the lattice for a pair: a divisor of its largest loss, or 1 if all losses are 0."""
    moving = outcomes.loss != 0
    if not moving.any():
        return 1.0
    spread = math.sqrt(float(outcomes.mass @ outcomes.loss**2) / float(outcomes.mass[moving].sum()))
    largest = float(np.abs(outcomes.loss).max())
    return largest / math.ceil(min(largest * POINTS_PER_DEVIATION / spread, MOST_STEPS))


def connect_the_dots(outcomes: Outcomes, *, step: float) -> Lattice:
    """Round a pair to a lattice, pessimistically: doroshenko2022, from the masses of the outcomes themselves.

    Each outcome is split over the two lattice points around its loss so that its masses under P and under Q
    are both kept. The resulting pair dominates the given one, and its expected loss is larger by less than
    step^2 / 8, whereas rounding every loss up would add step / 2.

    Args:
        outcomes: masses and losses of the pair.
        step: distance of the lattice's points, > 0.
    """
    index, mass = [np.zeros(0)], [np.zeros(0)]
    for start in range(0, outcomes.loss.size, _PIECE):
        loss, weight = outcomes.loss[start : start + _PIECE], outcomes.mass[start : start + _PIECE]
        below = np.floor(loss / step)
        within = loss - below * step
        share = np.clip(np.expm1(-within) / math.expm1(-step), 0.0, 1.0)
        place, parts = (
            np.concatenate([below, below + 1]),
            np.concatenate([weight * (1 - share), weight * share]),
        )
        lowest = below.min()
        span = int(below.max() - lowest) + 2
        if span <= _DENSE * loss.size:  # an array over all points takes less time than sorting
            points, inverse = lowest + np.arange(span), (place - lowest).astype(np.int64)
        else:
            points, inverse = np.unique(place, return_inverse=True)
        index.append(points)
        mass.append(np.asarray(np.bincount(inverse, weights=parts), dtype=np.float64))
    return _gather(step, np.concatenate(index), np.concatenate(mass), outcomes.infinite)


def merge_to_lattice(outcomes: Outcomes, *, step: float) -> Lattice:
    """Round a pair to a lattice, optimistically: merge outcomes so that each merged loss is a lattice point.

    Merging outcomes is post-processing, so the given pair dominates the resulting one. Outcomes are merged in
    the order of their losses (the last of each group in part) until the ratio of their masses under P and Q
    is that of the next lattice point. The rest at the end goes to the point below.

    Args:
        outcomes: masses and losses of the pair.
        step: distance of the lattice's points, > 0.
    """
    loss, mass = _fine_cells(outcomes, step / _CELLS)
    indices, masses = [], []
    position, left = 0, 1.0  # the first cell that is not used up, and the part of it that is left
    while position < loss.size:
        target = math.ceil(loss[position] / step - _ON_POINT)
        for beyond in (2, math.inf):
            ahead = slice(position, np.searchsorted(loss, (target + beyond) * step) + 1)
            # P - e^target Q of the merged outcomes, which is negative below the target and has to reach 0
            surplus = mass[ahead] * -np.expm1(target * step - loss[ahead])
            surplus[0] *= left
            reached = np.nonzero(np.cumsum(surplus) >= 0)[0]
            if reached.size:
                break
        taken = mass[ahead].copy()
        taken[0] *= left
        if not reached.size:
            other = float(np.sum(taken * np.exp(loss[position] - loss[ahead])))
            merged = loss[position] + math.log(float(taken.sum()) / other)
            indices.append(math.floor(merged / step))
            masses.append(float(taken.sum()))
            break
        end = int(reached[0])
        part = 1.0 if end == 0 else -float(surplus[:end].sum()) / float(surplus[end])
        taken[end] *= part
        indices.append(target)
        masses.append(float(taken[: end + 1].sum()))
        position, left = (position + end, 1.0 - part) if part < 1 else (position + end + 1, 1.0)
    points, total = np.array(indices, dtype=np.float64), np.array(masses, dtype=np.float64)
    return _gather(step, points, total, outcomes.infinite)


def _fine_cells(outcomes: Outcomes, width: float) -> tuple[FloatArray, FloatArray]:
    """Merge the outcomes whose losses lie in the same cell; return increasing losses, and masses under P."""
    cells, inverse = np.unique(np.floor(outcomes.loss / width), return_inverse=True)
    mass = np.asarray(np.bincount(inverse, weights=outcomes.mass), dtype=np.float64)
    some = mass > 0
    # relative to the cell's lower end, the masses under Q keep the digits of the small losses inside
    low = cells * width
    other = np.bincount(inverse, weights=outcomes.mass * np.expm1(low[inverse] - outcomes.loss))
    return (low[some] - np.log1p(other[some] / mass[some])), mass[some]


def renyi_divergences(lattice: Lattice, orders: FloatArray, *, largest: float) -> FloatArray:
    """Return ``renyi_divergence`` at each order of a one-dimensional array."""
    return np.array([renyi_divergence(lattice, order, largest) for order in orders.tolist()])


def renyi_divergence(lattice: Lattice, order: float, largest: float) -> float:
    """Return the Renyi divergence of the pair of a pessimistic lattice, rounded up.

    Args:
        lattice: from ``connect_the_dots``.
        order: a number > 1.
        largest: an upper bound on the losses that are left out of the lattice.
    """
    tilt = order - 1
    if tilt * max(largest, float(np.abs(lattice.loss).max())) < 30:
        growth = lattice.mass * np.expm1(tilt * lattice.loss)
        excess = float(growth.sum()) + lattice.infinite * math.exp(tilt * largest)
        excess += EPSILON * (16 + 4 * float(np.abs(growth).sum()))
        return max(math.log1p(excess), 0.0) / tilt
    log_sum = numerics.log_sum_exp(np.log(lattice.mass) + tilt * lattice.loss)
    if lattice.infinite > 0:
        log_sum = float(np.logaddexp(log_sum, math.log(lattice.infinite) + tilt * largest))
    return max(log_sum + EPSILON * (64 + tilt * largest), 0.0) / tilt
