"""Sums of log-normal terms: prices agree whatever was asked before, and terms are rounded in convex order."""

import math

import numpy as np
import pytest

from shuffledp.distributions.lognormal_sums import LogNormalSum


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_prices_do_not_depend_on_what_was_asked_before(seed):
    """A contour that serves another strike than its own gives a price within the bracket of a new one."""
    rng = np.random.default_rng(seed)
    n, sigma = int(rng.integers(2, 200)), float(rng.uniform(0.4, 4))
    used = LogNormalSum(n, sigma)
    for side, sign in (("call", 1), ("put", -1)):
        for loss in rng.exponential(1 / sigma, 12):
            strike = n * math.exp(sign * float(loss))
            fresh = LogNormalSum(n, sigma)
            assert used.price(side, strike, "lower") <= fresh.price(side, strike, "upper")
            assert used.price(side, strike, "upper") >= fresh.price(side, strike, "lower")
            assert used.price(side, strike, "upper") <= 1.002 * used.price(side, strike, "lower") + 1e-30 * n
