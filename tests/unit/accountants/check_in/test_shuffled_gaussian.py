"""Shuffled check-in with Gaussian noise: against sums and integrals by hand, and what a bound keeps to."""

import math

import numpy as np
import pytest
from scipy import special, stats

from shuffledp import accountants
from shuffledp.accountants import systems
from shuffledp.accountants.check_in import replaced, shuffled_gaussian
from shuffledp.profiles.gaussian import gaussian_delta, gaussian_mixture_epsilon, gaussian_noise

NAMES = ["check-in-gaussian-pld", "check-in-gaussian-unshuffled"]
SETTING = {"n": 300, "rate": 0.1, "sigma": 1.5}


def of_gaussian(eps, mu):
    """Theorem 8 of balle2018analytic, by the normal law's own functions."""
    if mu == 0:
        return 0.0
    return special.ndtr(mu / 2 - eps / mu) - math.exp(eps) * special.ndtr(-mu / 2 - eps / mu)


@pytest.mark.parametrize(("rate", "sigma", "rounds", "eps"), [(0.4, 0.8, 3, 1.0), (0.01, 2.0, 400, 2.5)])
def test_without_a_shuffler_it_is_the_mean_over_the_reports_of_a_client(rate, sigma, rounds, eps):
    delta = sum(
        stats.binom.pmf(reports, rounds, rate) * of_gaussian(eps, math.sqrt(reports) / sigma)
        for reports in range(rounds + 1)
    )
    found = accountants.epsilon(
        "check-in-gaussian-unshuffled", n=50, rate=rate, sigma=sigma, rounds=rounds, delta=delta
    )
    assert found == pytest.approx(eps, rel=1e-7)
    assert found >= eps * (1 - 1e-12)


@pytest.mark.parametrize("other", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("eps", [0.1, 0.6, 1.5])
def test_no_bound_is_below_two_clients_by_integration(other, eps):
    rate, sigma = 0.6, 1.0
    axis, step = np.linspace(-9.0, 10.0, 1901, retstep=True)

    def density(record):
        return stats.norm.pdf(axis, record, sigma)

    def delta_of(record, neighbour):
        with_it, without = density(record), density(neighbour)
        one = rate * (1 - rate) * (with_it + density(other) - math.exp(eps) * (without + density(other)))
        two = np.outer(with_it, density(other)) - math.exp(eps) * np.outer(without, density(other))
        both = rate**2 / 2 * (two + two.T)
        return np.maximum(one, 0).sum() * step + np.maximum(both, 0).sum() * step**2

    delta = max(delta_of(0.0, 1.0), delta_of(1.0, 0.0))
    for name in NAMES:
        assert accountants.epsilon(name, n=2, rate=rate, sigma=sigma, rounds=1, delta=delta) >= eps


def test_a_client_alone_is_not_hidden():
    setting = {"n": 1, "rate": 0.3, "sigma": 2.0, "rounds": [1, 5, 50], "delta": 1e-6}
    exact = accountants.epsilon("check-in-gaussian-unshuffled", **setting)
    assert (accountants.epsilon("check-in-gaussian-pld", **setting) >= exact).all()


@pytest.mark.parametrize("name", [pytest.param(NAMES[0], marks=pytest.mark.slow), *NAMES[1:]])
def test_bounds_grow_with_what_they_should(name):
    def epsilon(rounds=100, delta=1e-6, **changes):
        return accountants.epsilon(name, **{**SETTING, **changes}, rounds=rounds, delta=delta)

    along = epsilon(rounds=[0, 1, 2, 10, 11, 100, 1000])
    assert along[0] == 0
    assert (np.diff(along) > 0).all()
    for place, rounds in ((0, 0), (1, 1), (4, 11)):
        assert epsilon(rounds=rounds) == pytest.approx(along[place], rel=1e-9)
    for argument, values in {
        "sigma": (3.0, 1.5, 1.0),
        "rate": (0.001, 0.1, 0.5),
        "delta": (1e-3, 1e-6, 1e-9),
    }.items():
        assert (np.diff([epsilon(**{argument: value}) for value in values]) > 0).all(), argument


@pytest.mark.slow
def test_more_clients_hide_better():
    found = [
        accountants.epsilon("check-in-gaussian-pld", n=n, rate=0.05, sigma=1.5, rounds=100, delta=1e-6)
        for n in (200, 1000, 5000)
    ]
    assert (np.diff(found) < 0).all()
    (bare,) = {
        accountants.epsilon("check-in-gaussian-unshuffled", n=n, rate=0.05, sigma=1.5, rounds=100, delta=1e-6)
        for n in (200, 1000, 5000)
    }
    assert found[-1] < bare


def test_it_goes_on_where_a_fixed_local_guarantee_has_used_up_delta():
    n, rate, delta, rounds = 10**4, 1e-2, 1e-6, [10, 100_000]
    eps0, delta0 = 3.0, n**-1.5
    fixed = accountants.epsilon(
        "check-in-pld-approximate", n=n, rate=rate, eps0=eps0, delta0=delta0, rounds=rounds, delta=delta
    )
    assert fixed[1] == math.inf
    entry = accountants.get("check-in-gaussian-pld")
    sigma = gaussian_noise(eps=eps0, delta=delta0)
    details = entry.details(n=n, rate=rate, sigma=sigma, rounds=rounds, delta=delta)
    assert np.isfinite(details["epsilon"]).all()
    assert (np.diff(details["local_eps0"]) > 0).all()
    assert (np.diff(details["local_delta0"]) < 0).all()


@pytest.mark.parametrize(
    ("n", "sigma", "rate"),
    [
        pytest.param(100_000, 1.0, 0.9, marks=pytest.mark.slow),
        pytest.param(1_000_000, 0.7, 0.5, marks=pytest.mark.slow),
        (30_000, 1.3, 0.9),
    ],
)
def test_where_the_check_in_would_take_minutes_a_larger_bound_answers(n, sigma, rate):
    setting = {"n": n, "rate": rate, "rounds": 1, "delta": 1e-6}
    found = accountants.epsilon("check-in-gaussian-pld", sigma=sigma, **setting)
    assert found < accountants.epsilon("check-in-gaussian-unshuffled", sigma=sigma, **setting) / 2
    # everyone reports: to take part more seldom costs no more
    everyone = accountants.epsilon("shuffled-gaussian-pld", n=n, sigma=sigma, rounds=1, delta=1e-6)
    assert found <= 1.05 * everyone


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"rounds": [1]}, {"rate": 0.001}])
def test_no_guarantee_nearby_is_much_better(changes):
    setting = {**SETTING, "rounds": [30], "delta": 1e-6, **changes}
    found = accountants.get("check-in-gaussian-pld").details(**setting)
    setting["rounds"], sigma = np.array(setting["rounds"], dtype=float), setting.pop("sigma")
    tv = gaussian_delta(eps=0.0, noise=sigma)

    def epsilon(eps0):
        delta0 = gaussian_delta(eps=eps0, noise=sigma)
        return replaced.columns(**setting, eps0=eps0, delta0=delta0, tv=tv)["epsilon"][0]

    nearby = float(found["local_eps0"][0]) + np.linspace(-0.3, 0.3, 13)
    assert 0.99 * found["epsilon"][0] < min(map(epsilon, nearby)) < math.inf


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("changes", "certified"),
    [
        ({"sigma": 1e9}, True),
        ({"sigma": 1e-9}, False),
        ({"n": 1}, True),
        ({"delta": 0.999}, True),
        ({"delta": 1e-300}, False),
        ({"rate": 1e-12}, True),
        ({"rate": 1e-30}, True),
        ({"sigma": 1e-100}, False),
        ({"sigma": 1e100}, True),
        ({"rate": 1 - 1e-12}, True),
    ],
)
@pytest.mark.few(10)
def test_extremes_are_bounds_or_infinite(name, changes, certified):
    found = accountants.epsilon(name, **{**SETTING, "rounds": [0, 1, 10**5], "delta": 1e-6, **changes})
    assert found[0] == 0
    assert not np.isnan(found).any()
    assert (found[1:] >= found[:-1] - 1e-8).all()  # the least local eps0 that is tried is 1e-9
    if certified:
        assert np.isfinite(found).all()
    assert accountants.epsilon(name, **SETTING, rounds=3, delta=0) == math.inf


