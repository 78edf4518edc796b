"""Distributed check-in with Gaussian noise: liew2022, Theorem 5 (appendix B.1), re-derived.

Each of n clients takes part independently with the probability ``rate``; the reports are records with
noise N(0, sigma^2 I), and the server publishes their average, but not how many took part. Neighbours are the
records of n clients, and the same without one of them. Given that k of the other n - 1 take part, the
average has the law p_k = N(0, sigma^2/k I) without the client and q_k = N(1/(k + 1), sigma^2/(k + 1) I) with
it, and the two data sets give

    without = sum_k b_k p_k,    with = sum_k b_k ((1 - rate) p_k + rate q_k),    b = Bin(n - 1, rate).

For k = 0 the paper lets the server publish N(0, sigma^2 I) in place of an average.

The paper leaves open or has wrong:

- sigma is in units of the largest distance between two records: as the records of others need not be 0, the
  means differ by up to that distance over k + 1. For vectors clipped to norm C it is 2C; the paper uses C.
- The paper computes in one dimension. In d dimensions the noise orthogonal to the record distinguishes k from
  k + 1, and the factor of the variances counts d times (``dimension``). In ``shuffledp.checkin.distributed``
  the number of reports is public, and nothing depends on d or on these variances.
- The paper's moments E_q (p/q)^l, of the data set without the client over that with it, are infinite for
  l >= k + 1, since p_k is the wider law. Its formula is that of the other direction with another exponent.
  Here the direction "with over without" is expanded exactly, in E_p (q/p)^l, which needs no factor 3. The
  direction "without over with" is bounded by Taylor's theorem, since the density ratio of the mixtures is at
  most 1/(1 - rate).
- E_p (q/p)^l does not always fall with k, as Lemmas 4 and 5 need: for sigma^2 < (l - 1)/(2 (l + 1)) it grows
  at k = 1. Here its largest value from k on is used.
- Lemmas 4 and 5 lack the binomial's rate^k (1 - rate)^(n - k); the prefactor must be 1/(lambda - 1); and
  (13) and (15) have the exponents of rate and 1 - rate exchanged, and (15) starts at 2.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checkin import liew2022_others as others
from shuffledp.checks import FloatArray

DIRECTIONS = ("with", "without")
# The time of an order grows with the order, so larger ones have the trivial upper bound, infinity.
LARGEST_ORDER = 2**13
_TERMS = 2**20  # how many terms of the table of moments are in memory at once
_MOST_TERMS = 2**27  # of that table, in some 20 seconds


def gaussian_log_moment(
    order: ArrayLike, *, k: ArrayLike, sigma: float, dimension: int = 1, direction: str = "with"
) -> float | FloatArray:
    """Return log E_p (q/p)^l of the averages of k reports, p, and of k + 1 reports, q.

    "with": E_p (q/p)^l = ((k + 1)^l/((k + l) k^(l - 1)))^(d/2) exp(l (l - 1) k/(2 sigma^2 (k + 1) (k + l))).
    "without": E_q (p/q)^l = (k^l/((k + 1 - l) (k + 1)^(l - 1)))^(d/2)
    exp(l (l - 1) k/(2 sigma^2 (k + 1) (k + 1 - l))), infinite for l >= k + 1. For k = 0 either is
    exp(l (l - 1)/(2 sigma^2)).

    Args:
        order: l, real numbers >= 1, any shape.
        k: numbers of other reports, real numbers >= 0, any shape that broadcasts.
        sigma: standard deviation of the noise of one report, > 0, over the largest distance of two records.
        dimension: d, of the records.
        direction: "with" for E_p (q/p)^l or "without" for E_q (p/q)^l.

    Returns:
        The logarithm, exact up to rounding, of the broadcast shape.

    Raises:
        ValueError: an argument is out of range.
    """
    orders, counts = np.broadcast_arrays(
        checks.reals("order", order, at_least=1.0), checks.reals("k", k, at_least=0.0)
    )
    sigma, dimension = checks.positive("sigma", sigma), checks.count("dimension", dimension)
    if checks.choice("direction", direction, DIRECTIONS) == "with":
        value = _log_moment(orders, counts, sigma, dimension)
    else:
        narrow = counts + 1 - orders
        rest = np.maximum(narrow, 0.5)
        some = np.maximum(counts, 1.0)
        widths = np.log(some / rest) + (orders - 1) * np.log(some / (some + 1))
        means = orders * (orders - 1) * some / (sigma**2 * (some + 1) * rest)
        value = np.where(narrow > 0, (dimension * widths + means) / 2, np.inf)
        value = np.where(counts == 0, orders * (orders - 1) / (2 * sigma**2), value)
    return checks.like_input(value)


def _log_moment(order: FloatArray, k: FloatArray, sigma: float, dimension: int) -> FloatArray:
    some = np.maximum(k, 1e-300)
    # (k + 1)^l/((k + l) k^(l - 1)) = (1 + 1/k)^l/(1 + l/k)
    widths = order * np.log1p(1 / some) - np.log1p(order / some)
    means = order * (order - 1) * some / (sigma**2 * (some + 1) * (some + order))
    return np.where(k == 0, order * (order - 1) / sigma**2, dimension * widths + means) / 2


class _Moments:
    """Logarithms of sums over the number of reports, for l = 2, 3, ..., each computed once.

    Attributes:
        largest_order: the largest l that does not take too long.
    """

    def __init__(self, sums: Callable[[FloatArray], FloatArray], numbers: int) -> None:
        """Take the function from a column of l to the logarithms, and how many numbers it sums over."""
        self.largest_order = min(LARGEST_ORDER, _MOST_TERMS // max(numbers, 1))
        self._sums, self._chunk = sums, max(1, _TERMS // max(numbers, 1))
        self._known = np.empty(0)

    def upto(self, top: int) -> FloatArray:
        """Return the logarithms for l = 2..top."""
        known = self._known  # another thread may be lengthening it too
        while known.size < top - 1:
            first = known.size + 2
            order = np.arange(first, min(top, first + self._chunk - 1) + 1, dtype=np.float64)
            known = np.concatenate([known, self._sums(order[:, None])])
        self._known = known
        return known[: top - 1]


# Whoever searches for the best order asks several times, for ever larger ones.
@functools.lru_cache(maxsize=8)
def _moments(law: others.Law, n_others: int, rate: float, sigma: float, dimension: int) -> _Moments:
    """Return the logarithms of sum_k b_k (E_p (q/p)^l - 1), which are computed when they are asked for."""
    weights = law(n_others, rate)
    low = weights.low[None, :]

    def largest_from(order: FloatArray) -> FloatArray:
        """Return log of the largest moment at k >= low (> 0); moments fall with k from sqrt(l) on."""
        value = _log_moment(order, low, sigma, dimension)
        most = int(math.sqrt(float(order.max()))) + 1
        if low.min() >= most or (low == 0).all():
            return value
        k = np.arange(1.0, most + 1)[:, None]
        table = _log_moment(order.T, k, sigma, dimension)
        table = np.maximum.accumulate(table[::-1])[::-1]
        later = table[np.clip(low[0].astype(np.int64), 1, most) - 1].T
        return np.where((low > 0) & (low < most), np.maximum(value, later), value)

    def sums(order: FloatArray) -> FloatArray:
        moments = largest_from(order)
        # the two logarithms of the variances nearly cancel
        moments += 8 * numerics.EPSILON * dimension * order / np.maximum(low, 1.0)
        excess = moments + np.log(-np.expm1(-np.maximum(moments, 1e-300)))
        return special.logsumexp(excess + weights.log_weight, axis=1)

    return _Moments(sums, weights.low.size)


@functools.lru_cache(maxsize=8)
def _printed_moments(law: others.Law, n_others: int, rate: float, sigma: float) -> _Moments:
    """Return the logarithms of sum_{k >= 1} b_k e^((l - 1) eps_k(l)), with eps_k(l) as printed."""
    weights = others.somebody(law(n_others, rate))
    k = weights.low[None, :]

    def sums(order: FloatArray) -> FloatArray:
        widths = order * np.log1p(1 / k) - np.log1p(order / k)
        each = weights.log_weight + widths / 2 - (order + 1) / (sigma**2 * (k + 1))
        return special.logsumexp(each, axis=1)

    return _Moments(sums, weights.low.size)


def _theorem_5(
    order: ArrayLike, n: int, rate: float, sigma: float, dimension: int, law: others.Law
) -> float | FloatArray:
    """Return Theorem 5 in both directions of neighbours, by a bound on the law of the number of others."""
    orders = checks.integer_orders(order)
    flat = orders.ravel()
    moments = _moments(law, n - 1, rate, sigma, dimension)
    log_rate, log_rest = math.log(rate), math.log1p(-rate)

    def bound(lam: float) -> float:
        if lam > moments.largest_order:
            return math.inf
        top = int(lam)
        j, known = np.arange(2.0, top + 1), moments.upto(top)
        terms = numerics.log_binomial(lam, j) + j * log_rate + (lam - j) * log_rest + known
        added = special.logsumexp(terms)
        # (1 + u)^(1 - lambda) <= 1 - (lambda - 1) u + C(lambda, 2) (1 - rate)^(-lambda - 1) u^2, u >= -rate
        square = math.log(lam * (lam - 1) / 2) + 2 * log_rate - (lam + 1) * log_rest + known[0]
        removed = min(float(np.logaddexp(0.0, square)), -(lam - 1) * log_rest)
        rounding = 8 * numerics.EPSILON * (lam + float(np.abs(terms[np.isfinite(terms)]).max(initial=1.0)))
        largest = max(float(np.logaddexp(0.0, added)), removed)
        return largest / (lam - 1) * (1 + numerics.OUTWARD + rounding)

    return checks.like_input(np.array([bound(lam) for lam in flat.tolist()]).reshape(orders.shape))


def _checked(n: object, rate: object, sigma: object, dimension: object) -> tuple[int, float, float, int]:
    return (
        checks.count("n", n),
        checks.probability("rate", rate),
        checks.positive("sigma", sigma),
        checks.count("dimension", dimension),
    )


def theorem_5(
    order: ArrayLike, *, n: int, rate: float, sigma: float, dimension: int = 1, as_printed: bool = False
) -> float | FloatArray:
    """Return Renyi DP of distributed check-in: Theorem 5, its sums over the number of reports evaluated.

    Args:
        order: Renyi orders lambda, whole numbers >= 2, any shape.
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        sigma: standard deviation of the noise of one report, > 0, over the largest distance of two records.
        dimension: of the records; the printed form has only 1.
        as_printed: whether to evaluate the printed lines 12 and 13, with the prefactor read as
            1/(lambda - 1), which is an estimate.

    Returns:
        An upper bound for either direction of neighbours, rounded up; inf beyond order 2^13.

    Raises:
        ValueError: an argument is out of range, or an order is not a whole number >= 2.
    """
    n, rate, sigma, dimension = _checked(n, rate, sigma, dimension)
    if as_printed:
        return _printed(order, n, rate, sigma, others.whole, first=3)
    return _theorem_5(order, n, rate, sigma, dimension, others.whole)


def theorem_5_by_lemma_4(
    order: ArrayLike,
    *,
    n: int,
    rate: float,
    sigma: float,
    slack: float = 0.5,
    dimension: int = 1,
    as_printed: bool = False,
) -> float | FloatArray:
    """Return Renyi DP of distributed check-in: Theorem 5 with its sums bounded by Lemma 4.

    With probability e^(-Delta^2 mu/2) a round counts as one with a single report, otherwise as one with
    (1 - Delta) mu + 1 reports, mu = (n - 1) rate. A round in which nobody reports has its own probability.

    Args:
        order: Renyi orders lambda, whole numbers >= 2, any shape.
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        sigma: standard deviation of the noise of one report, > 0, over the largest distance of two records.
        slack: Delta, in [0, 1]; the paper plots 0.5.
        dimension: of the records; the printed form has only 1.
        as_printed: whether to evaluate the printed lines 14 and 15, with the prefactor read as
            1/(lambda - 1), which is an estimate.

    Returns:
        An upper bound for either direction of neighbours, rounded up; inf beyond order 2^13.

    Raises:
        ValueError: an argument is out of range, or an order is not a whole number >= 2.
    """
    n, rate, sigma, dimension = _checked(n, rate, sigma, dimension)
    slack = checks.probability("slack", slack, zero=True, one=True)
    if as_printed:
        return _printed(order, n, rate, sigma, others.by_lemma_4_printed(slack), first=2)
    return _theorem_5(order, n, rate, sigma, dimension, others.by_lemma_4(slack))


def theorem_5_by_lemma_5(
    order: ArrayLike,
    *,
    n: int,
    rate: float,
    sigma: float,
    cut: int,
    dimension: int = 1,
    as_printed: bool = False,
) -> float | FloatArray:
    """Return Renyi DP of distributed check-in: Theorem 5 with its sums cut off by Lemma 5.

    Numbers of reports up to ``cut`` = (1 + Delta) mu, mu = (n - 1) rate, are taken one by one. Larger
    numbers count as cut + 1, with probability e^(-Delta^2 mu/(2 + Delta)).

    Args:
        order: Renyi orders lambda, whole numbers >= 2, any shape.
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        sigma: standard deviation of the noise of one report, > 0, over the largest distance of two records.
        cut: a whole number, at least mu; the paper plots 200 for a mu of about 60.
        dimension: of the records; the printed form has only 1.
        as_printed: whether to evaluate the printed lines 12 and 13 with the sums cut off, with the prefactor
            read as 1/(lambda - 1), which is an estimate.

    Returns:
        An upper bound for either direction of neighbours, rounded up; inf beyond order 2^13, or beyond
        2^27 over the length of the list of numbers of reports where that is less.

    Raises:
        ValueError: an argument is out of range, or an order is not a whole number >= 2.
    """
    n, rate, sigma, dimension = _checked(n, rate, sigma, dimension)
    cut = checks.count("cut", cut)
    if cut < (n - 1) * rate:
        raise ValueError(
            f"cut must be at least (n - 1) rate = {(n - 1) * rate:g}, the mean number of reports, got {cut}"
        )
    if as_printed:
        return _printed(order, n, rate, sigma, others.by_lemma_5(cut), first=3)
    return _theorem_5(order, n, rate, sigma, dimension, others.by_lemma_5(cut))


def _printed(
    order: ArrayLike, n: int, rate: float, sigma: float, law: others.Law, *, first: int
) -> float | FloatArray:
    """Return lines 12 and 13, or 14 and 15, with the printed moments and exponents, over k >= 1 by ``law``.

    The sum over l with a factor 3 begins at ``first``.
    """
    orders = checks.integer_orders(order)
    moments = _printed_moments(law, n - 1, rate, sigma)
    log_rate, log_rest = math.log(rate), math.log1p(-rate)

    def bound(lam: float) -> float:
        if lam > moments.largest_order:
            return math.inf
        top = int(lam)
        pairs = numerics.log_binomial(lam, np.array([2.0])) + 2 * log_rate + (lam - 2) * log_rest
        j, m = np.arange(3.0, top + 1), np.arange(float(first), top + 1)
        alone = numerics.log_binomial(lam, j) + (lam - j) * log_rate + (n + j - 1) * log_rest
        more = numerics.log_binomial(lam, m) + (lam - m) * log_rate + m * log_rest
        parts = [
            np.array([(lam - 1) * log_rest + math.log(lam * rate - rate + 1)]),
            pairs + moments.upto(2),
            pairs + (n - 1) * log_rest + 1 / sigma**2,
            math.log(3) + alone + j * (j - 1) / (2 * sigma**2),
            math.log(3) + more + moments.upto(top)[first - 2 :],
        ]
        return max(float(special.logsumexp(np.concatenate(parts))), 0.0) / (lam - 1)

    return checks.like_input(np.array([bound(lam) for lam in orders.ravel().tolist()]).reshape(orders.shape))
