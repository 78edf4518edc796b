"""Distributed check-in with a secret number of reports: losses against the densities of the average."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from shuffledp import accountants
from shuffledp.checkin import secret_number
from shuffledp.checkin.distributed import check_in_losses
from shuffledp.checkin.secret_number import secret_number_losses

SETTINGS = [
    {"n": 12, "rate": 0.3, "sigma": 0.9},
    {"n": 2, "rate": 0.7, "sigma": 2.0},
    {"n": 1, "rate": 0.4, "sigma": 0.7},
    {"n": 40, "rate": 0.05, "sigma": 0.5},
    {"n": 12, "rate": 0.3, "sigma": 0.05},
    {"n": 1, "rate": 0.999, "sigma": 0.2},
]


def densities(x, n, rate, sigma):
    """Densities of the average without and with the client, of whom all others report 0."""
    without, present = np.zeros(x.size), np.zeros(x.size)
    for k, weight in enumerate(stats.binom.pmf(np.arange(n), n - 1, rate)):
        without += weight * stats.norm.pdf(x, 0, sigma / math.sqrt(max(k, 1)))
        present += weight * stats.norm.pdf(x, 1 / (k + 1), sigma / math.sqrt(k + 1))
    return without, (1 - rate) * without + rate * present


def hockey_stick(outcomes, eps):
    return float(outcomes.mass @ np.maximum(-np.expm1(eps - outcomes.loss), 0.0))


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("eps", [0.0, 0.1, 0.25, 0.5])
def test_losses_are_those_of_the_densities_from_below(setting, eps):
    reach = 12 * setting["sigma"]
    x = np.linspace(-reach, 1 + reach, 400001)
    without, present = densities(x, **setting)
    pair = secret_number_losses(**setting)
    for outcomes, one, other in ((pair.added, present, without), (pair.removed, without, present)):
        exact = float(np.trapezoid(np.maximum(one - math.exp(eps) * other, 0.0), x))
        found = hockey_stick(outcomes, eps)
        assert found <= exact * (1 + 1e-9) + 1e-15
        if exact > 1e-3:
            assert found >= exact * (1 - 3e-4)


@pytest.mark.parametrize("setting", SETTINGS)
def test_masses_add_up_to_one(setting):
    for outcomes in secret_number_losses(**setting):
        assert outcomes.mass.sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("eps", [0.0, 0.2])
def test_who_is_not_told_the_number_learns_less(setting, eps):
    for secret, public in zip(secret_number_losses(**setting), check_in_losses(**setting), strict=True):
        assert hockey_stick(secret, eps) <= hockey_stick(public, eps) + public.infinite


def test_reports_left_out_count_in_the_denominator(monkeypatch):
    monkeypatch.setattr(secret_number, "_window", lambda *_: (0, 0))
    for outcomes in secret_number_losses(n=2, rate=0.5, sigma=2.0):
        assert outcomes.mass.sum() == pytest.approx(0.5, abs=1e-9)
        assert outcomes.mass @ np.exp(-outcomes.loss) >= 1 - 1e-9, "one half without them"


@pytest.mark.parametrize("sigma", [0.02, 0.05])
def test_with_hardly_any_noise_who_took_part_is_told(sigma):
    """The average is then 1 or 0 where nobody else is there, so that the total variation is the rate."""
    setting = {"n": 1, "rate": 0.5, "sigma": sigma}
    for outcomes in secret_number_losses(**setting):
        assert hockey_stick(outcomes, 0.0) == pytest.approx(0.5, abs=1e-9)
    assert accountants.epsilon("distributed-check-in-secret-lower", **setting, rounds=1, delta=1e-5) > 100


def test_the_number_tells_less_the_less_noise_there_is():
    """At the setting of figure 4 of liew2022 a public number takes a fifth of epsilon, and with half the
    noise a fifteenth."""
    paper = {"n": 6 * 10**4, "rate": 1e-3, "rounds": 20000, "delta": 1e-5}
    shares = []
    for sigma in (0.65, 0.325):
        secret, public = (
            accountants.epsilon(f"distributed-check-in-{name}", sigma=sigma, **paper)
            for name in ("secret-lower", "lower")
        )
        shares.append(1 - secret / public)
    assert shares == pytest.approx([0.188, 0.068], abs=2e-3)


def test_few_rounds_lose_something_too():
    paper = {"n": 6 * 10**4, "rate": 1e-3, "sigma": 0.86, "delta": 1e-5}
    epsilon = accountants.epsilon("distributed-check-in-secret-lower", rounds=[1, 10, 15, 22], **paper)
    assert (np.diff(epsilon) > 0).all()
    assert epsilon[0] > 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n": 0}, "n must be a whole number >= 1"),
        ({"rate": 1}, r"rate must lie in \(0, 1\)"),
        ({"sigma": math.nan}, "sigma must be a finite number > 0"),
        ({"sigma": 1e-20}, "sigma must be larger, or rate or n smaller: .* got sigma=1e-20, rate=0.3, n=12"),
        ({"n": 10**15}, "sigma must be larger, or rate or n smaller: .* n=1000000000000000"),
    ],
)
def test_refusals(change, says):
    with pytest.raises(ValueError, match=says):
        secret_number_losses(**{"n": 12, "rate": 0.3, "sigma": 0.9, **change})
