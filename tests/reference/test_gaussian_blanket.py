"""The blanket of Gaussian reports, against integrals, random draws and other bounds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from shuffledp import accountants
from shuffledp.profiles.gaussian_blanket import gaussian_blanket

LOOSE = 1.01  # by how much the bound may exceed what it rounds up


def line(sigma, points=1601):
    """Points of a line, their distance, and a function to the density of a report of a record there."""
    at = np.linspace(-9 * sigma, 1 + 9 * sigma, points)
    return at, at[1] - at[0], lambda record: stats.norm.pdf(at, record, sigma)


def one_by_one(law, gain, rate, gap):
    """Integrals over the numbers of reports of two clients: ``law`` is that of the other, up to what he may
    disclose, and ``gain`` the differing client's own."""
    alone = gain + (1 - math.exp(EPS)) * law  # one report: of the client, or of the other
    both = (np.outer(gain, law) + np.outer(law, gain)) / 2
    absent = (1 - rate) ** 2 * max(1 - math.exp(EPS), 0.0)
    return (
        absent
        + rate * (1 - rate) * np.maximum(alone, 0).sum() * gap
        + rate**2 * np.maximum(both, 0).sum() * gap**2
    )


EPS = 0.3


@pytest.mark.parametrize("rate", [1.0, 0.6])
@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
def test_two_clients_by_quadrature(sigma, rate):
    _, gap, density = line(sigma)
    omega = np.minimum(density(0), density(1))
    gain = density(0) - math.exp(EPS) * density(1)
    told = rate * (1 - omega.sum() * gap) * rate * np.maximum(gain, 0).sum() * gap
    exact = one_by_one(omega, gain, rate, gap) + told
    found = gaussian_blanket(EPS, n=2, sigma=sigma, rate=rate)
    assert exact * (1 - 1e-6) <= found
    assert found <= max(exact, 1e-12) * LOOSE


@pytest.mark.parametrize("rate", [1.0, 0.4])
@pytest.mark.parametrize("sigma", [0.4, 1.0, 2.5])
def test_no_records_of_two_clients_cost_more(sigma, rate):
    _, gap, density = line(sigma, 801)
    found = gaussian_blanket(EPS, n=2, sigma=sigma, rate=rate)
    some = (0.0, 0.3, 0.7, 1.0)
    for record, other_record, others in itertools.product(some, some, some):
        gain = density(record) - math.exp(EPS) * density(other_record)
        assert one_by_one(density(others), gain, rate, gap) <= found * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("sigma", [0.15, 0.4, 1.0, 3.0])
def test_zero_and_one_are_the_worst_records(sigma):
    """The lemma of the theory page, at random constants."""
    _, gap, density = line(sigma, 3001)
    omega = np.minimum(density(0), density(1))
    chance = np.random.default_rng(5)
    for _ in range(60):
        scale = chance.choice([0.1, 1.0, 0.3 / sigma**2])
        c, t = np.exp(chance.normal(size=2) * scale)
        worst = np.maximum(density(0) - c * density(1) - t * omega, 0).sum() * gap
        for _ in range(10):
            x, y = chance.beta(0.4, 0.4, 2)
            value = np.maximum(density(x) - c * density(y) - t * omega, 0).sum() * gap
            assert value <= worst * (1 + 1e-5) + 1e-13


@pytest.mark.parametrize(("n", "sigma", "rate", "eps"), [(20, 1.0, 1.0, 0.8), (300, 2.0, 0.3, 0.05)])
def test_random_draws(n, sigma, rate, eps):
    chance = np.random.default_rng(11)
    runs = 40_000
    total = np.zeros(runs)
    for _ in range(n):
        # a report of 0 or of 1 each second time; of the blanket with the ratio of the lesser density to it
        record = chance.integers(0, 2, runs)
        report = chance.normal(record, sigma)
        ratio = np.exp((2 * report - 1) / (2 * sigma**2) * np.where(record == 0, 1, -1))
        kept = chance.random(runs) < np.minimum(ratio, 1)
        towards = np.exp((1 - 2 * report) / (2 * sigma**2))  # of the density of 0 over that of 1
        gain = np.where(towards > 1, towards - math.exp(eps), 1 - math.exp(eps) / towards)
        gain = np.where(kept, gain, 0.0)
        total += np.where(chance.random(runs) < rate, gain, 1 - math.exp(eps))
    each = np.maximum(total, 0) / n
    error = 4 * each.std() / math.sqrt(runs)
    found = gaussian_blanket(eps, n=n, sigma=sigma, rate=rate)
    assert each.mean() - error <= found <= (each.mean() + error) * LOOSE


@pytest.mark.parametrize(
    ("n", "sigma", "rounds", "most"),
    [
        (100, 5.0, 1, 1.09),
        (100, 5.0, 30, 1.1),
        (1000, 2.0, 1, 1.2),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (
                (1000, 0.65, 1, 1.02),
                (1000, 0.65, 100, 1.42),
                (1000, 2.0, 1000, 1.22),
                (10**5, 1.0, 1, 1.35),
                (10**6, 5.0, 3, 1.1),
            )
        ),
    ],
)
def test_bounds_nearly_meet(n, sigma, rounds, most):
    setting = {"n": n, "sigma": sigma, "rounds": rounds, "delta": 1e-6}
    lower = accountants.epsilon("shuffled-gaussian-pair", **setting)
    assert lower <= accountants.epsilon("shuffled-gaussian-blanket", **setting) <= most * lower


@pytest.mark.parametrize(
    ("n", "sigma", "delta", "most"),
    [(50, 1.0, 1e-15, 1.04), (30, 1.0, 1e-18, 1.06), (100, 0.7, 1e-18, 1.03), (1000, 0.3, 1e-9, 1.05)],
)
def test_bounds_nearly_meet_where_one_report_decides(n, sigma, delta, most):
    """Far out the law that is computed hardly reaches the strike, and its errors count."""
    setting = {"n": n, "sigma": sigma, "rounds": 1, "delta": delta}
    lower = accountants.epsilon("shuffled-gaussian-pair", **setting)
    assert lower <= accountants.epsilon("shuffled-gaussian-blanket", **setting) <= most * lower
