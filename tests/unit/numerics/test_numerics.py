"""The log-space building blocks, against scipy where it is accurate and mpmath at 60 digits and more."""

from __future__ import annotations

import functools
import math

import mpmath
import numpy as np
import pytest
from scipy import special, stats

from shuffledp import numerics
from shuffledp.numerics import EPSILON

# Rounding of a value built from a handful of terms of its own size.
FEW_ULPS = 1e-14
# scipy's own error in binom.pmf, for up to 1e6 trials and 12 standard deviations from the mean.
SCIPY = 1e-10
# What girgis2021_lower allows for in the logarithm of one probability: 16 rounding errors times sqrt(k).
PMF_SLACK = 16 * EPSILON
# Sums whose terms are given to full accuracy.
SUM = 1e-12


@pytest.fixture(autouse=True)
def _sixty_digits():
    with mpmath.workdps(60):
        yield


def log_choose(n, j):
    n, j = mpmath.mpf(n), mpmath.mpf(j)
    return mpmath.loggamma(n + 1) - mpmath.loggamma(j + 1) - mpmath.loggamma(n - j + 1)


@pytest.mark.parametrize("x", [1e-300, 1e-20, 1e-9, 0.5, 1.0, 30.0, 700.0, 800.0, 1e5])
def test_log_expm1(x):
    with mpmath.workdps(400):
        exact = float(mpmath.log(mpmath.expm1(mpmath.mpf(x))))
    assert numerics.log_expm1(x) == pytest.approx(exact, rel=FEW_ULPS, abs=0)


@pytest.mark.parametrize("n", [1, 2, 5, 15, 16, 17, 100, 10**6, 10**12])
def test_stirling_error(n):
    n = mpmath.mpf(n)
    exact = mpmath.loggamma(n + 1) - mpmath.log(mpmath.sqrt(2 * mpmath.pi * n)) - n * mpmath.log(n / mpmath.e)
    # below 16 it is a difference of numbers of size n log(n), and all that is wanted is its absolute error
    assert float(numerics.stirling_error(np.array(float(n)))) == pytest.approx(
        float(exact), rel=FEW_ULPS, abs=FEW_ULPS
    )


@pytest.mark.parametrize("p", [0.5, 0.2689414213699951, 1e-3, 1 - 1e-3])
@pytest.mark.parametrize("k", [1, 2, 3, 10, 100, 1000, 10**6])
def test_log_binomial_pmf_against_scipy(k, p):
    spread = 12 * math.sqrt(k * p * (1 - p)) + 2
    low, high = max(0, math.floor(k * p - spread)), min(k, math.ceil(k * p + spread))
    m = np.unique(np.linspace(low, high, 200).round())
    logs = numerics.log_binomial_pmf(m, k, math.log(p), math.log1p(-p))
    assert np.exp(logs) == pytest.approx(stats.binom.pmf(m, k, p), rel=SCIPY, abs=0)


