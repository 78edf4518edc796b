"""The library's bounds against what they bound, by enumeration of small mechanisms."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from shuffledp import approximate_dp, rdp
from shuffledp.approximate_dp import composition

from . import exact
from .exact import mp, number
from .tolerances import CLOSE, CLOSE_AT_EXTREMES, CLOSED_FORM, OPTIMAL_ABSOLUTE, assert_lower, assert_upper


def eps0_of(randomiser):
    """log of its largest ratio, rounded up: a float at which it is eps0-LDP."""
    return math.nextafter(math.log(exact.local_ratio(randomiser)), math.inf)


def staircase(*weights):
    """The randomiser whose inputs permute these weights cyclically."""
    total = sum(weights)
    return tuple(
        tuple(Fraction(weights[(symbol - shift) % len(weights)]) / total for symbol in range(len(weights)))
        for shift in range(len(weights))
    )


def drawn(seed, inputs, symbols):
    weights = np.random.default_rng(seed).integers(1, 9, size=(inputs, symbols)).tolist()
    return tuple(tuple(Fraction(weight, sum(row)) for weight in row) for row in weights)


# Columns with entries of two sizes only, a factor e^eps0 apart, are the extreme points among eps0-LDP
# randomisers.
EXTREMAL = {
    "rr2-weak": staircase(Fraction(21, 20), 1),
    "rr2": staircase(2, 1),
    "rr2-strong": staircase(9, 1),
    "rr3": staircase(3, 1, 1),
    "subset-of-3": staircase(4, 4, 1),
    "rr2-and-silence": (
        (Fraction(3, 6), Fraction(1, 6), Fraction(2, 6)),
        (Fraction(1, 6), Fraction(3, 6), Fraction(2, 6)),
    ),
}
RANDOM = {f"random{seed}": drawn(seed, 2 + seed % 2, 2 + seed // 2 % 2) for seed in range(8)}
RANDOMISERS = EXTREMAL | RANDOM
over_randomisers = pytest.mark.parametrize("name", RANDOMISERS)


def response(eps0):
    """Two-symbol randomised response at exactly the float eps0: the reports of 0 and of 1."""
    flip = 1 / (1 + mp.exp(number(eps0)))
    return (1 - flip, flip), (flip, 1 - flip)


# Theorem 4, Lemma 2, Theorems 1 and 2


@over_randomisers
@pytest.mark.few(7)
def test_theorem4_bounds_the_ternary_divergence(name):
    randomiser = RANDOMISERS[name]
    for k, order in product((2, 3, 5), (2, 3, 3.5, 4, 5)):
        worst = exact.worst_ternary(randomiser, k, order)
        assert worst > 0
        assert worst <= rdp.girgis2021_ternary(order, k=k, eps0=eps0_of(randomiser))


@pytest.mark.parametrize("eps0", [0.2, 1.0, 3.0])
def test_theorem4_bounds_the_ternary_divergence_of_many_reports(eps0):
    """Randomised response of 0, ..., 0, 1 against 0, ..., 0, 0 relative to the latter: k large enough for the
    concentrated part of the theorem to count."""
    for k, order in product((20, 200, 2000), (2, 3, 4, 6)):
        worst = mp.fsum(mass * abs(ratio - 1) ** order for ratio, mass in shuffled_responses(k, eps0))
        assert worst <= number(rdp.girgis2021_ternary(order, k=k, eps0=eps0))


@over_randomisers
@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 2), (4, 4), (5, 2), (6, 3)])
@pytest.mark.few(22)
def test_lemma2_and_theorem1_bound_the_subsampled_shuffle(name, n, k):
    randomiser = RANDOMISERS[name]
    zeta_powers = {j: exact.worst_ternary(randomiser, k, j) for j in range(2, 6)}
    for order in range(2, 6):
        worst = exact.worst_renyi(randomiser, n, k, order)
        assert worst > 0
        # equality at order 2, up to the 50 digits
        assert worst <= exact.lemma2(order, Fraction(k, n), zeta_powers) * (1 + mp.mpf(10) ** -40)
        assert worst <= number(rdp.girgis2021_upper(order, n=n, k=k, eps0=eps0_of(randomiser)))


@pytest.mark.parametrize("eps0", [1e-4, 0.3, 1.0, 4.0])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (3, 2), (5, 5), (6, 3), (9, 4)])
def test_theorem2_is_the_divergence_of_randomised_response(n, k, eps0):
    zero, one = response(eps0)
    without, with_one = (
        exact.subsampled_law((zero,) * n, k),
        exact.subsampled_law((zero,) * (n - 1) + (one,), k),
    )
    for order in (2, 3, 5, 12):
        divergence = exact.renyi(with_one, without, order)
        assert_lower(rdp.girgis2021_lower(order, n=n, k=k, eps0=eps0), divergence, CLOSE)


@pytest.mark.parametrize("name", ["rr2-weak", "rr2", "rr2-strong"])
@pytest.mark.parametrize(("n", "k"), [(3, 2), (5, 2), (6, 3)])
def test_theorem2_is_below_the_worst_divergence(name, n, k):
    randomiser = EXTREMAL[name]
    eps0 = math.nextafter(math.log(exact.local_ratio(randomiser)), 0)
    for order in range(2, 6):
        lower = number(rdp.girgis2021_lower(order, n=n, k=k, eps0=eps0))
        assert lower <= exact.worst_renyi(randomiser, n, k, order)


# girgis2021ccs and wang2019


@over_randomisers
@pytest.mark.parametrize("n", [1, 2, 5])
def test_girgis2021ccs_bounds_the_shuffle(name, n):
    randomiser = RANDOMISERS[name]
    for order in range(2, 6):
        bound = rdp.girgis2021ccs_shuffle(order, n=n, eps0=eps0_of(randomiser))
        assert 0 < exact.worst_renyi(randomiser, n, n, order) <= number(bound)


@pytest.mark.parametrize("eps0", [0.2, 1.0, 2.0])
def test_girgis2021ccs_bounds_the_shuffle_of_many_reports(eps0):
    """Randomised response, all clients but one hold 0: n large enough for the bound to be far below eps0."""
    outcomes = shuffled_responses(2000, eps0)
    for order in (2, 3, 8):
        bound = number(rdp.girgis2021ccs_shuffle(order, n=2000, eps0=eps0))
        assert bound < eps0 / 2
        for power in (order, 1 - order):  # the two directions
            divergence = mp.log(mp.fsum(mass * ratio**power for ratio, mass in outcomes)) / (order - 1)
            assert 0 < divergence <= bound


@over_randomisers
@pytest.mark.parametrize(("n", "k"), [(2, 1), (4, 2), (6, 3), (6, 5)])
@pytest.mark.few(18)
def test_wang2019_bounds_the_subsampled_shuffle(name, n, k):
    """Fed with the exact curve of the shuffle of k."""
    randomiser = RANDOMISERS[name]
    known = {j: rounded_up(exact.worst_renyi(randomiser, k, k, j)) for j in range(2, 7)}
    eps_inf = rounded_up(exact.worst_loss(randomiser, k))
    for order in range(2, 7):
        worst = exact.worst_renyi(randomiser, n, k, order)
        strict, loose, unlimited = (
            rdp.wang2019_subsampled(
                order,
                gamma=k / n,
                rdp=lambda orders: np.array([known[j] for j in np.asarray(orders).tolist()]),
                eps_inf=limit,
                loose=form,
            )
            for form, limit in ((False, eps_inf), (True, eps_inf), (False, math.inf))
        )
        assert 0 < worst <= number(strict) <= number(unlimited)
        assert strict <= loose


def rounded_up(value):
    return math.nextafter(float(value), math.inf)


# Closed forms of the shuffle


def shuffled_responses(n, eps0):
    """Likelihood ratio and probability of the number m of ones among n responses of clients that hold 0; the
    ratio is that of one of them holding 1 instead."""
    e = mp.exp(number(eps0))
    mass, outcomes = (e / (e + 1)) ** n, []
    for m in range(n + 1):
        outcomes.append(((m * e + (n - m) / e) / n, mass))
        mass *= mp.mpf(n - m) / (m + 1) / e
    return outcomes


def eps_of_equal_data(n, eps0, delta):
    """Exact epsilon of randomised response, all clients but one hold 0."""
    p = {m: ratio * mass for m, (ratio, mass) in enumerate(shuffled_responses(n, eps0))}
    q = {m: mass for m, (_, mass) in enumerate(shuffled_responses(n, eps0))}
    return exact.eps_between(p, q, number(delta))


def eps_of_arrays(p, q, delta):
    """Epsilon of two laws given as arrays, in float64: good to ten digits at the deltas used here."""
    kept = (p > 1e-30) & (q > 1e-30)
    p, q = dict(enumerate(p[kept].tolist())), dict(enumerate(q[kept].tolist()))
    return exact.eps_between(p, q, delta)


def eps_of_mixed_data(n, eps0, delta):
    """Epsilon of randomised response, half of the other clients hold 1."""
    flip = 1 / (1 + math.exp(eps0))
    ones = (n - 1) // 2
    others = np.convolve(
        stats.binom.pmf(np.arange(ones + 1), ones, 1 - flip),
        stats.binom.pmf(np.arange(n - ones), n - 1 - ones, flip),
    )
    return eps_of_arrays(np.convolve(others, [1 - flip, flip]), np.convolve(others, [flip, 1 - flip]), delta)


def eps_of_third_symbol(n, eps0, delta):
    """Epsilon of three-symbol randomised response: 1 against 2, all others hold 3."""
    own, other = math.exp(eps0) / (math.exp(eps0) + 2), 1 / (math.exp(eps0) + 2)
    h1, h2 = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    rest = np.zeros((n + 1, n + 1))
    inside = h1 + h2 < n
    rest[:n, :n][inside] = stats.multinomial.pmf(
        np.stack([h1, h2, n - 1 - h1 - h2], axis=-1)[inside], n - 1, [other, other, own]
    )
    from_1, from_2, from_3 = np.roll(rest, 1, axis=0), np.roll(rest, 1, axis=1), rest
    p = own * from_1 + other * from_2 + other * from_3
    q = other * from_1 + own * from_2 + other * from_3
    return eps_of_arrays(p, q, delta)


CLOSED_FORMS = {"feldman2021": approximate_dp.feldman2021, "balle2019": approximate_dp.balle2019}


@pytest.mark.parametrize("form", CLOSED_FORMS)
@pytest.mark.parametrize(
    ("exact_eps", "n", "eps0", "delta"),
    [
        (eps_of_equal_data, 400, 0.1, 1e-4),
        (eps_of_equal_data, 400, 0.8, 1e-4),
        (eps_of_equal_data, 2000, 0.5, 1e-6),
        (eps_of_equal_data, 2000, 1.5, 1e-8),
        (eps_of_equal_data, 2000, 2.5, 1e-3),
        (eps_of_mixed_data, 3000, 1.0, 1e-6),
        (eps_of_mixed_data, 3000, 2.0, 1e-3),
        (eps_of_third_symbol, 200, 0.3, 1e-3),
        (eps_of_third_symbol, 300, 0.5, 1e-3),
        (eps_of_third_symbol, 200, 0.1, 1e-4),
    ],
)
def test_closed_forms_bound_the_shuffle(form, exact_eps, n, eps0, delta):
    found = CLOSED_FORMS[form](n=n, eps0=eps0, delta=delta)
    expected = exact_eps(n, eps0, delta)
    assert found.applicable
    assert found.delta == delta
    assert 0 < expected <= found.eps


@over_randomisers
def test_closed_forms_fall_back_on_the_local_guarantee(name):
    """With five clients neither theorem applies, and pure eps0-DP must hold."""
    randomiser, delta = RANDOMISERS[name], 1e-3
    for function in CLOSED_FORMS.values():
        found = function(n=5, eps0=eps0_of(randomiser), delta=delta)
        assert not found.applicable
        assert exact.worst_loss(randomiser, 5) <= number(found.eps)


@pytest.mark.parametrize(
    ("n", "eps0", "delta"), [(100, 0.1, 1e-2), (1000, 1.0, 1e-6), (10**5, 2.0, 1e-8), (10**9, 4.0, 1e-12)]
)
def test_balle2019_is_its_explicit_bound(n, eps0, delta):
    """delta(eps) <= w^2 / (4 a g n) (1 - g (1 - exp(-2 a^2 / w^2)))^n with a = e^eps - 1, w = g (e^eps0 - 1)
    (1 + e^eps), at its largest over the mass g of the blanket."""
    masses = np.exp(np.linspace(-eps0, 0, 100001))

    def log_delta(eps):
        gap, width = math.expm1(eps), masses * math.expm1(eps0) * (1 + math.exp(eps))
        tail = n * np.log1p(masses * np.expm1(-2 * (gap / width) ** 2))
        return np.max(np.log(width**2 / (4 * gap * masses * n)) + tail)

    eps = approximate_dp.balle2019(n=n, eps0=eps0, delta=delta).eps
    assert log_delta(eps) <= math.log(delta)
    assert log_delta(0.995 * eps) > math.log(delta)


# Composition


def test_composed_delta_of_the_reference_is_that_of_the_product():
    """Three rounds, all eight outcomes."""
    zero, one = response(0.4)
    for target in (0.0, 0.1, 0.4, 0.9):
        outcomes = list(product((0, 1), repeat=3))
        p, q = ([mp.fprod(law[bit] for bit in bits) for bits in outcomes] for law in (zero, one))
        expected = sum(max(a - mp.exp(number(target)) * b, 0) for a, b in zip(p, q, strict=True))
        assert abs(exact.composed_delta(0.4, 3, target) - expected) < mp.mpf(10) ** -45


def check_optimal(eps, delta, rounds, total, absolute=OPTIMAL_ABSOLUTE):
    value = composition.kairouz2015(eps=eps, delta=delta, rounds=rounds, total_delta=total, method="optimal")
    left = exact.slack(delta, rounds, total)
    expected = exact.composed_eps(eps, rounds, left)
    if expected == 0:
        assert value == 0
    else:
        assert exact.composed_delta(eps, rounds, value) <= left
        assert exact.composed_delta(eps, rounds, expected * (1 - number(CLOSE))) > left
        assert_upper(value, expected, CLOSE_AT_EXTREMES + absolute / float(expected))
    formula = composition.kairouz2015(eps=eps, delta=delta, rounds=rounds, total_delta=total)
    assert value <= formula


OPTIMAL = [
    (eps, rounds, total)
    for eps in (1e-3, 0.05, 0.5, 2.0)
    for rounds, totals in (
        (1, [0.4, 1e-3, 1e-8]),
        (2, [0.4, 1e-3, 1e-8]),
        (10, [0.4, 1e-3, 1e-8]),
        (101, [0.4, 1e-3, 1e-10, 1e-30]),
        (350, [0.4, 1e-3, 1e-10, 1e-30]),
        (1000, [1e-3, 1e-10, 1e-100]),
        (10**4, [1e-3, 1e-10, 1e-100]),
    )
    for total in totals
    if rounds * eps <= 500  # the next two tests go beyond
]


@pytest.mark.parametrize(("eps", "rounds", "total"), OPTIMAL)
def test_optimal_composition(eps, rounds, total):
    check_optimal(eps, 0.0, rounds, total)


@pytest.mark.parametrize(
    ("eps", "rounds", "total"),
    [(1.75, 411, 1e-8), (2.0, 354, 1e-15), (1.5, 465, 1e-12), (1.75, 393, 1e-25), (0.05, 10**4, 1e-300)],
)
def test_optimal_composition_where_tails_underflow(eps, rounds, total):
    """e^eps fits a float64, the probabilities under Q that it multiplies do not, or not to all digits."""
    check_optimal(eps, 0.0, rounds, total)


@pytest.mark.parametrize("total", [0.4, 1e-3, 1e-10, 1e-30])
def test_optimal_composition_where_the_threshold_overflows(total):
    """e^eps is beyond float64, the optimum is not: 0.26 % lie between it and what ignoring Q gives."""
    check_optimal(2.0, 0.0, 1000, total)


@pytest.mark.parametrize(
    ("eps", "rounds", "total"), [(1e-4, 1, 1e-10), (1e-4, 10, 1e-10), (1e-4, 1000, 1e-3), (1e-6, 1000, 1e-6)]
)
def test_optimal_composition_of_small_eps(eps, rounds, total):
    """To a relative, not an absolute tolerance."""
    check_optimal(eps, 0.0, rounds, total, absolute=0.0)


@pytest.mark.parametrize(("eps", "rounds"), [(0.05, 10), (1e-4, 10), (0.25, 8), (0.7, 10)])
def test_composition_at_its_cap_is_rounded_up(eps, rounds):
    """At so small a delta nothing is better than rounds * eps, a product that the float may round down."""
    for method in composition.METHODS:
        value = composition.kairouz2015(eps=eps, delta=0.0, rounds=rounds, total_delta=1e-100, method=method)
        assert_upper(value, rounds * number(eps), CLOSED_FORM)


@pytest.mark.parametrize(
    ("eps", "rounds", "total"),
    [
        (1e-3, 10**5, 1e-8),
        (1e-3, 10**6, 1e-12),
        (6e-3, 10**5, 1e-5),
        (1e-4, 2 * 10**6, 1e-8),
        (0.01, 10**5, 1e-30),
    ],
)
@pytest.mark.few(3)
def test_optimal_composition_of_many_rounds(eps, rounds, total):
    check_optimal(eps, 0.0, rounds, total)


@pytest.mark.parametrize(
    ("eps", "delta", "rounds", "total"),
    [(0.1, 1e-9, 100, 1e-6), (0.1, 9.9e-9, 100, 1e-6), (1.0, 1e-3, 5, 0.1), (0.01, 1e-15, 2000, 1e-8)],
)
def test_optimal_composition_with_delta(eps, delta, rounds, total):
    check_optimal(eps, delta, rounds, total)


def test_rounds_that_use_up_delta_have_no_guarantee():
    for method in composition.METHODS:
        assert (
            composition.kairouz2015(eps=0.1, delta=1e-3, rounds=106, total_delta=0.1, method=method)
            == math.inf
        )


@pytest.mark.parametrize(
    ("delta", "expected"), [(1e-10, 43.6246), (1e-15, 51.5498), (1.1e-18, 55.5814), (1e-30, 69.1666)]
)
def test_optimal_composition_at_tiny_delta(delta, expected):
    """Where a plain float64 FFT of the loss fails: 10000 rounds of randomised response at eps0 = 0.05."""
    assert mp.nstr(exact.composed_eps(0.05, 10**4, number(delta)), 6) == str(expected)
    value = composition.kairouz2015(eps=0.05, delta=0.0, rounds=10**4, total_delta=delta, method="optimal")
    assert exact.composed_eps(0.05, 10**4, number(delta)) <= number(value) <= 1.01 * expected
    check_optimal(0.05, 0.0, 10**4, delta)
