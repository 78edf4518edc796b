"""Lower bounds on Renyi DP by two-symbol randomised response, whose law is made once for a whole curve."""

import functools

import numpy as np
import pytest

from shuffledp.checkin.liew2022 import liew2022_lower
from shuffledp.rdp.girgis2021 import girgis2021_lower

CURVES = {
    "girgis2021": functools.partial(girgis2021_lower, n=10**11, k=10**11, eps0=2.0),
    "liew2022": functools.partial(liew2022_lower, n=10**11, rate=0.5, eps0=4.0),
}


@pytest.mark.parametrize("name", CURVES)
def test_a_curve_does_not_depend_on_what_was_asked_before(name):
    """The law is looked at further out for some orders than for others, there in wider cells."""
    orders, curve = np.array([2.0, 7.0]), CURVES[name]
    before = curve(orders)
    curve(np.array([1e5, 1e6]))
    np.testing.assert_array_equal(curve(orders), before)
