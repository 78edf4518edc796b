"""What the bound of shuffled Gaussian reports promises: order, consistency, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp import accountants, profiles
from shuffledp.pld.outcomes import Outcomes
from shuffledp.profiles.gaussian import gaussian_delta
from shuffledp.profiles.gaussian_blanket import (
    bound,
    gaussian_blanket,
    gaussian_blanket_epsilon,
    gaussian_blanket_outcomes,
    plan,
)
from shuffledp.profiles.gaussian_blanket.plan import Effort


@pytest.mark.parametrize(("eps", "most"), [(12.0, 1.1e-4), (20.0, 6.6e-8), (30.0, 2.1e-13)])
@pytest.mark.parametrize("guess", [1.0, 1e-4, 1e-20])
def test_far_out_no_bound_depends_on_how_well_delta_was_guessed(eps, most, guess):
    found = bound._delta(10**8, 0.2, 1.0, eps, Effort(0.03, 2**18), guess)
    assert 0.8 * most < found < most


@pytest.mark.parametrize(("n", "sigma"), [(20, 1.0), (50, 1.0), (100, 0.7)])
def test_the_profile_falls_down_to_small_delta(n, sigma):
    found = gaussian_blanket(np.linspace(0.0, 6.5, 27), n=n, sigma=sigma)
    assert found[-1] < 1e-12
    assert (np.diff(found) < 0).all()


def test_more_noise_and_more_clients_cost_less():
    eps = np.array([0.0, 0.01, 0.1, 0.5, 2.0])
    by_eps = gaussian_blanket(eps, n=200, sigma=1.5)
    assert (np.diff(by_eps) < 0).all()
    for name, values in {
        "n": [2, 3, 10, 100, 1000],
        "sigma": [0.4, 0.6, 1.0, 3.0, 20.0],
        "rate": [1.0, 0.7, 0.3, 0.01],
    }.items():
        found = [
            gaussian_blanket(0.1, **{"n": 200, "sigma": 1.5, "rate": 1.0, name: value}) for value in values
        ]
        assert (np.diff(found) < 0).all(), name


@pytest.mark.parametrize("delta", [0.1, 1e-4, 1e-9, 1e-40])
@pytest.mark.parametrize(("n", "sigma"), [(2, 2.0), (50, 0.3), (1000, 4.0)])
def test_epsilon_is_that_of_the_profile(n, sigma, delta):
    found = gaussian_blanket_epsilon(delta, n=n, sigma=sigma)
    assert bound._delta(n, sigma, 1.0, found, guess=delta) <= delta
    assert found == 0 or bound._delta(n, sigma, 1.0, found * (1 - 1e-5), guess=delta) > delta
    without_a_guess = gaussian_blanket([found, found * (1 - 1e-5)], n=n, sigma=sigma)
    assert without_a_guess[0] <= delta * (1 + 2e-3)
    assert found == 0 or without_a_guess[1] >= delta * (1 - 2e-3)
    lower = profiles.shuffled_gaussian_epsilon(delta, n=n, sigma=sigma, bound="lower")
    assert lower <= found <= float(profiles.gaussian_epsilon(delta, mu=1 / sigma))


@pytest.mark.parametrize("delta", [1e-79, 1e-100, 1e-276, 5e-324])
@pytest.mark.parametrize(("n", "sigma"), [(2, 0.1), (1000, 1.0), (1809, 497.5), (10**9, 1000.0)])
def test_the_smallest_delta_is_computed_or_costs_what_it_costs_without_a_shuffler(n, sigma, delta):
    found = gaussian_blanket_epsilon(delta, n=n, sigma=sigma)
    assert 0 < found <= profiles.gaussian_epsilon(delta, mu=1 / sigma)


@pytest.mark.parametrize(("n", "sigma", "rate"), [(30, 1.0, 1.0), (500, 3.0, 0.2)])
def test_outcomes_lie_above_the_profile(n, sigma, rate):
    pair = gaussian_blanket_outcomes(n=n, sigma=sigma, rate=rate, lost=1e-12)
    assert isinstance(pair, Outcomes)
    assert pair.mass.sum() + pair.infinite == pytest.approx(1, abs=1e-9)
    last = gaussian_blanket_epsilon(1e-9, n=n, sigma=sigma, rate=rate)
    for eps in np.linspace(0.013, 0.97, 7) * last:
        exact = gaussian_blanket(eps, n=n, sigma=sigma, rate=rate)
        for sign in (1, -1):  # both directions have one profile
            value = pair.mass @ np.maximum(-np.expm1(sign * eps - pair.loss), 0) + pair.infinite
            value = value if sign > 0 else math.exp(eps) * (value + math.expm1(-eps))
            assert exact * (1 - 4e-3) <= value <= exact * 1.07


def test_a_single_client_and_little_noise_have_the_bound_without_a_shuffler():
    assert gaussian_blanket(0.7, n=1, sigma=1.3, rate=0.5) == 0.5 * gaussian_delta(eps=0.7, noise=1.3)
    setting = {"n": 1000, "sigma": 0.05, "rounds": [0, 1, 7], "delta": 1e-6}
    bare = accountants.epsilon("gaussian-unshuffled", **setting)
    assert (accountants.epsilon("shuffled-gaussian-blanket", **setting) == bare).all()


@pytest.mark.slow
def test_beyond_what_is_computed_the_bound_is_that_at_the_last_values():
    setting = {"rounds": 1, "delta": 1e-9}
    name = "shuffled-gaussian-blanket"
    last = accountants.epsilon(name, n=10**9, sigma=1000.0, **setting)
    assert 0 < accountants.epsilon(name, n=10**15, sigma=1000.0, **setting) == last
    assert accountants.epsilon(name, n=10**9, sigma=1e5, **setting) <= last


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n": 0}, "n must"),
        ({"n": 10**12}, "n must be at most 1e.09"),
        ({"sigma": 0.01}, "sigma must lie in"),
        ({"rate": 0.0}, "rate must"),
        ({"rate": 1.5}, "rate must"),
    ],
)
def test_what_is_refused(change, says):
    setting = {"n": 10, "sigma": 1.0, "rate": 1.0, **change}
    for call in (
        lambda: gaussian_blanket(0.1, **setting),
        lambda: gaussian_blanket_epsilon(1e-6, **setting),
        lambda: gaussian_blanket_outcomes(**setting),
    ):
        with pytest.raises(ValueError, match=says):
            call()


@pytest.mark.parametrize("eps", [-0.1, math.nan, math.inf])
def test_eps_that_is_refused(eps):
    with pytest.raises(ValueError, match="eps must"):
        gaussian_blanket(eps, n=10, sigma=1.0)


@pytest.mark.parametrize(
    ("constant", "value"), [("DROPPED", 0.01), ("_SPREAD", 0.3), ("_MOST_CELLS", 2**8), ("_FAR", 10.0)]
)
def test_a_rougher_layout_only_raises_the_bound(constant, value, monkeypatch):
    settings = [(0.05, 300, 2.0), (1.5, 1000, 0.65), (0.5, 10, 2.0)]
    fine = [gaussian_blanket(eps, n=n, sigma=sigma) for eps, n, sigma in settings]
    monkeypatch.setattr(plan, constant, value)
    rough = [gaussian_blanket(eps, n=n, sigma=sigma) for eps, n, sigma in settings]
    for close, far in zip(fine, rough, strict=True):
        assert close * (1 - 5e-3) <= far <= close * 1.3
    assert rough != fine
