"""The ends of every support: where a loss is next to the largest one, or next to none, values stay on their
side and keep their digits, against values at 50 digits."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from shuffledp import accountants, numerics, profiles
from shuffledp.distributions.tilted_binomials import TiltedBinomials, binomial_blocks

from .exact import mp, number

CLONES = {"feldman2022": lambda e: 2 / (e + 1), "feldman2021": lambda e: 1 / e}


def clones_profile(eps, n, eps0, analysis):
    """The profile of the clones pair, number of clones by number of clones."""
    if eps >= eps0:
        return mp.mpf(0)
    with mp.workdps(90):  # of which next to eps0 some cancel
        e, growth = mp.exp(number(eps0)), mp.exp(number(eps))
        share, tilt = CLONES[analysis](e), (e - 1) / (e + 1)
        total = mp.mpf(0)
        for clones in range(n):
            weight = mp.binomial(n - 1, clones) * share**clones * (1 - share) ** (n - 1 - clones)
            coins = clones + 1
            for a in range(coins + 1):
                x = tilt * (2 * a - coins) / coins
                more = max(1 + x - growth * (1 - x), mp.mpf(0))
                total += weight * mp.binomial(coins, a) / mp.mpf(2) ** coins * more
        return +total


def next_to(largest):
    """Points on both sides of the end of a support at ``largest``, of its start at 0, and between."""
    ends = [largest * (1 - gap) for gap in (1e-5, 1e-10, 1e-13, 4e-16)]
    beyond = [np.nextafter(largest, 0), largest, np.nextafter(largest, math.inf)]
    return [*ends, *beyond, largest / 2, largest * 1e-9, 5e-324, 0.0, -5e-324, -largest * 1e-9, -largest]


@pytest.mark.parametrize("analysis", CLONES)
@pytest.mark.parametrize("eps0", [1e-12, 1e-5, 0.5, 1.7, 12.0, 40.0])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_clones_at_the_ends_of_their_support(n, eps0, analysis):
    points = next_to(eps0)
    lower, upper = (
        profiles.clones(points, n=n, eps0=eps0, analysis=analysis, bound=bound)
        for bound in ("lower", "upper")
    )
    for eps, low, high in zip(points, lower.tolist(), upper.tolist(), strict=True):
        truth = clones_profile(eps, n, eps0, analysis)
        assert low <= truth <= high, eps
        # where outcomes tie, rounding is that of the larger of two numbers
        assert high <= float(truth) * (1 + 1e-7) + 1e-17 * eps0, eps


def test_clones_just_below_eps0_as_reported():
    assert profiles.clones(9.9999e-13, n=5, eps0=1e-12, analysis="feldman2021") == pytest.approx(
        3.125e-19, rel=1e-9
    )
    assert profiles.clones(0.49999999999999983, n=1, eps0=0.5) == pytest.approx(1.0366e-16, rel=1e-4)


def test_a_pair_without_its_largest_losses_has_them_from_its_tilts():
    """Next to the end of the support what is not known counts for an upper bound, and not for a lower one."""
    eps0 = np.array([1e-9, 0.7, 30.0])
    tilts, gaps = np.tanh(eps0 / 2), 2 / (1 + np.exp(eps0))
    for one, (tilt, gap) in zip(eps0.tolist(), zip(tilts, gaps, strict=True), strict=True):
        for eps in (one * (1 - 1e-12), np.nextafter(one, 0)):
            truth = clones_profile(eps, 1, one, "feldman2022")
            given = [np.ones(1), np.ones(1), np.full(1, tilt), np.full(1, gap), 0.0, 60.0]
            for bound, side in (("upper", 1), ("lower", -1)):
                value, error = TiltedBinomials(*given, bound).hockey_stick(np.full(1, eps))
                assert side * (value[0] * (1 + side * numerics.OUTWARD) + side * error[0]) >= side * truth


@functools.cache
def coin_tail(least, coins):
    """P[a >= least] for fair coins, by the continued fraction of the incomplete beta function."""
    a, b, x = mp.mpf(least), mp.mpf(coins - least + 1), mp.mpf(1) / 2
    c, d = mp.mpf(1), 1 / (1 - (a + b) * x / (a + 1))
    found = d
    for i in range(1, 200000):
        for term in (
            i * (b - i) * x / ((a - 1 + 2 * i) * (a + 2 * i)),
            -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 1 + 2 * i)),
        ):
            d, c = 1 / (1 + term * d), 1 + term / c
            found *= d * c
        if abs(d * c - 1) < mp.mpf(10) ** -30:
            break
    return found / a * mp.exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + (a + b) * mp.log(x))


def log_gamma(x):
    """Stirling's series, for large x."""
    series = sum(mp.bernoulli(2 * k) / (2 * k * (2 * k - 1) * x ** (2 * k - 1)) for k in range(1, 20))
    return (x - 0.5) * mp.log(x) - x + mp.log(2 * mp.pi) / 2 + series


