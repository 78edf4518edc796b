"""Composition and subsampling of (eps, delta)-DP.

All functions are keyword-only; ``eps`` and ``rounds`` may be arrays that broadcast.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import BoolArray, FloatArray

METHODS = ("formula", "optimal")

_TAIL_ROUNDING = 1e-11  # largest relative error of the incomplete beta function
_FAR = 600.0  # nats by which masses may exceed delta: e^-600 is far from underflow
_MOST_VALUES = 2**21  # most outcomes that the optimal composition lists one by one


class ApproximateDP(NamedTuple):
    """A guarantee of (eps, delta)-DP."""

    eps: float | FloatArray
    delta: float | FloatArray


def subsample(*, eps: ArrayLike, delta: ArrayLike, gamma: float) -> ApproximateDP:
    """Amplify by subsampling without replacement (ullman2017; balle2018, Theorem 9).

    Args:
        eps: parameter of the mechanism that runs on the sample, >= 0.
        delta: its delta, in [0, 1], any shape.
        gamma: sampling rate, in (0, 1].

    Returns:
        (log(1 + gamma (e^eps - 1)), gamma delta), an upper bound, rounded up. Where neighbours differ by
        substitution of one record, no smaller pair holds for all mechanisms with the given guarantee.

    Raises:
        ValueError: an argument is out of range.
    """
    epsilon = checks.reals("eps", eps, at_least=0.0)
    deltas = checks.probabilities("delta", delta, zero=True, one=True)
    gamma = checks.probability("gamma", gamma, one=True)
    if gamma == 1:
        return ApproximateDP(checks.like_input(epsilon), checks.like_input(deltas))
    huge = np.logaddexp(math.log1p(-gamma), math.log(gamma) + epsilon)
    amplified = np.where(epsilon > 700.0, huge, np.log1p(gamma * np.expm1(np.minimum(epsilon, 700.0))))
    return ApproximateDP(
        checks.like_input(np.minimum(amplified * (1 + 8 * numerics.EPSILON), epsilon)),
        checks.like_input(np.minimum(gamma * deltas * (1 + 2 * numerics.EPSILON), deltas)),
    )


def remaining_delta(*, delta: ArrayLike, rounds: ArrayLike, total_delta: float) -> float | FloatArray:
    """Return what ``rounds`` mechanisms of ``delta`` each leave of ``total_delta`` for their composition.

    Args:
        delta: delta of one round, in [0, 1), any shape.
        rounds: whole numbers >= 0, any shape that broadcasts.
        total_delta: delta of the composition, in [0, 1).

    Returns:
        The solution of 1 - total_delta = (1 - delta)^rounds (1 - remaining), rounded down; negative if the
        rounds alone use up more than ``total_delta``.

    Raises:
        ValueError: an argument is out of range.
    """
    deltas = checks.probabilities("delta", delta, zero=True)
    counts = checks.counts("rounds", rounds)
    total = checks.probability("total_delta", total_delta, zero=True)
    allowed, each = np.log1p(-total), np.log1p(-deltas)
    # A single round may use up all of delta, which must leave exactly 0. With several rounds what is left is
    # lowered by more than its rounding error.
    rounding = np.where(counts > 1, 4 * numerics.EPSILON * np.maximum(-allowed, -counts * each), 0.0)
    # of a negative result only the sign matters, so the exponent may be capped before it overflows
    log_used = np.minimum(allowed - counts * each + rounding, 700.0)
    return checks.like_input(-np.expm1(log_used))


def _formula(eps: FloatArray, rounds: FloatArray, slack_delta: FloatArray) -> FloatArray:
    drift = rounds * eps * np.tanh(eps / 2)
    with np.errstate(divide="ignore"):
        plain = -np.log(slack_delta)
        capped = np.logaddexp(1.0, np.log(np.sqrt(rounds) * eps) + plain)
    spread = eps * np.sqrt(2 * rounds * np.minimum(plain, capped))
    return np.minimum(rounds * eps, drift + spread) * (1 + 16 * numerics.EPSILON)


def _optimal(eps: FloatArray, rounds: FloatArray, slack_delta: FloatArray) -> FloatArray:
    values = np.broadcast_arrays(eps, rounds, slack_delta)
    solved = [_optimal_one(*one) for one in zip(*(value.ravel().tolist() for value in values), strict=True)]
    return np.array(solved).reshape(values[0].shape)


def _optimal_one(eps: float, rounds: float, delta: float) -> float:
    """Return the smallest epsilon of the T-fold composition of randomised response, rounded up.

    If l of T rounds have the loss +eps and the others -eps, the total loss is (2 l - T) eps, and delta(e) =
    P(l >= m) - e^e Q(l >= m) for e between the losses of l = m - 1 and l = m. Let B_i = Q(l >= i) e^(loss of
    i). At the loss of m, delta is (1 - e^(-2 eps)) times the sum of B_i over i > m; at x below that loss it
    is larger by B_m (1 - e^-x). All these numbers are positive and are summed from the far end, so nothing
    cancels however small eps is.
    """
    pure = rounds * eps * (1 + 4 * numerics.EPSILON)
    if delta == 0:
        return pure
    log_p, log_q = -float(np.logaddexp(0.0, -eps)), -float(np.logaddexp(0.0, eps))
    mean, deviation = (
        rounds * special.expit(eps),
        math.sqrt(rounds * special.expit(eps) * special.expit(-eps)),
    )
    # the tail beyond the last value is at most e^-60 delta (Chernoff), less than what the sums are raised by
    reach = deviation * math.sqrt(2 * (60 - math.log(delta))) + 60 - math.log(delta)
    first = max(math.floor(rounds / 2), math.floor(mean - reach), 0)
    last = min(math.ceil(mean + reach), rounds)
    if last - first > _MOST_VALUES:
        return _optimal_by_tails(eps, rounds, delta)
    values = np.arange(first, last + 1, dtype=np.float64)
    log_mass = numerics.log_binomial_pmf(values, rounds, log_p, log_q)
    loss = (2 * values - rounds) * eps
    # the masses are scaled by e^-shift, so that none that matters to the smallest delta underflows
    shift = min(float(log_mass.max()), math.log(delta) + _FAR)
    log_tail_q = np.logaddexp.accumulate((log_mass - shift - loss)[::-1])[::-1]
    target = math.exp(math.log(delta) - shift)
    # the solution lies at most 2 eps below the first loss whose delta is at most the target
    weighed = np.exp(loss + log_tail_q)
    rounding = _TAIL_ROUNDING + 8 * numerics.EPSILON * float(np.abs(loss).max())
    at_loss = -math.expm1(-2 * eps) * np.append(np.cumsum(weighed[:0:-1])[::-1], 0.0) * (1 + rounding)
    m = int(np.argmax(at_loss <= target))  # there is one, as delta at the last loss is 0
    left = target * (1 - rounding) - float(at_loss[m])
    share = min(max(left / (float(weighed[m]) * (1 + rounding)), 0.0), 1 - numerics.EPSILON)
    below = min(-math.log1p(-share), 2 * eps)
    return min(max(float(loss[m]) * (1 + 4 * numerics.EPSILON) - below, 0.0), pure)


def _optimal_by_tails(eps: float, rounds: float, delta: float) -> float:
    """Return the epsilon of ``_optimal_one`` from tails of the binomial law, for too many rounds to list.

    It is an upper bound too, and a looser one.
    """
    q = float(special.expit(eps))

    def too_much(target: FloatArray) -> BoolArray:
        m = np.clip(np.ceil((target / eps + rounds) / 2), 1.0, rounds)
        likely = special.betainc(m, rounds - m + 1, q) * (1 + _TAIL_ROUNDING)
        unlikely = special.betainc(m, rounds - m + 1, 1 - q)
        # near underflow the second tail is not accurate, and leaving it out errs upwards
        loss = np.where((target > 700) | (unlikely < 1e-200), 0.0, np.exp(np.minimum(target, 700)) * unlikely)
        return likely - loss > delta

    pure = rounds * eps * (1 + 4 * numerics.EPSILON)
    return float(numerics.last_true(too_much, np.zeros(1), np.full(1, pure))[0])


def kairouz2015(
    *, eps: ArrayLike, delta: ArrayLike, rounds: ArrayLike, total_delta: float, method: str = "formula"
) -> float | FloatArray:
    """Compose ``rounds`` mechanisms that are (eps, delta)-DP each: kairouz2015.

    Args:
        eps: parameter of one round, >= 0.
        delta: delta of one round, in [0, 1), any shape that broadcasts with the others.
        rounds: how many are composed (adaptively), whole numbers >= 0.
        total_delta: delta of the composition, in [0, 1). It is 1 - (1 - delta)^rounds (1 - d), where d is
            the part that is left to the composition itself.
        method: "formula" for the closed form (Theorem 3.4; the papers' "strong composition"), "optimal"
            for the smallest eps that all such mechanisms share (Theorem 3.3), at any real eps rather than
            on the theorem's grid.

    Returns:
        eps of the composition, an upper bound, rounded up; inf where the rounds alone use up more than
        ``total_delta``.

    Raises:
        ValueError: an argument is out of range, or ``method`` is not one of the two.
    """
    method = checks.choice("method", method, METHODS)
    epsilon, counts, slack = np.broadcast_arrays(
        checks.reals("eps", eps, at_least=0.0),
        checks.counts("rounds", rounds),
        remaining_delta(delta=delta, rounds=rounds, total_delta=total_delta),
    )
    affordable, pays = slack >= 0, (counts > 0) & (epsilon > 0)
    composed = np.zeros(epsilon.shape)
    solve = _formula if method == "formula" else _optimal
    composed[pays] = solve(epsilon[pays], counts[pays], np.maximum(slack, 0.0)[pays])
    return checks.like_input(np.where(affordable, composed, np.inf))


def advanced(*, eps: ArrayLike, delta: float, rounds: ArrayLike, total_delta: float) -> float | FloatArray:
    """Compose by advanced composition (Dwork, Rothblum and Vadhan, 2010, Theorem III.3).

    Args:
        eps: parameter of one round, >= 0.
        delta: delta of one round, in [0, 1).
        rounds: how many are composed (adaptively), whole numbers >= 0.
        total_delta: delta of the composition, in [0, 1). It is rounds delta + d, where d is the part that is
            left to the composition itself.

    Returns:
        rounds eps (e^eps - 1) + eps sqrt(2 rounds log(1/d)), an upper bound, rounded up; inf where d <= 0,
        but 0 for eps = 0 or no rounds if d = 0.

    Raises:
        ValueError: an argument is out of range.
    """
    epsilon, counts = np.broadcast_arrays(
        checks.reals("eps", eps, at_least=0.0), checks.counts("rounds", rounds)
    )
    delta = checks.probability("delta", delta, zero=True)
    slack = checks.probability("total_delta", total_delta, zero=True) - counts * delta
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        spread = epsilon * np.sqrt(-2 * counts * np.log(np.maximum(slack, 0.0)))
        composed = (counts * epsilon * np.expm1(epsilon) + spread) * (1 + 16 * numerics.EPSILON)
    free = (counts == 0) | (epsilon == 0)
    return checks.like_input(np.where(slack < 0, np.inf, np.where(free, 0.0, composed)))
