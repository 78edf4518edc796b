"""Log-space building blocks that keep their relative accuracy where the textbook form cancels.

Errors are one-sided where the docstring says so.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from shuffledp.checks import FloatArray

EPSILON = float(np.finfo(np.float64).eps)
# Outward rounding of a bound whose logarithm was summed from terms of moderate size. Against values at
# 50 digits the relative error stays under 2e-13 (tests/reference); this is some thirty times that.
OUTWARD = 2.0**-37
# A smaller delta leaves too little room for products and reciprocals: an upper bound uses 0 in its place, a
# lower bound uses this.
SMALLEST_DELTA = 1e-300
_SMALLEST_LOG = -667.0  # log of the smallest probability whose reciprocal may be multiplied by trials


def log_expm1(x: float) -> float:
    """Return log(e^x - 1) for x > 0 without overflow and without cancellation near 0."""
    return x + math.log(-math.expm1(-x))


def log_one_minus_exp(x: float) -> float:
    """Return log(1 - e^-x) for x > 0, to full relative accuracy near 0 and where it is tiny."""
    return math.log(-math.expm1(-x)) if x < math.log(2) else math.log1p(-math.exp(-x))


def log_sinh_gap(x: float) -> float:
    """Return log(e^x - e^-x) for x > 0 without overflow and without cancellation near 0."""
    return log_expm1(2 * x) - x


def stirling_error(n: FloatArray) -> FloatArray:
    """Return log(n!) - log(sqrt(2 pi n) (n/e)^n) for n >= 1 (C. Loader, 2000, "Fast and accurate
    computation of binomial probabilities"), to full relative accuracy."""
    n = np.asarray(n, dtype=np.float64)
    square = n * n
    series = (
        1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - (1 / 1188) / square) / square) / square) / square
    ) / n
    if (n >= 16).all():
        return series
    small = np.minimum(n, 16.0)
    direct = special.gammaln(small + 1) - (small + 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    return np.where(n < 16, direct, series)


def _deviance(x: FloatArray, mean: FloatArray | float) -> FloatArray:
    """Return x log(x/mean) + mean - x >= 0 for x > 0, by a series where the two nearly cancel."""
    v = (x - mean) / (x + mean)
    near = np.abs(v) < 0.1
    square = np.where(near, v * v, 0.0)
    tail = np.zeros_like(square)
    for j in range(9, 0, -1):
        tail = (tail + 1.0 / (2 * j + 1)) * square
    series = (x - mean) * v + 2 * x * v * tail
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = x * np.log(x / mean) + mean - x
    return np.where(near, series, direct)


def log_binomial_pmf(m: FloatArray, k: FloatArray | float, log_p: float, log_q: float) -> FloatArray:
    """Return log P[Bin(k, p) = m] by Loader's saddle-point form.

    Args:
        m: whole numbers in 0..k, any shape.
        k: number of trials, up to 1e15; broadcasts with ``m``.
        log_p: log of the success probability.
        log_q: log of 1 - p.

    Returns:
        An estimate whose error grows only with the distance from the mean, not with k.
    """
    m, k = np.asarray(m, dtype=np.float64), np.asarray(k, dtype=np.float64)
    last = np.maximum(k - 1.0, 1.0)
    inner = np.clip(m, 1.0, last)
    rest = np.maximum(k - inner, 1.0)
    trials = np.maximum(k, 1.0)
    if min(log_p, log_q) < _SMALLEST_LOG:
        rarer = inner if log_p < log_q else rest
        value = log_binomial(float(k), rarer) + inner * log_p + rest * log_q
    else:
        value = (
            0.5 * np.log(trials / (2 * math.pi * inner * rest))
            + stirling_error(trials)
            - stirling_error(inner)
            - stirling_error(rest)
            - _deviance(inner, trials * math.exp(log_p))
            - _deviance(rest, trials * math.exp(log_q))
        )
    return np.where(m <= 0, k * log_q, np.where(m >= k, k * log_p, value))


def log_binomial(n: float, j: FloatArray) -> FloatArray:
    """Return log C(n, j), an estimate that is accurate for large n at small j and near the middle.

    Args:
        n: a whole number >= 0.
        j: whole numbers in 0..n, any shape.
    """
    j = np.asarray(j, dtype=np.float64)
    inner = np.clip(j, 1.0, max(n - 1.0, 1.0))
    rest = np.maximum(n - inner, 1.0)
    value = (
        0.5 * np.log(n / (2 * math.pi * inner * rest))
        + stirling_error(np.asarray(float(n)))
        - stirling_error(inner)
        - stirling_error(rest)
        - inner * np.log(inner / n)
        - rest * np.log1p(-inner / max(n, 2.0))
    )
    return np.where((j <= 0) | (j >= n), 0.0, value)


def log_power_excess(order: float, log_u: FloatArray, sign: FloatArray | float = 1.0) -> FloatArray:
    """Return log[(1 + u)^order - 1 - order u] for u = sign * exp(log_u) > -1 and real order > 1.

    The bracket is the sum over j >= 2 of C(order, j) u^j. It is never negative (Bernoulli), and of size
    u^2 near 0, where the bracket itself would lose all its digits: there the series is summed.

    Args:
        order: a number > 1.
        log_u: log |u|, any shape; -inf for u = 0.
        sign: the sign of u, broadcast against ``log_u``.
    """
    log_u = np.asarray(log_u, dtype=np.float64)
    sign = np.broadcast_to(np.asarray(sign, dtype=np.float64), log_u.shape)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        u = sign * np.exp(log_u)
        small = log_u + math.log(order) < math.log(0.5)
        x = np.where(small, u, 0.0)
        tail = np.zeros_like(x)
        # consecutive terms have a ratio below 0.5/(j + 1), or 0.5 where the order is small
        for j in range(14 if order > 8 else 50, 1, -1):
            tail = (1.0 + tail) * ((order - j) / (j + 1)) * x
        series = math.log(order) + math.log((order - 1) / 2) + 2 * log_u + np.log1p(tail)
        if small.all():
            return series
        log_power = order * np.where(sign > 0, np.logaddexp(0.0, log_u), np.log1p(np.maximum(u, -1.0)))
        # both terms are of the size of order - 1, which may be tiny
        power_less_one = np.expm1((order - 1) * np.minimum(log_power / order, 700.0 / order))
        moderate = np.log((1 + u) * power_less_one - (order - 1) * u)
        # (1 + order u) / (1 + u)^order, from logarithms since u itself may overflow
        large = log_power + np.log1p(-np.exp(np.logaddexp(0.0, math.log(order) + log_u) - log_power))
        direct = np.where(log_power > 50.0, large, moderate)
    return np.where(small, series, direct)


def log_sum_exp(values: FloatArray) -> float:
    """Return log of the sum of exp(values) over a one-dimensional array.

    scipy's function takes ten times as long on the short arrays that the bounds sum by the thousand.
    """
    top = float(values.max())
    return top if math.isinf(top) else top + math.log(float(np.exp(values - top).sum()))
