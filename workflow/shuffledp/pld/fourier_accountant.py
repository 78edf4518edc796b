"""The Fourier Accountant: rounds composed on an equidistant grid by the fast Fourier transform.

Koskela, Jalko, Prediger and Honkela (2021), "Tight differential privacy for discrete-valued mechanisms and
for the subsampled Gaussian mechanism using FFT", as used by koskela2022 (section 2.2, equations 2.1 and 2.4).
Each loss is rounded to one side, to a grid on [-limit, limit), and the law of one round is convolved with
itself periodically.

This module reproduces the method and serves to check ``shuffledp.pld.composition``, which it cannot replace.
One-sided rounding moves the sum of the losses by half a step per round, and the transform has an absolute
error, so that deltas below some 1e-10 are out of reach.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy
from scipy import fft

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes

BOUNDS = ("upper", "lower")
FORMS = ("hockey_stick", "tail")

_ON_POINT = 1e-9  # a threshold that is this part of a step above a grid point counts as the point
_POINTS = 2**18
_ACCURACY = 2e-3  # largest error relative to delta
_DOUBLINGS = 8  # of the length of the grid, that are tried
_ROOT = 1e-12  # relative accuracy of a root, which is rounded up by ten times that
_TRANSFORM = 8 * numerics.EPSILON  # relative rounding error of a transform, per halving of its length


class _Sum(NamedTuple):
    """The law of the sum of all losses, as computed by the transform.

    Attributes:
        loss: grid points.
        mass: their probabilities.
        infinite: probability that the loss of some round is infinite or left out.
        error: bound on the error of a sum of the masses with weights in [0, 1].
    """

    loss: FloatArray
    mass: FloatArray
    infinite: float
    error: float


def fourier_accountant(
    outcomes: Outcomes, *, eps: float, rounds: int, points: int, limit: float, bound: str = "upper"
) -> tuple[float, float]:
    """Return delta at eps of the composition of equal rounds.

    Args:
        outcomes: one round.
        eps: in [-limit, limit).
        rounds: number of rounds, >= 1.
        points: grid points, an even number.
        limit: L, half of the grid's length.
        bound: "upper": losses are rounded up, those beyond the grid count as infinite, and the error is
            added; "lower": losses are rounded down, or left out below the grid, and the error is subtracted.

    Returns:
        delta, a bound of the side ``bound``, and the error that was added or subtracted. The two bounds
        differ by more than that error: rounding to the grid moves epsilon by up to rounds * 2 limit/points.

    Raises:
        ValueError: an argument is out of range.
    """
    eps = _within(eps, limit)
    bound = checks.choice("bound", bound, BOUNDS)
    total = _sum_of_losses(outcomes, rounds, points, limit, bound)
    value = float(total.mass @ np.maximum(-np.expm1(eps - total.loss), 0.0))
    if bound == "upper":
        return min(max(value, 0.0) + total.infinite + total.error, 1.0), total.error
    return min(max(value - total.error, 0.0), 1.0), total.error


def tail_probability(
    outcomes: Outcomes, *, eps: float, rounds: int, points: int, limit: float
) -> tuple[float, float]:
    """Return P(sum of losses >= eps), which koskela2022 (Theorems 13 and 16) uses as delta.

    Args:
        outcomes: one round.
        eps: in [-limit, limit).
        rounds: number of rounds, >= 1.
        points: grid points, an even number.
        limit: L, half of the grid's length.

    Returns:
        An upper bound on the probability, and so on delta, and the error that was added to it.

    Raises:
        ValueError: an argument is out of range.
    """
    eps = _within(eps, limit)
    total = _sum_of_losses(outcomes, rounds, points, limit, "upper")
    reached = total.loss >= eps - _ON_POINT * 2 * limit / points
    return min(max(float(total.mass[reached].sum()), 0.0) + total.infinite + total.error, 1.0), total.error


def fourier_epsilon(outcomes: Outcomes, *, delta: float, rounds: int, form: str) -> float:
    """Return the smallest eps >= 0 at which delta of the composition is at most ``delta``, rounded up.

    The grid is made so long that the error of the sum stays below 1/500 of delta.

    Args:
        outcomes: one round.
        delta: target, in (0, 1).
        rounds: number of rounds, >= 0.
        form: "hockey_stick" for delta of ``fourier_accountant``, or "tail" for that of ``tail_probability``.

    Returns:
        An upper bound; inf where the probability of infinite losses alone exceeds delta.

    Raises:
        ValueError: an argument is out of range.
        ArithmeticError: delta is too small for the accuracy of the transform.
    """
    delta, rounds = checks.probability("delta", delta), checks.count("rounds", rounds, at_least=0)
    form = checks.choice("form", form, FORMS)
    if rounds == 0:
        return 0.0
    mean = float(outcomes.mass @ outcomes.loss)
    deviation = math.sqrt(float(outcomes.mass @ outcomes.loss**2))
    if deviation == 0:
        return 0.0 if _infinite(outcomes.infinite, rounds) <= delta else math.inf
    limit = 2 * (rounds * abs(mean) + 8 * math.sqrt(rounds) * deviation)
    for _ in range(_DOUBLINGS):
        total = _sum_of_losses(outcomes, rounds, _POINTS, limit, "upper")
        if total.error < _ACCURACY * delta:
            break
        limit *= 2
    else:
        least = total.error / _ACCURACY
        remedy = f"delta must be at least {least:.1g}" if least < 1 else "rounds must be fewer"
        raise ArithmeticError(
            f"{remedy} for a Fourier transform in double precision, which errs by {total.error:.1g} here; "
            f"got delta = {delta:g} and rounds = {rounds}; clones-pld and the hockey-stick forms of krr have "
            "no such limit"
        )
    left = delta - total.infinite - total.error
    return _tail_root(total, left) if form == "tail" else _divergence_root(total, left)


def _tail_root(total: _Sum, delta: float) -> float:
    """Return the largest loss whose tail is more than delta."""
    order = np.argsort(total.loss)
    within = np.cumsum(total.mass[order][::-1])[::-1] <= delta
    if not within.any():
        return math.inf
    beyond = np.nonzero(~within)[0]
    return max(float(total.loss[order][beyond[-1]]), 0.0) if beyond.size else 0.0


def _divergence_root(total: _Sum, delta: float) -> float:
    """Return the eps at which the divergence is delta, rounded up."""
    if delta <= 0:
        return math.inf
    some = total.loss > 0
    loss, mass = total.loss[some], total.mass[some]

    def excess(eps: float) -> float:
        return float(mass @ -np.expm1(np.minimum(eps - loss, 0.0))) - delta

    if excess(0.0) <= 0:
        return 0.0
    root = float(scipy.optimize.brentq(excess, 0.0, float(loss.max()), rtol=_ROOT))
    return root * (1 + 10 * _ROOT)


def _within(value: float, limit: float) -> float:
    """Return eps, which must lie on the grid."""
    number, limit = checks.real("eps", value), checks.real("limit", limit, at_least=0.0)
    if not -limit <= number < limit:
        raise ValueError(f"eps must lie in [-limit, limit), got {value!r}; limit={limit:g} may be raised")
    return number


def _sum_of_losses(outcomes: Outcomes, rounds: int, points: int, limit: float, bound: str) -> _Sum:
    rounds, points = checks.count("rounds", rounds), checks.count("points", points, at_least=2)
    if points % 2:
        raise ValueError(f"points must be even, got {points}")
    step, half = 2 * limit / points, points // 2
    cell = np.ceil(outcomes.loss / step) if bound == "upper" else np.floor(outcomes.loss / step)
    # The side of the bound decides: losses beyond one end of the grid are removed, those beyond the other end
    # move to it.
    kept = cell < half if bound == "upper" else cell >= -half
    mass, cell = outcomes.mass[kept], np.clip(cell[kept], -half, half - 1)
    each = outcomes.infinite + float(outcomes.mass[~kept].sum())
    infinite = _infinite(each, rounds)

    place = np.mod(cell, points).astype(np.int64)
    transform = fft.rfft(np.bincount(place, weights=mass, minlength=points))
    law = fft.irfft(transform**rounds, points)
    index = np.arange(points, dtype=np.float64)
    loss = step * np.where(index < half, index, index - points)

    # Mass outside of the grid folds back into it, and mass above it is missing there: alpha+ and alpha- of
    # the paper's Theorem 10, at lambda = L/2. The other terms of that theorem are for losses of one round
    # outside of the grid, of which none is left here.
    above, below = (_log_moment(mass, sign * step * cell, rounds, limit) for sign in (1.0, -1.0))
    folded = 2 * math.exp(min(above, 0.0)) + math.exp(min(below, 0.0))
    # A sum of the masses with weights in [0, 1] errs by at most the 2-norm, over the frequencies, of the
    # error of their transform (Cauchy and Schwarz; Parseval): a few roundings per halving in each direction,
    # and per factor.
    unit = _TRANSFORM * math.log2(points)
    sizes = (np.abs(transform) + unit) ** (rounds - 1)
    rounding = (rounds + 1) * unit * math.sqrt(2 * float(sizes @ sizes))
    # losses are rounded, too, and delta falls by at most as much as epsilon grows
    rounding += 4 * numerics.EPSILON * rounds * limit
    return _Sum(loss, law, infinite, folded + rounding)


def _infinite(each: float, rounds: int) -> float:
    """Return the probability of an infinite loss in any round, given that of one."""
    return -math.expm1(rounds * math.log1p(-min(each, 1 - numerics.EPSILON)))


def _log_moment(mass: FloatArray, loss: FloatArray, rounds: int, limit: float) -> float:
    """Return a bound on log of the probability that the sum of the losses is at least ``limit``."""
    if not mass.any():
        return -math.inf
    with np.errstate(divide="ignore"):
        moment = numerics.log_sum_exp(np.log(mass) + limit / 2 * loss)
    return rounds * moment - limit**2 / 2