@pytest.mark.parametrize("p", [0.5, 0.2689414213699951, 1e-3, 1e-9, 1e-20, 1 - 1e-3])
@pytest.mark.parametrize("k", [2, 10, 10**3, 10**6, 10**9, 10**12])
def test_log_binomial_pmf_against_mpmath(k, p):
    spread = math.sqrt(k * p * (1 - p))
    near = {round(k * p + z * spread) for z in (-8, -3, -1, 0, 1, 3, 8)}
    for m in sorted(j for j in near | {0, 1, 2, k // 2, k - 1, k} if 0 <= j <= k):
        # not from the rounded logarithms: k times their error is what the saddle-point form avoids
        exact = log_choose(k, m) + m * mpmath.log(mpmath.mpf(p)) + (k - m) * mpmath.log1p(-mpmath.mpf(p))
        value = float(numerics.log_binomial_pmf(np.array(float(m)), k, math.log(p), math.log1p(-p)))
        allowed = PMF_SLACK * math.sqrt(k) + 8 * EPSILON * abs(value) + FEW_ULPS
        assert abs(value - exact) <= allowed, m


@pytest.mark.parametrize("k", [1, 2, 100, 5000])
def test_log_binomial_pmf_sums_to_one(k):
    for p in (0.5, 1e-3, 0.999):
        logs = numerics.log_binomial_pmf(np.arange(k + 1.0), k, math.log(p), math.log1p(-p))
        assert math.fsum(np.exp(logs)) == pytest.approx(1.0, rel=SUM)


@pytest.mark.parametrize("k", [1, 2, 10, 1000])
def test_log_binomial_pmf_where_p_underflows(k):
    log_p = -800.0
    for m in {0, 1, k // 2, k}:
        exact = float(log_choose(k, m) + m * mpmath.mpf(log_p))
        value = float(numerics.log_binomial_pmf(np.array(float(m)), k, log_p, -0.0))
        assert value == pytest.approx(exact, rel=FEW_ULPS, abs=0)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16, 17, 100, 2047, 2048, 2049, 10**4, 10**6])
def test_log_binomial(n):
    for j in {0, 1, 2, 3, n // 3, n // 2, n - 2, n - 1, n}:
        if 0 <= j <= n:
            value = float(numerics.log_binomial(n, np.array(float(j))))
            # log C(n, j) is a difference of numbers of size log n!, of which the saddle-point form keeps few
            assert value == pytest.approx(float(log_choose(n, j)), rel=FEW_ULPS, abs=FEW_ULPS), j


@pytest.mark.parametrize("n", [10**9, 10**12])
def test_log_binomial_of_very_many(n):
    for j in (0, 1, 2, 3, 1000, n // 3, n // 2):
        value = float(numerics.log_binomial(n, np.array(float(j))))
        assert value == pytest.approx(float(log_choose(n, j)), rel=FEW_ULPS, abs=FEW_ULPS), j


ORDERS = [1.0001, 1.5, 2.0, 2.5, 3.0, 8.0, 8.5, 9.0, 50.0, 1e3, 1e4, 1e6]
SIZES = [1e-300, 1e-30, 1e-12, 1e-8, 1e-5, 1e-3, 0.03, 0.1, 0.3, 0.4999, 0.5, 0.51, 0.9, 0.999, 1 - 1e-10]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_log_power_excess(order, sign):
    sizes = [*SIZES, 1.0, 3.0, 100.0, 1e10, 1e100, 1e300] if sign > 0 else SIZES
    for size in sizes:
        log_u = math.log(size)
        value = float(numerics.log_power_excess(order, np.array(log_u), sign))
        # the bracket cancels down to its size, u^2
        with mpmath.workdps(50 + 2 * max(0, math.ceil(-math.log10(size)))):
            u, lam = sign * mpmath.exp(mpmath.mpf(log_u)), mpmath.mpf(order)
            exact = float(mpmath.log((1 + u) ** lam - 1 - lam * u))
        # u away from 0 leaves order - 1 as the small factor, and the bracket loses its digits as it shrinks
        allowed = FEW_ULPS * max(1.0, abs(exact)) + 8 * EPSILON / (order - 1)
        assert abs(value - exact) <= allowed, size


@pytest.mark.parametrize("order", [2.0, 3.0, 50.0, 1e6])
def test_log_power_excess_beyond_floating_point(order):
    # (1 + u)^order alone, as u overflows; C(order, 2) u^2 alone, as u underflows
    huge, tiny = 1e4, -1e4
    assert float(numerics.log_power_excess(order, np.array(huge))) == pytest.approx(
        order * huge, rel=FEW_ULPS
    )
    pairs = math.log(order) + math.log((order - 1) / 2)
    for sign in (1.0, -1.0):
        value = float(numerics.log_power_excess(order, np.array(tiny), sign))
        assert value == pytest.approx(pairs + 2 * tiny, rel=FEW_ULPS)


def test_log_power_excess_at_the_ends():
    assert numerics.log_power_excess(2.5, np.array([-math.inf]))[0] == -math.inf
    # u = -1: the bracket is order - 1
    assert numerics.log_power_excess(2.5, np.array([0.0]), -1.0)[0] == pytest.approx(math.log(1.5), rel=SUM)


def test_log_power_excess_broadcasts_signs():
    log_u = np.array([math.log(0.3), math.log(0.3)])
    both = numerics.log_power_excess(3.0, log_u, np.array([1.0, -1.0]))
    assert both == pytest.approx([math.log(3 * 0.09 + 0.027), math.log(3 * 0.09 - 0.027)], rel=SUM)


def test_log_sum_exp():
    values = np.array([-1000.0, -1001.0, -1003.5])
    exact = -1000 + math.log(1 + math.exp(-1) + math.exp(-3.5))
    assert numerics.log_sum_exp(values) == pytest.approx(exact, rel=FEW_ULPS)
    assert numerics.log_sum_exp(np.array([-math.inf, -math.inf])) == -math.inf
    assert numerics.log_sum_exp(np.array([0.0, math.inf])) == math.inf


def _parabola(j):
    return -0.5 * ((j - 70_000.0) / 300.0) ** 2


def _binomial(n, log_rate):
    return lambda j: numerics.log_binomial(n, j) + j * log_rate


# name -> terms, first, last, exact log of the sum (None: from the terms themselves, at 60 digits)
CONCAVE = {
    "short": (_parabola, 69_500, 70_500, None),
    "parabola": (_parabola, 0, 200_000, None),
    "parabola, left of its peak": (_parabola, 0, 69_000, None),
    "parabola, right of its peak": (_parabola, 70_500, 200_000, None),
    "flat": (np.zeros_like, 1, 300_000, math.log(300_000)),
    "falling": (lambda j: -0.25 * j, 0, 10**12, -math.log(-math.expm1(-0.25))),
    "rising": (lambda j: 0.25 * (j - 10**9), 0, 10**9, -math.log(-math.expm1(-0.25))),
    "one term": (lambda j: j * 3.0, 5, 5, 15.0),
    "binomial": (_binomial(1e6, math.log(1e-3)), 0, 10**6, 1e6 * math.log1p(1e-3)),
}


def exact_log_sum(name):
    term, first, last, exact = CONCAVE[name]
    if exact is not None:
        return exact
    terms = term(np.arange(first, last + 1, dtype=np.float64))
    kept = terms[terms > terms.max() - 100]
    return float(mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(value)) for value in kept.tolist())))


