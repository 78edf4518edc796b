"""Parts of the composition on a lattice that no result shows: what lies beyond the frequencies summed."""

import numpy as np
import pytest

from shuffledp.pld import contour
from shuffledp.pld.composition import Composition
from shuffledp.pld.contour import Tilted
from shuffledp.pld.outcomes import Lattice

LAWS = {
    "two losses": ([-1.0, 1.0], [0.4, 0.6]),
    "rare and large": ([-1.0, 0.0, 40.0], [0.5, 0.499, 0.001]),
    "many": (np.arange(-30.0, 31.0), np.full(61, 1 / 61)),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("share", [0.0, 1e-5, 1e-4, 1e-3, 0.01, 0.3, 0.9])
def test_no_later_frequency_has_a_larger_characteristic_function_than_is_said(law, share):
    index, mass = (np.asarray(values) for values in LAWS[law])
    step = 0.01
    part = Tilted(Lattice(step, index, mass, 0.0), 1, 0.0)
    first = share * np.pi / step
    omega = np.concatenate([first * np.array([1.0, 1.0001, 1.1]), np.linspace(first, np.pi / step, 3001)])
    exact = np.abs(np.exp(1j * np.outer(omega, part.centred)) @ mass)
    # doubles next to 1 tell the function from 1 to 2e-16
    assert np.log(exact.max()) - 2e-15 <= part.log_largest(first) <= 0


@pytest.mark.parametrize("step", [600.0, 800.0, 5000.0])
@pytest.mark.parametrize("eps", [0.0, 0.4, 1.3, 1.999, 2.0])
def test_steps_beyond_the_exponent_of_a_double(step, eps):
    """Of very many rounds the lattice is so coarse; the law of six rounds is convolved here."""
    lattice = Lattice(step, np.array([-1.0, 0.0, 1.0]), np.array([0.05, 0.9, 0.05]))
    law = np.ones(1)
    for _ in range(6):
        law = np.convolve(law, lattice.mass)
    above = np.maximum(-np.expm1(np.minimum(step * (eps - np.arange(-6.0, 7.0)), 0.0)), 0.0)
    exact = float(law @ above)
    found = Composition([(lattice, 6)], bound="upper").delta(step * eps)
    assert exact * (1 - 1e-14) <= found <= exact * (1 + 1e-10)


def test_products_of_frequencies_and_losses_some_at_a_time(monkeypatch):
    part = Tilted(Lattice(0.01, np.array([-1.0, 0.0, 40.0]), np.array([0.5, 0.499, 0.001])), 1, 0.0)
    at_once = part.characteristic(100, 2**20)
    monkeypatch.setattr(contour, "_PRODUCTS_AT_ONCE", 10)
    np.testing.assert_allclose(part.characteristic(100, 2**20), at_once, rtol=1e-14)
