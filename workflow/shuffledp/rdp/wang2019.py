"""Renyi DP under subsampling without replacement: wang2019, Theorem 9.

The paper is "Subsampled Renyi differential privacy and analytical moments accountant".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.numerics import LogTerms
from shuffledp.rdp.curve import RenyiCurve, evaluate

_SINGLE, _RELATIVE = (
    2**12,
    2**11,
)  # orders that are taken singly, and the width of blocks beyond (its inverse)


def _log_min_two(eps_inf: float, j: FloatArray) -> FloatArray:
    """Return log min(2, (e^eps_inf - 1)^j)."""
    if math.isinf(eps_inf):
        return np.full_like(j, math.log(2))
    return np.minimum(math.log(2), j * numerics.log_expm1(eps_inf))


def _log_pairs(second: float, eps_inf: float, loose: bool) -> float:
    """Return the logarithm of the factor of gamma^2 C(order, 2), with rdp(2) = ``second`` > 0."""
    if loose:
        return math.log(2) + second
    minimum = second + float(_log_min_two(eps_inf, np.array([2.0]))[0])
    return min(math.log(4) + numerics.log_expm1(second), minimum)


def wang2019_subsampled(
    order: ArrayLike,
    *,
    gamma: float,
    rdp: RenyiCurve,
    eps_inf: float = math.inf,
    loose: bool = False,
) -> float | FloatArray:
    """Amplify a Renyi DP curve by subsampling without replacement: wang2019, Theorem 9.

    Two simplifications save time, and both err upward. With a finite ``eps_inf``, the theorem's terms with
    eps_inf in place of rdp(j) are log-concave in j; they are summed where ``rdp`` has reached ``eps_inf``
    (there they are the theorem's own) or where they are negligible. Beyond order 4096, all orders of a block
    (of a relative width of 1/2048) count with the curve at its last order: Renyi divergences do not decrease
    with the order.

    Args:
        order: Renyi orders, whole numbers >= 2, any shape.
        gamma: sampling rate, in (0, 1].
        rdp: the Renyi DP curve of the mechanism that runs on the sample: maps an array of whole orders to
            upper bounds.
        eps_inf: a bound on the curve at all orders (the mechanism's pure DP parameter), if there is one.
        loose: replace the first minimum of the theorem by 2 e^{rdp(2)}, its larger simplification. Only
            this form gives the black curves of girgis2021.

    Returns:
        An upper bound, rounded up, of the shape of ``order``.

    Raises:
        ValueError: an argument is out of range, an order is not a whole number >= 2, or ``rdp`` returns nan
            or a negative number.
    """
    orders = checks.integer_orders(order)
    gamma = checks.probability("gamma", gamma, one=True)
    eps_inf = checks.real("eps_inf", eps_inf, at_least=0.0, finite=False)
    second = min(float(evaluate(rdp, np.array([2.0]))[0]), eps_inf)
    if second == 0:  # the two output laws agree, at every order
        return checks.like_input(np.zeros_like(orders))
    log_gamma, log_pairs = math.log(gamma), _log_pairs(second, eps_inf, loose)
    flat = orders.ravel().tolist()

    def envelope(lam: float) -> LogTerms:
        return lambda j: (
            numerics.log_binomial(lam, j) + j * log_gamma + (j - 1) * eps_inf + _log_min_two(eps_inf, j)
        )

    def last_needed(lam: float) -> int:
        if math.isinf(eps_inf):
            return int(lam)
        return numerics.concave_cut(envelope(lam), 2, int(lam), log_pairs + 2 * log_gamma)

    needed = {lam: last_needed(lam) for lam in set(flat)}
    last, farthest = 4, max(needed.values(), default=2)
    while last < farthest and evaluate(rdp, np.array([float(last)]))[0] < eps_inf:
        last *= 2
    firsts, lasts = _blocks(min(last, farthest))
    curve = np.minimum(evaluate(rdp, lasts), eps_inf)

    def bound(lam: float) -> float:
        some = firsts <= needed[lam]
        first, end, largest = firsts[some], np.minimum(lasts[some], lam), curve[some]

        def log_term(j: FloatArray) -> FloatArray:
            factor = np.where(j == 2, log_pairs, (j - 1) * largest + _log_min_two(eps_inf, j))
            return numerics.log_binomial(lam, j) + j * log_gamma + factor

        count, middle = end - first + 1, np.floor((first + end) / 2)
        logs = log_term(middle)
        magnitude = lam + lam * abs(log_gamma) + float(np.max(np.abs(largest) * end))
        if count[-1] > 1:
            # being log-concave, the terms of a block lie below the geometric series through two neighbours
            ratio = log_term(np.minimum(middle + 1, end)) - logs
            logs += _log_geometric(ratio, first - middle, count)
        log_sums = [numerics.log_sum_exp(logs)]
        if end[-1] < lam:
            log_sums.append(numerics.log_sum_concave(envelope(lam), int(end[-1]) + 1, int(lam)))
        rounding = 4 * numerics.EPSILON * magnitude * (1 + float(count[-1]))
        log_sum = numerics.log_sum_exp(np.array(log_sums)) + rounding
        return float(np.logaddexp(0.0, log_sum)) / (lam - 1) * (1 + numerics.OUTWARD)

    return checks.like_input(np.array([bound(lam) for lam in flat]).reshape(orders.shape))


def _blocks(last: int) -> tuple[FloatArray, FloatArray]:
    """Return first and last orders of blocks that hold 2..last: single ones, and from 4096 on wider ones."""
    edges = list(range(2, min(last, _SINGLE) + 2))
    while edges[-1] <= last:
        edges.append(edges[-1] + edges[-1] // _RELATIVE)
    ends = np.array(edges, dtype=np.float64)
    return ends[:-1], ends[1:] - 1


def _log_geometric(ratio: FloatArray, start: FloatArray, count: FloatArray) -> FloatArray:
    """Return log of the sum of e^(ratio i) over ``count`` values of i from ``start`` on."""
    size = np.abs(ratio)
    largest = np.where(ratio > 0, ratio * (start + count - 1), ratio * start)
    with np.errstate(divide="ignore", invalid="ignore"):
        some = np.log(np.expm1(-size * count) / np.expm1(-size))
    return largest + np.where(size > 0, some, np.log(count))