@pytest.mark.parametrize("name", CONCAVE)
def test_log_sum_concave_is_exact(name):
    term, first, last, _ = CONCAVE[name]
    exact = exact_log_sum(name)
    tolerance = SUM if name != "binomial" else 1e-11  # its terms are themselves rounded at size 1e3
    assert numerics.log_sum_concave(term, first, last) == pytest.approx(
        exact, abs=tolerance * max(1, abs(exact))
    )


@pytest.mark.parametrize("nats", [0.5, 2.0, 10.0])
@pytest.mark.parametrize("name", CONCAVE)
def test_log_sum_concave_bounds_from_above_what_it_cuts_off(name, nats, monkeypatch):
    # At 60 nats the cut-off part is far below rounding; a narrow window makes it count.
    monkeypatch.setattr(numerics.concave_sums, "NEGLIGIBLE", nats)
    term, first, last, _ = CONCAVE[name]
    value, exact = numerics.log_sum_concave(term, first, last), exact_log_sum(name)
    assert value >= exact - SUM * max(1, abs(exact))
    assert value <= exact + 4 * math.exp(-nats) + 1e-9


@pytest.mark.parametrize("nats", [0.5, 10.0, 60.0])
@pytest.mark.parametrize("slopes", [(-0.3, 0.2), (-1e-3, 1e-3), (0.1, 0.1)])
def test_a_sum_of_concave_sequences_is_bounded_from_above(slopes, nats, monkeypatch):
    monkeypatch.setattr(numerics.concave_sums, "NEGLIGIBLE", nats)
    monkeypatch.setattr(numerics.concave_sums, "_FULL_SUM", 4)
    weights = np.array([math.log(0.2), math.log(0.8)])
    base = _binomial(300, math.log(1.0))

    def term(j):
        return base(j) + special.logsumexp(weights[:, None] + np.array(slopes)[:, None] * j, axis=0)

    ends = tuple(lambda j, slope=slope: base(j) + slope * j for slope in slopes)
    exact = special.logsumexp(weights + 300 * np.log1p(np.exp(slopes)))
    value = numerics.log_sum_concave(term, 0, 300, ends=ends)
    assert exact - 1e-10 <= value <= exact + 4 * math.exp(-nats) + 1e-9


