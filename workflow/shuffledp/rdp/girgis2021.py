"""Renyi DP of the subsampled shuffle: Theorems 1, 2 and 4 and Lemma 2 of girgis2021.

Setting: k of n clients are drawn without replacement, each applies a discrete eps0-LDP randomiser, the
reports are shuffled. Neighbouring data sets differ in the record of one client. gamma = k / n.

The authors' public code differs from the theorems: it drops the floor in kbar and subtracts the linear
term of Upsilon once instead of order times. Implemented here is what the theorems say.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.distributions.two_symbols import TwoSymbols
from shuffledp.rdp.clone_count import half_the_clones, log_fewer_clones


def _log_ternary_centre(order: FloatArray, k: int, eps0: float) -> FloatArray:
    """The first summand of Theorem 4 (concentrated part), for orders >= 2."""
    log_kbar = math.log(half_the_clones(k, eps0))
    square = math.log(4) + 2 * numerics.log_expm1(eps0) - eps0 - log_kbar
    log_base = math.log(2) + 2 * numerics.log_expm1(2 * eps0) - 2 * eps0 - log_kbar
    general = np.log(order) + special.gammaln(order / 2) + order / 2 * log_base
    return np.where(order == 2, square, general)


def girgis2021_ternary(order: ArrayLike, *, k: int, eps0: float) -> float | FloatArray:
    """Ternary ``|chi|^order`` divergence of the shuffle of k reports: girgis2021, Theorem 4.

    Args:
        order: the exponent alpha, real numbers >= 2, any shape.
        k: number of shuffled reports, >= 2.
        eps0: local privacy parameter, >= 0.

    Returns:
        zeta(alpha)^alpha, an upper bound over all eps0-LDP randomisers and all triples of neighbouring
        data sets; of the shape of ``order``. Beyond the range of float64 it is inf, or the smallest positive
        number.

    Raises:
        ValueError: an argument is out of range.
    """
    orders = checks.reals("order", order, at_least=2)
    k, eps0 = checks.count("k", k, at_least=2), checks.eps0(eps0)
    if eps0 == 0:
        return checks.like_input(np.zeros_like(orders))
    few = orders * numerics.log_sinh_gap(eps0) + log_fewer_clones(k, eps0)
    with np.errstate(over="ignore"):
        value = np.exp(np.logaddexp(_log_ternary_centre(orders, k, eps0), few))
    return checks.like_input(
        np.maximum(value * (1 + numerics.OUTWARD), np.finfo(np.float64).smallest_subnormal)
    )


def girgis2021_upper(order: ArrayLike, *, n: int, k: int, eps0: float) -> float | FloatArray:
    """Renyi DP of the subsampled shuffle: girgis2021, Theorem 1, as printed.

    Every term of the sum is positive, so nothing cancels, and the terms are log-concave, so that only a
    window of them is summed: the cost grows like the square root of the order.

    Args:
        order: Renyi orders lambda, whole numbers >= 2, any shape.
        n: number of clients.
        k: clients per round, 1 <= k <= n.
        eps0: local privacy parameter, >= 0.

    Returns:
        The theorem's own value at each order: an upper bound, rounded up, and not capped by what pure DP
        gives (log(1 + gamma (e^eps0 - 1)), see ``shuffledp.approximate_dp.composition.subsample``).

    Raises:
        ValueError: an argument is out of range, or an order is not a whole number >= 2.
    """
    orders = checks.integer_orders(order)
    (n, k), eps0 = checks.clients(n, k), checks.eps0(eps0)
    if eps0 == 0:
        return checks.like_input(np.zeros_like(orders))
    flat = orders.ravel()
    log_sum = log_moment_excess(flat, k=k, log_gamma=math.log(k / n), eps0=eps0)
    value = np.logaddexp(0.0, log_sum) / (flat - 1) * (1 + numerics.OUTWARD)
    return checks.like_input(value.reshape(orders.shape))


def log_moment_excess(order: FloatArray, *, k: int, log_gamma: float, eps0: float) -> FloatArray:
    """Return log of Theorem 1's bound on E (P/Q)^order, less 1; gamma apart from the clones among k reports.

    Increasing in gamma and decreasing in k.

    Args:
        order: whole numbers >= 2, one-dimensional.
        k: reports in which the client hides, >= 1.
        log_gamma: log of the probability of being in the sample.
        eps0: local privacy parameter, > 0.
    """
    log_gap = np.asarray(log_gamma + numerics.log_sinh_gap(eps0))

    def log_coefficient(j: FloatArray) -> FloatArray:
        return j * log_gamma + _log_ternary_centre(j, k, eps0)

    # The terms are log-concave: each step loses 1/j + 1/(order - j) in the binomial coefficient's slope and
    # gains 1/(2j) in that of Gamma(j/2).
    centre = numerics.log_binomial_transform(order, log_coefficient, first=3)
    pairs = np.log(order) + np.log((order - 1) / 2) + log_coefficient(np.array([2.0]))
    few = log_fewer_clones(k, eps0) + np.array([numerics.log_power_excess(lam, log_gap) for lam in order])
    return special.logsumexp([pairs, centre, few], axis=0)


def girgis2021_lower(order: ArrayLike, *, n: int, k: int, eps0: float) -> float | FloatArray:
    """Renyi divergence of one concrete subsampled shuffle: girgis2021, Theorem 2.

    The randomiser is two-symbol randomised response, all other clients hold 0. The expectation over the
    number of ones is evaluated itself, as a sum of terms (1+u)^order - 1 - order u >= 0 (u has mean 0);
    the printed sum over central moments is the same number. Cost grows like sqrt(k).

    Args:
        order: Renyi orders, real numbers > 1, any shape.
        n: number of clients.
        k: clients per round, 1 <= k <= n.
        eps0: local privacy parameter, >= 0.

    Returns:
        A lower bound, rounded down, on the Renyi DP parameter that any theorem about eps0-LDP randomisers
        can state. Converted by ``to_epsilon`` it bounds from below what accounting by Renyi DP can report;
        it is no lower bound on epsilon itself.

    Raises:
        ValueError: an argument is out of range.
    """
    orders = checks.real_orders(order)
    (n, k), eps0 = checks.clients(n, k), checks.eps0(eps0)
    if eps0 == 0:
        return checks.like_input(np.zeros_like(orders))
    ones = TwoSymbols(n, k, eps0)
    log_excess = np.array([ones.log_excess(lam) for lam in orders.ravel().tolist()]).reshape(orders.shape)
    inward = 1 - numerics.OUTWARD - 16 * numerics.EPSILON * math.sqrt(k)
    return checks.like_input(np.logaddexp(0.0, log_excess) / (orders - 1) * inward)
