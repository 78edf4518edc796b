"""Far from the papers' settings: closed forms stay finite, warning-free and monotone."""

from __future__ import annotations

import math

import pytest

from shuffledp import approximate_dp, rdp
from shuffledp.approximate_dp import composition

from ..extremes import CAP, SWEEPS, assert_monotone


@pytest.mark.parametrize("delta", [1e-100, 1e-300, 1e-310])
def test_tiny_deltas_are_no_special_case(delta):
    for closed in (approximate_dp.feldman2021, approximate_dp.balle2019):
        result = closed(n=10**6, eps0=0.5, delta=delta)
        assert 0 < result.eps <= 0.5
    for method in composition.METHODS:
        composed = composition.kairouz2015(eps=0.5, delta=0.0, rounds=100, total_delta=delta, method=method)
        assert 0 < composed <= 50 * (1 + CAP)
    assert 0 < rdp.to_epsilon(lambda order: 0.1 * order, delta=delta).value < math.inf


@pytest.mark.parametrize("closed", [approximate_dp.feldman2021, approximate_dp.balle2019])
def test_closed_forms_are_monotone(closed):
    eps0 = [0.0, 1e-6, 0.01, 0.5, 1.0, 2.0, 2.5, 3.0, 3.7, 3.72, 3.8, 4.0, 4.6, 4.7, 5.0, 10.0]
    assert_monotone([closed(n=1e4, eps0=value, delta=1e-6).eps for value in eps0], 1)
    assert_monotone([closed(n=1e5, eps0=1.0, delta=value).eps for value in SWEEPS["delta"]], -1)
    n = [1, 2, 10, 100, 500, 600, 700, 1000, 1e4, 1e6, 1e9, 1e12]
    assert_monotone([closed(n=value, eps0=1.0, delta=1e-6).eps for value in n], -1)
