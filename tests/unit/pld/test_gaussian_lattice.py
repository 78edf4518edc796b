"""The Gaussian mechanism on a lattice, against its closed form."""

import math

import numpy as np
import pytest

from shuffledp.pld import Composition
from shuffledp.pld.gaussian import gaussian_lattice, gaussian_step
from shuffledp.profiles.gaussian import gaussian_delta, gaussian_epsilon


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("delta", [1e-5, 1e-12, 1e-100])
@pytest.mark.parametrize("rounds", [1, 100])
def test_epsilon_is_that_of_the_closed_form_or_a_little_more(mu, delta, rounds):
    lattice = gaussian_lattice(mu=mu, step=gaussian_step(mu), nats=14 - math.log(delta))
    found = Composition([(lattice, rounds)], bound="upper").epsilon(delta)
    exact = float(gaussian_epsilon(delta, mu=mu * math.sqrt(rounds)))
    # the closed form itself is rounded up
    assert exact * (1 - 1e-9) <= found <= exact * 1.001


@pytest.mark.parametrize("nats", [80.0, 2.0])
@pytest.mark.parametrize("step", [3.0, 0.1, 1e-4])
def test_delta_is_an_upper_bound_on_every_lattice(step, nats):
    mu = 0.8
    lattice = gaussian_lattice(mu=mu, step=step, nats=nats)
    assert lattice.mass.sum() + lattice.infinite == pytest.approx(1.0, abs=1e-9)
    for eps in np.linspace(0.0, 6.0, 13):
        above = lattice.loss > eps
        found = float(lattice.mass[above] @ -np.expm1(eps - lattice.loss[above])) + lattice.infinite
        exact = gaussian_delta(eps=float(eps), noise=1 / mu)
        assert found >= exact * (1 - 1e-9) - 1e-15
        assert found <= exact * (1 + 3 * step) + step + math.exp(-nats)


@pytest.mark.parametrize("name", ["mu", "step", "nats"])
def test_what_is_not_positive_is_refused(name):
    with pytest.raises(ValueError, match=f"^{name} must be a finite number > 0, got 0$"):
        gaussian_lattice(**{"mu": 1.0, "step": 0.1, "nats": 50.0, name: 0})