@pytest.mark.parametrize("count", [1, 2, 50])
@pytest.mark.parametrize("slope", [0.0, 1e-9, 0.01, 2.0])
def test_what_is_cut_off_is_bounded_by_equal_terms_and_by_a_geometric_series(slope, count):
    edge = -3.0
    bound = numerics.concave_sums._log_tail(edge, edge + slope, count)
    exact = float(special.logsumexp(edge - slope * np.arange(1.0, count + 1)))
    assert exact - SUM <= bound <= edge + math.log(count)
    assert numerics.concave_sums._log_tail(edge, edge + slope, 0) == -math.inf


@pytest.mark.parametrize("name", CONCAVE)
def test_concave_window_leaves_out_negligible_terms_only(name):
    term, first, last, _ = CONCAVE[name]
    low, high = numerics.concave_window(term, first, last)
    assert first <= low <= high <= last
    top = float(np.max(term(np.arange(low, high + 1, dtype=np.float64))))
    for inside, outside, end in ((low, low - 1, first), (high, high + 1, last)):
        if inside == end:
            continue
        dropped = float(term(np.array([float(outside)]))[0])
        assert dropped < top - numerics.NEGLIGIBLE
        assert dropped > top - 2 * numerics.NEGLIGIBLE  # else the window is needlessly wide


def test_concave_cut_lies_past_the_peak_and_below_the_floor():
    cut = numerics.concave_cut(_parabola, 0, 200_000, -10.0)
    exact = 70_000 + 300 * math.sqrt(2 * (10 + numerics.NEGLIGIBLE))
    assert exact - 1 <= cut <= exact + 0.1 * (exact - 70_000)
    # nothing to cut off, and everything past the peak
    assert numerics.concave_cut(_parabola, 0, 70_010, -10.0) == 70_010
    assert 70_000 <= numerics.concave_cut(_parabola, 0, 200_000, 1e6) <= 70_001


SWITCH = 2048  # up to this order every term is summed, beyond it a window
TRANSFORM_ORDERS = [3, 4, 10, 100, 1000, SWITCH - 1, SWITCH, SWITCH + 1, 4000, 10**5, 10**6]


def exact_power_sum(order, log_rate, first):
    with mpmath.workdps(100):  # (1 + rate)^order less its first terms cancels
        x = mpmath.exp(mpmath.mpf(log_rate))
        return mpmath.log((1 + x) ** order - sum(mpmath.binomial(order, j) * x**j for j in range(first)))


@pytest.mark.parametrize("order", TRANSFORM_ORDERS)
@pytest.mark.parametrize("first", [2, 3])
def test_log_binomial_transform_of_powers(order, first):
    for rate in (1e-9, 1e-4, 0.3, 1.0, 50.0):
        log_rate = math.log(rate)
        coefficients = functools.partial(np.multiply, log_rate)
        value = numerics.log_binomial_transform(np.array([float(order)]), coefficients, first=first)[0]
        exact = exact_power_sum(order, log_rate, first)
        assert value >= exact, rate
        # the terms are sums of numbers as large as log order! and order log(rate), each of them rounded
        assert value <= exact + 8 * EPSILON * order * (math.log(order) + abs(log_rate)), rate


def test_log_binomial_transform_of_many_orders_at_once():
    # orders up to the switch share one allowance for rounding, that of the largest among them
    log_rate = math.log(1e-4)
    values = numerics.log_binomial_transform(
        np.array(TRANSFORM_ORDERS, dtype=np.float64), lambda j: j * log_rate, first=3
    )
    for order, value in zip(TRANSFORM_ORDERS, values.tolist(), strict=True):
        exact = exact_power_sum(order, log_rate, 3)
        largest = max(order, SWITCH)
        assert exact <= value <= exact + 8 * EPSILON * largest * (math.log(largest) - log_rate), order