def test_a_mixture_of_mechanisms_that_do_nothing_costs_nothing():
    assert gaussian_mixture_epsilon(1e-5, mu=np.zeros(2), weights=np.array([0.5, 0.5])) == 0
    rare = {"mu": np.array([0.0, 3.0]), "weights": np.array([1 - 1e-6, 1e-6])}
    assert gaussian_mixture_epsilon(1e-5, **rare) == 0
    with pytest.raises(ValueError, match=r"delta must be > infinite = 0\.01"):
        gaussian_mixture_epsilon(1e-5, **rare, infinite=0.01)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sigma": 0}, "sigma must be a finite number > 0"),
        (
            {"sigma": 1e-101},
            "sigma must be at least 1e-100, since its square must be exact in double precision, got 1e-101",
        ),
        ({"rate": 1}, "rate must lie in"),
        ({"n": 0}, "n must be"),
        ({"eps0": 1}, "is for shuffled-check-in with gaussian"),
    ],
)
def test_bad_settings_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        accountants.epsilon(NAMES[0], **{**SETTING, **changes}, rounds=1, delta=1e-6)


def test_the_default_is_registered():
    assert systems.get("shuffled-check-in", "gaussian").default in accountants.names(
        protocol="shuffled-check-in", mechanism="gaussian"
    )


@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-30])
def test_numbers_of_reports_are_taken_together_on_the_safe_side(monkeypatch, delta):
    setting = {"n": 100, "rate": 0.3, "sigma": 300.0, "rounds": 10**6, "delta": delta}
    singly = accountants.epsilon("check-in-gaussian-unshuffled", **setting)
    monkeypatch.setattr(shuffled_gaussian, "_MOST_NUMBERS", 300)
    together = accountants.epsilon("check-in-gaussian-unshuffled", **setting)
    assert singly < together < singly * 1.0005