@pytest.mark.parametrize("coins", [10**5, 10**9, 10**13, 10**15])
@pytest.mark.parametrize("z", [0.3, 3.0, 8.0])
@pytest.mark.few(5)
def test_many_coins_err_no_more_than_they_say(coins, z):
    """The incomplete beta function knows its place among many coins no better than their number."""
    eps0, eps = 0.5, 2 * math.tanh(0.25) * z / math.sqrt(coins)
    pair = TiltedBinomials(
        np.ones(1),
        np.full(1, float(coins)),
        np.full(1, math.tanh(eps0 / 2)),
        np.full(1, 2 / (1 + math.exp(eps0))),
        0.0,
    )
    value, error = pair.hockey_stick(np.full(1, eps))
    tilt, growth = mp.tanh(mp.mpf(eps0) / 2), mp.exp(mp.mpf(eps))
    slack = 1 - mp.tanh(mp.mpf(eps) / 2) / tilt
    m = int(coins - mp.ceil(coins * slack / 2) + 1)
    tail, following = coin_tail(m, coins), coin_tail(m + 1, coins)
    point = mp.mpf(m) / coins * (tail - following)
    truth = (1 + tilt - (1 - tilt) * growth) * point - (growth - 1) * (tail - point)
    assert abs(value[0] - truth) <= error[0] + numerics.OUTWARD * value[0]
    assert error[0] <= 1e-4 * value[0]


@pytest.mark.parametrize(("trials", "p"), [(10**11, 0.3), (4 * 10**10, 0.01)])
def test_blocks_of_many_values_hold_what_their_values_sum_to(monkeypatch, trials, p):
    setting = {"relative_width": 4e-5, "nats": 300.0}
    grouped = binomial_blocks(trials, math.log(p), math.log1p(-p), **setting)
    monkeypatch.setattr(numerics.concave_sums, "_SMOOTH", 0.0)
    singly = binomial_blocks(trials, math.log(p), math.log1p(-p), relative_width=1e-6, nats=300.0)
    for values, others in ((grouped, singly),):
        mean = float(values.weights @ values.means)
        assert mean == pytest.approx(float(others.weights @ others.means), rel=1e-13)
    assert grouped.weights.sum() == pytest.approx(1, abs=1e-12)
    assert (grouped.low <= grouped.means).all()
    assert (grouped.means <= grouped.high).all()
    # sums up to the end of each block, of which the fine blocks next to it know bounds
    cumulative, fine = np.cumsum(grouped.weights), np.cumsum(singly.weights)
    after = np.searchsorted(singly.high, grouped.high)
    before = np.maximum(after - 1, 0)
    inner = slice(1, -1)
    assert (cumulative[inner] <= fine[after][inner] * (1 + 1e-11)).all()
    assert (cumulative[inner] >= fine[before][inner] * (1 - 1e-11)).all()


def test_sums_of_smooth_terms_by_their_middle():
    """A normal law's density, cut into cells at places that are no multiples of the group."""
    deviation, first = 1e5, np.arange(-1_100_000.0, 1_100_001, 4321)
    last = first + 4320

    def log_term(m, _):
        return -m * m / (2 * deviation**2)

    singly = numerics.cell_sums(log_term, first, last)
    group = numerics.group_size(11 / deviation)
    assert group > 20
    by_middle = numerics.cell_sums(log_term, first, last, group=group)
    np.testing.assert_allclose(by_middle[0], singly[0], rtol=0, atol=2e-12)
    np.testing.assert_allclose(by_middle[1], singly[1], rtol=0, atol=1e-6)


def test_the_accountant_of_numerical_shuffles_at_its_ends():
    """eps where the truth is known in closed form: one report, of which half are drawn in the second case."""
    tiny = {"rounds": 1, "delta": 1e-17}
    found = accountants.epsilon("feldman2021-numerical-strong", n=1, k=1, eps0=1e-12, **tiny)
    # delta = p (1 - e^(eps - eps0)) for p = e^eps0/(e^eps0 + 1)
    e = mp.exp(number(1e-12))
    assert found >= number(1e-12) + mp.log1p(-number(1e-17) * (e + 1) / e)
    assert found <= 1e-12 * (1 + 1e-10)
    for delta in (1e-200, 1e-17, 1e-9):
        for eps0 in (1e-6, 0.1, 3.0):
            given = {"n": 2, "k": 1, "eps0": eps0, "rounds": 1, "delta": delta}
            above = accountants.epsilon("feldman2021-numerical-strong", **given)
            for name in accountants.names("lower"):
                if accountants.get(name).scope == "epsilon":
                    assert accountants.epsilon(name, **given) <= above, (name, eps0, delta)


@pytest.mark.parametrize(("eps", "eps0"), [(0.1, 4.0), (0.5, 4.0), (0.3, 1.0)])
def test_a_single_round_keeps_no_delta_for_a_composition(eps, eps0):
    """At the delta of the profile itself the accountant gives back eps, and of a tenth its amplification."""
    delta = float(profiles.clones(eps, n=500, eps0=eps0, analysis="feldman2021"))
    given = {"eps0": eps0, "k": 500, "rounds": 1}
    found = accountants.epsilon("feldman2021-numerical-strong", n=500, delta=delta, **given)
    assert eps <= found <= eps * (1 + 1e-8)
    sampled = accountants.epsilon("feldman2021-numerical-strong", n=5000, delta=delta / 10, **given)
    assert np.log1p(0.1 * np.expm1(eps)) <= sampled <= np.log1p(0.1 * np.expm1(eps)) * (1 + 1e-8)
    several = accountants.epsilon(
        "feldman2021-numerical-strong", n=500, delta=delta, **{**given, "rounds": [1, 2]}
    )
    assert several[0] == found < several[1]
