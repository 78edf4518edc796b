"""Renyi DP of the subsampled shuffle: Theorems 1, 2, 4, 5 and 6 and Lemma 2 of girgis2021.

In all of them k of n clients are drawn without replacement, each applies an eps0-LDP randomiser, and the
reports are shuffled. Neighbouring data sets differ in the record of one client, and gamma = k / n. The
theorems are stated for discrete randomisers; docs/theory/continuous_randomisers.md has the step to all
others.

The authors' public code differs from the theorems: it drops the floor in kbar and subtracts the linear
term of Upsilon once instead of order times. Implemented here is what the theorems say.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.distributions.two_symbols import TwoSymbols
from shuffledp.rdp.clone_count import half_the_clones, log_fewer_clones

_PIECE = 2**18  # numbers that a weighted sum of bounds holds in memory at a time
_REMEMBERED = 2**16  # exponents below this are summed once and remembered


def _log_special_case(order: FloatArray, log_m: float | FloatArray, eps0: float) -> FloatArray:
    """Return the logarithm of Theorem 6, for orders >= 2."""
    square = math.log(4) + 2 * numerics.log_expm1(eps0) - eps0 - log_m
    log_base = math.log(2) + 2 * numerics.log_expm1(2 * eps0) - 2 * eps0 - log_m
    general = np.log(order) + special.gammaln(order / 2) + order / 2 * log_base
    return np.where(order == 2, square, general)


def _log_ternary_centre(order: FloatArray, k: int, eps0: float) -> FloatArray:
    """Return the first summand of Theorem 4 (concentrated part), for orders >= 2."""
    return _log_special_case(order, math.log(half_the_clones(k, eps0)), eps0)


def girgis2021_special_case(order: ArrayLike, *, m: int, eps0: float) -> float | FloatArray:
    """Return the ternary chi-alpha divergence of a shuffle of nearly equal records: girgis2021, Theorem 6.

    The middle data set holds one record m times, and either neighbour differs from it in one entry. The bound
    is 4 (e^eps0 - 1)^2/(m e^eps0) at order 2, and at any other
    order Gamma(order/2) (2 (e^(2 eps0) - 1)^2/(m e^(2 eps0)))^(order/2).

    Args:
        order: the exponent alpha, real numbers >= 2, any shape.
        m: number of shuffled reports, >= 1.
        eps0: local privacy parameter, >= 0.

    Returns:
        An upper bound over all eps0-LDP randomisers, rounded up; beyond the range of float64 it is inf.

    Raises:
        ValueError: an argument is out of range.
    """
    orders = checks.reals("order", order, at_least=2)
    m, eps0 = checks.count("m", m), checks.eps0(eps0)
    if eps0 == 0:
        return checks.like_input(np.zeros_like(orders))
    with np.errstate(over="ignore"):
        value = np.exp(_log_special_case(orders, math.log(m), eps0))
    return checks.like_input(value * (1 + numerics.OUTWARD))


def girgis2021_reduced(order: ArrayLike, *, k: int, eps0: float) -> float | FloatArray:
    """Return the ternary chi-alpha divergence of a shuffle of k reports: girgis2021, Theorems 5 and 6.

    It is the mean over m ~ Bin(k - 1, e^-eps0) of Theorem 6 for m + 1 reports or, where that is smaller, of
    (e^eps0 - e^-eps0)^order, which no triple of reports exceeds. Theorem 4 bounds this mean by its value at
    half the mean of m and by Chernoff's inequality.

    Args:
        order: the exponent alpha, real numbers >= 2, any shape.
        k: number of shuffled reports, >= 2.
        eps0: local privacy parameter, >= 0.

    Returns:
        An upper bound over all eps0-LDP randomisers and triples of neighbouring data sets, rounded up, and
        never above Theorem 4's. Time and memory grow like k times the number of orders.

    Raises:
        ValueError: an argument is out of range.
    """
    orders = checks.reals("order", order, at_least=2)
    k, eps0 = checks.count("k", k, at_least=2), checks.eps0(eps0)
    if eps0 == 0:
        return checks.like_input(np.zeros_like(orders))
    m = np.arange(k, dtype=np.float64)
    log_law = numerics.log_binomial_pmf(m, k - 1, -eps0, numerics.log_one_minus_exp(eps0))
    each = np.minimum(
        _log_special_case(orders[..., None], np.log(m + 1), eps0),
        orders[..., None] * numerics.log_sinh_gap(eps0),
    )
    with np.errstate(over="ignore"):
        value = np.exp(special.logsumexp(log_law + each, axis=-1))
    rounding = 1 + numerics.OUTWARD + 64 * numerics.EPSILON * k
    return checks.like_input(value * rounding)


def girgis2021_subsampled(
    order: ArrayLike, *, gamma: float, ternary: Callable[[FloatArray], ArrayLike]
) -> float | FloatArray:
    """Return Renyi DP of a sample of clients, by the ternary divergence of its shuffle: girgis2021, Lemma 2.

    It is log(1 + S)/(order - 1) for the sum S of C(order, alpha) gamma^alpha zeta(alpha)^alpha over
    alpha = 2, ..., order.

    Args:
        order: Renyi orders lambda, whole numbers >= 2, any shape.
        gamma: share of the clients that is drawn, in (0, 1].
        ternary: zeta(alpha)^alpha of the shuffle at an array of whole exponents alpha, such as
            ``girgis2021_ternary`` with k and eps0.

    Returns:
        An upper bound where ``ternary`` is one, rounded up.

    Raises:
        ValueError: an argument is out of range, or an order is not a whole number >= 2.
    """
    orders = checks.integer_orders(order)
    gamma = checks.probability("gamma", gamma, one=True)
    exponents = np.arange(2.0, orders.max(initial=2.0) + 1)
    with np.errstate(divide="ignore"):
        log_terms = np.log(np.asarray(ternary(exponents), dtype=np.float64)) + exponents * math.log(gamma)
    values = np.zeros(orders.size)
    for place, lam in enumerate(orders.ravel()):
        some = exponents[exponents <= lam]
        log_sum = special.logsumexp(numerics.log_binomial(lam, some) + log_terms[: some.size])
        values[place] = np.logaddexp(0.0, log_sum) / (lam - 1) * (1 + numerics.OUTWARD)
    return checks.like_input(values.reshape(orders.shape))


def girgis2021_ternary(order: ArrayLike, *, k: int, eps0: float) -> float | FloatArray:
    """Return the ternary ``|chi|^order`` divergence of the shuffle of k reports: girgis2021, Theorem 4.

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
    """Return Renyi DP of the subsampled shuffle: girgis2021, Theorem 1, as printed.

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
    """Return log(M - 1) for Theorem 1's bound M on E (P/Q)^order.

    The sampling probability gamma and the number k of reports need not belong to one subsampled shuffle, as
    for a check-in they do not. The value rises with gamma and falls with k.

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