@pytest.mark.parametrize("order", [SWITCH - 1, SWITCH, SWITCH + 1])
def test_log_binomial_transform_of_gamma_coefficients(order):
    # the shape of Theorem 1's sum: a half-factorial against powers of a small rate
    def coefficient(j):
        return np.vectorize(math.lgamma)(j / 2) + np.log(j) + j * math.log(3e-4)

    j = np.arange(3, order + 1, dtype=np.float64)
    terms = [
        log_choose(order, index) + mpmath.mpf(value)
        for index, value in zip(range(3, order + 1), coefficient(j).tolist(), strict=True)
    ]
    exact = mpmath.log(mpmath.fsum(mpmath.exp(term) for term in terms))
    value = numerics.log_binomial_transform(np.array([float(order)]), coefficient, first=3)[0]
    assert exact <= value <= exact + 1e-10


def test_log_binomial_transform_is_the_same_on_both_sides_of_the_switch(monkeypatch):
    orders = np.array([200.0, 1000.0, 2000.0])
    full = numerics.log_binomial_transform(orders, lambda j: j * math.log(0.01), first=3)
    monkeypatch.setattr(numerics.concave_sums, "_FULL_SUM", 100)
    windowed = numerics.log_binomial_transform(orders, lambda j: j * math.log(0.01), first=3)
    assert (full != windowed).any()  # the other path was taken
    assert windowed == pytest.approx(full, abs=1e-10)


def test_log_binomial_transform_of_an_empty_sum():
    values = numerics.log_binomial_transform(np.array([2.0, 3.0]), np.zeros_like, first=3)
    assert values[0] == -math.inf
    assert values[1] == pytest.approx(0.0, abs=SUM)
    assert numerics.log_binomial_transform(np.array([]), np.zeros_like, first=3).shape == (0,)


def test_last_true_finds_the_end_of_the_stretch():
    limit = np.array([0.1, math.sqrt(2), 3.0])
    found = numerics.last_true(lambda x: x < limit, np.zeros(3), np.full(3, 10.0))
    assert (found >= limit).all()  # on the side where the condition fails
    assert found == pytest.approx(limit, rel=2 * EPSILON * 10)


def test_last_true_at_the_ends_of_its_bracket():
    low, high = np.array([1.0, 1.0]), np.array([5.0, 5.0])
    assert (numerics.last_true(lambda x: x < 0.0, low, high) == low).all()
    assert numerics.last_true(lambda x: x < 7.0, low, high) == pytest.approx(high, rel=0, abs=0)


def test_last_true_leaves_its_arguments_alone():
    low, high = np.array([0.0]), np.array([5.0])
    numerics.last_true(lambda x: x < 2.0, low, high)
    assert (low == 0.0).all()
    assert (high == 5.0).all()


def test_crossing_ends_just_above_the_root():
    roots = np.array([1e-9, 0.3, 2.0, 7.0])
    found = numerics.crossing(lambda x: roots**2 - x**2, np.zeros(4), np.full(4, 10.0))
    assert (found >= roots).all()
    assert found == pytest.approx(roots, rel=2.0**-39, abs=0)


def test_crossing_with_heights_that_jump_or_are_infinite():
    steps = np.array([0.1, 3.0])
    with np.errstate(divide="ignore"):
        found = numerics.crossing(
            lambda x: np.where(x < steps, 1.0, -np.inf), np.zeros(2), np.array([10.0, 3.0])
        )
    assert found == pytest.approx(steps, rel=2.0**-39, abs=0)
    assert (found >= steps).all()


def test_crossing_at_the_ends_of_its_bracket():
    low, high = np.array([1.0, 1.0, 1.0]), np.array([5.0, 5.0, 1.0])
    found = numerics.crossing(lambda x: np.array([-1.0, 1.0, 0.0]) + 0 * x, low, high)
    assert found.tolist() == [1.0, 5.0, 1.0]


@pytest.mark.parametrize("power", [0.2, 1.0, 6.0])
def test_crossing_looks_rarely_at_smooth_functions(power):
    looks = []

    def height(x):
        looks.append(x)
        return -np.log(np.maximum(x, 1e-300)) * power - 3

    numerics.crossing(height, np.zeros(1), np.ones(1))
    assert len(looks) < 20
