"""What tests of extreme settings share: the cap of pure DP, tolerances, and what falls or grows."""

from __future__ import annotations

import math

import mpmath
import numpy as np

# Bounds are rounded outwards by 2^-37 = 7.3e-12, so two of them may cross by twice that.
ROUNDING = 2e-11
# The cap is one product, rounded up by a few units in the last place (hard case A4).
CAP = 1e-12
# A minimum over the split of delta is found to about this, and can fall by as much along a curve.
SEARCH = 1e-8


def pure_dp(n, k, eps0):
    """log(1 + gamma (e^eps0 - 1)) without its overflow."""
    with mpmath.workdps(40):
        return float(mpmath.log1p(mpmath.mpf(k) / mpmath.mpf(n) * mpmath.expm1(mpmath.mpf(eps0))))


KBAR_STEP = math.log(1004 / 136)  # at this eps0, kbar of k = 1005 steps from 69 to 68
SWEEPS = {
    "eps0": [0, 0.1, 1, KBAR_STEP - 1e-9, KBAR_STEP + 1e-9, 3],
    # the coarse part, and steps of one where the best order and the best split move with every round
    "rounds": [0, 1, 2, 3, 10, 99, 100, 101, 999, 1000, 1001, *np.geomspace(3e3, 1e6, 6).round()],
    "delta": [1e-12, 9e-9, 1e-8, 1e-5, 0.3],
    "n": [1005, 1006, 1e5, 1e12],
}


def assert_monotone(values, direction):
    values = np.asarray(values)
    steps = direction * np.diff(values)
    assert (steps >= -SEARCH * np.maximum(values[1:], values[:-1])).all()
    assert (steps > 0).any()