def log_mixed_moment_excess(
    order: FloatArray, *, log_weights: FloatArray, k: FloatArray, log_gammas: FloatArray, eps0: float
) -> FloatArray:
    """Return the log of a weighted sum of M - 1, for Theorem 1's bounds M on E (P/Q)^order.

    The j-th term in the concentrated part of a bound is the j-th power of a number of its own times what all
    bounds share. So these powers are summed over the bounds first, and then the terms over j.

    Args:
        order: whole numbers >= 2, one-dimensional.
        log_weights: logarithms of the weights, one-dimensional.
        k: reports in which the client hides, whole numbers >= 1, of that shape.
        log_gammas: logs of the probability of being in the sample, of that shape.
        eps0: local privacy parameter, > 0.
    """
    clones = [math.log(half_the_clones(int(one), eps0)) for one in k]
    slopes = log_gammas - np.array(clones) / 2
    table = np.empty(0)

    def listed(j: FloatArray) -> FloatArray:
        logs = np.empty(j.shape)
        piece = max(_PIECE // slopes.size, 1)
        for start in range(0, j.size, piece):
            some = slice(start, start + piece)
            # the logarithms are lines over j: one that lies far below another at both ends does so in between
            ends = log_weights[:, None] + slopes[:, None] * np.array([j[some].min(), j[some].max()])
            gaps = np.array([(ends[best] - ends).min(axis=1) for best in ends.argmax(axis=0)])
            kept = gaps.max(axis=0) < 2 * numerics.NEGLIGIBLE
            logs[some] = special.logsumexp(log_weights[kept, None] + slopes[kept, None] * j[some], axis=0)
        return logs

    def mixed(j: FloatArray) -> FloatArray:
        nonlocal table
        most = int(j.max())
        if most >= _REMEMBERED:
            return listed(j)
        if most >= table.size:
            end = min(max(most + 1, 2 * table.size), _REMEMBERED)
            table = np.concatenate([table, listed(np.arange(table.size, end, dtype=np.float64))])
        return table[j.astype(np.int64)]

    def log_coefficient(j: FloatArray) -> FloatArray:
        return mixed(j) + _log_special_case(j, 0.0, eps0)

    def of_slope(slope: float) -> numerics.LogTerms:
        return lambda j: j * slope + _log_special_case(j, 0.0, eps0)

    ends = of_slope(float(slopes.min())), of_slope(float(slopes.max()))
    centre = numerics.log_binomial_transform(order, log_coefficient, first=3, ends=ends)
    pairs = np.log(order) + np.log((order - 1) / 2) + log_coefficient(np.array([2.0]))
    rarely = log_weights + np.array([log_fewer_clones(int(one), eps0) for one in k])
    log_gaps = log_gammas + numerics.log_sinh_gap(eps0)
    few = [numerics.log_sum_exp(rarely + numerics.log_power_excess(lam, log_gaps)) for lam in order.tolist()]
    return special.logsumexp([pairs, centre, np.array(few)], axis=0)


# a search for the best order evaluates one curve in some dozens of calls
@functools.lru_cache(maxsize=2)
def _two_symbols(n: int, k: int, eps0: float) -> TwoSymbols:
    """Return the mechanism of Theorem 2 in its initial state, which evaluating an order changes: copy it."""
    return TwoSymbols(n, k, eps0)


def girgis2021_lower(order: ArrayLike, *, n: int, k: int, eps0: float) -> float | FloatArray:
    """Return the Renyi divergence of one concrete subsampled shuffle: girgis2021, Theorem 2.

    The randomiser is two-symbol randomised response, and all other clients hold 0. The expectation over the
    number of ones is evaluated directly, as a sum of terms (1+u)^order - 1 - order u >= 0 (u has mean 0);
    the paper's sum over central moments is the same number. The cost grows like sqrt(k).

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
    ones = copy.copy(_two_symbols(n, k, eps0))
    log_excess = np.array([ones.log_excess(lam) for lam in orders.ravel().tolist()]).reshape(orders.shape)
    inward = 1 - numerics.OUTWARD - 16 * numerics.EPSILON * math.sqrt(k)
    return checks.like_input(np.logaddexp(0.0, log_excess) / (orders - 1) * inward)
