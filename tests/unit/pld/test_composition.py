"""Parts of the composition on a lattice that no result shows: what lies beyond the frequencies summed."""

import numpy as np
import pytest

from shuffledp.pld.composition import _Tilted
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
    part = _Tilted(Lattice(step, index, mass, 0.0), 1, 0.0)
    first = share * np.pi / step
    omega = np.concatenate([first * np.array([1.0, 1.0001, 1.1]), np.linspace(first, np.pi / step, 3001)])
    exact = np.abs(np.exp(1j * np.outer(omega, part.centred)) @ mass)
    # doubles next to 1 tell the function from 1 to 2e-16
    assert np.log(exact.max()) - 2e-15 <= part.log_largest(first) <= 0
