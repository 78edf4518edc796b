"""Renyi DP of the shuffled Gaussian: liew2022gaussian.

The paper is Liew and Takahashi, 2022, "Shuffle Gaussian mechanism for differential privacy". Its theorem
gives E (S/n)^order, for the sum S of n log-normal terms exp(Z/sigma - 1/(2 sigma^2)), as a sum over the ways
to write the order as a sum of n numbers. Here the same number comes from the cumulants of one term, by
recursions over the order in which every number is positive: nothing cancels, and the cost does not depend
on n.

With v = e^(1/sigma^2) - 1, the m-th cumulant of a term sums v^edges over the connected graphs on m labelled
vertices. It is v^(m-1) I_m(1 + v) for the inversion enumerators I_m of labelled trees, which satisfy
I_(m+1)(x) = sum over k < m of C(m-1, k) (1 + x + ... + x^k) I_(k+1)(x) I_(m-k)(x) (Mallows and Riordan, 1968,
"The inversion enumerator for labeled trees").
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray

LARGEST_ORDER = 2**13
SMALLEST_SIGMA = 1e-3

_SMALLEST_TABLE = 2**8


def liew2022gaussian_shuffle(order: ArrayLike, *, n: int, sigma: float) -> float | FloatArray:
    """Return the Renyi divergence of n shuffled Gaussian reports, one of them at 0 or at 1: liew2022gaussian.

    The divergence is that of the second data set's law from the first's (all zeros), for which the theorem is
    exact: the direction "forward" of ``shuffledp.profiles.shuffled_gaussian``. The theorem says nothing about
    the other direction, nor about other data sets. The cost grows with the square of the largest order, and
    does not depend on n.

    Args:
        order: Renyi orders, whole numbers >= 2, any shape.
        n: number of clients, >= 1.
        sigma: standard deviation of the noise, >= 0.001, for records in [0, 1].

    Returns:
        The divergence at each order, rounded up, of the shape of ``order``; inf beyond order 8192, where it
        is not computed.

    Raises:
        ValueError: an argument is out of range, or an order is not a whole number >= 2.
    """
    orders = checks.integer_orders(order)
    n, sigma = checks.count("n", n), checks.positive("sigma", sigma)
    if sigma < SMALLEST_SIGMA:
        raise ValueError(
            f"sigma must be at least {SMALLEST_SIGMA:g}, below which the moments of log-normal terms are not "
            f"computed, got {sigma!r}"
        )
    flat = orders.ravel()
    value = np.full(flat.shape, np.inf)
    known = flat <= LARGEST_ORDER
    if known.any():
        size = max(int(flat[known].max()), _SMALLEST_TABLE)
        log_moments = _log_moments(n, sigma, 1 << (size - 1).bit_length())
        value[known] = [_divergence(int(one), log_moments) for one in flat[known]]
    return checks.like_input(value.reshape(orders.shape))


def _divergence(order: int, log_moments: FloatArray) -> float:
    """Return log E (1 + X)^order / (order - 1), from the central moments of X, whose mean is 0."""
    k = np.arange(2, order + 1)
    terms = special.gammaln(order + 1) - special.gammaln(order - k + 1) + log_moments[2 : order + 1]
    magnitude = order + float(np.abs(log_moments[2 : order + 1]).max())
    log_excess = numerics.log_sum_exp(terms) + 8 * numerics.EPSILON * magnitude
    return float(np.logaddexp(0.0, log_excess)) / (order - 1) * (1 + numerics.OUTWARD)


@functools.lru_cache(maxsize=16)
def _log_moments(n: int, sigma: float, size: int) -> FloatArray:
    """Return log(E (S/n - 1)^k / k!) for k = 0..size."""
    square = 1 / sigma**2
    log_v = numerics.log_expm1(square)
    # log(1 + x + ... + x^k), x = 1 + v
    runs = np.array([numerics.log_expm1(square * (k + 1)) for k in range(size)]) - log_v
    trees = np.zeros(size + 1)  # log(I_m / (m-1)!)
    for m in range(1, size):
        trees[m + 1] = numerics.log_sum_exp(runs[:m] + trees[1 : m + 1] + trees[m:0:-1]) - math.log(m)
    cumulants = trees + np.arange(-1, size) * (log_v - math.log(n))  # log(k_m / (m-1)!), of S/n
    moments = np.full(size + 1, -np.inf)
    moments[0] = 0.0
    for k in range(2, size + 1):
        moments[k] = numerics.log_sum_exp(cumulants[2 : k + 1] + moments[k - 2 :: -1]) - math.log(k)
    return moments
