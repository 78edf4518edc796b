"""Far from the papers' settings: Renyi bounds stay finite, warning-free, in order and monotone."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

from shuffledp import rdp

from ..extremes import ROUNDING, SWEEPS, assert_monotone, pure_dp

# Printed digits of the hard cases.
PRINTED = 1e-6

EPS0 = [1e-6, 1e-3, 0.1, 1.0, 5.0, 12.0, 30.0]
CLIENTS = [1, 2, 1e3, 1e6, 1e9, 1e12]
PER_ROUND = [1, 2, 10, 1e3, 1e6]
ORDERS = np.array([2, 3, 17, 64, 2048, 2049, 1e4, 1e6])
SYSTEMS = [(n, k) for n, k in itertools.product(CLIENTS, PER_ROUND) if k <= n]


@pytest.mark.parametrize("eps0", EPS0)
def test_renyi_bounds_stay_in_order(eps0):
    for n, k in SYSTEMS:
        upper = rdp.girgis2021_upper(ORDERS, n=n, k=k, eps0=eps0)
        lower = rdp.girgis2021_lower(ORDERS, n=n, k=k, eps0=eps0)
        assert np.isfinite(upper).all(), (n, k)
        assert (lower > 0).all(), (n, k)
        assert (lower <= upper).all(), (n, k)
        # what Theorem 2 computes is a divergence: it grows with the order, and pure DP bounds it
        assert (np.diff(lower) >= -ROUNDING * lower[1:]).all(), (n, k)
        assert lower[-1] <= pure_dp(n, k, eps0), (n, k)


@pytest.mark.parametrize("eps0", EPS0)
def test_plain_shuffle_stays_in_order(eps0):
    for n in CLIENTS:
        upper = rdp.girgis2021ccs_shuffle(ORDERS, n=n, eps0=eps0)
        lower = rdp.girgis2021_lower(ORDERS[:4], n=min(n, 1e6), k=min(n, 1e6), eps0=eps0)
        assert (upper > 0).all(), n
        assert (upper <= eps0).all(), n
        if n <= 1e6:
            assert (lower <= upper[:4] * (1 + ROUNDING)).all(), n


@pytest.mark.parametrize("eps0", EPS0)
def test_subsampled_plain_shuffle_stays_in_order(eps0):
    orders = np.array([2.0, 3.0, 64.0, 2049.0, 1e6])
    for n, k in [(1, 1), (10, 2), (1e12, 1e3), (1e9, 1), (100, 100)]:
        upper = rdp.wang2019_subsampled(
            orders,
            gamma=k / n,
            rdp=lambda order, k=k: rdp.girgis2021ccs_shuffle(order, n=k, eps0=eps0),
            eps_inf=eps0,
        )
        lower = rdp.girgis2021_lower(orders, n=n, k=k, eps0=eps0)
        assert np.isfinite(upper).all(), (n, k)
        assert (lower <= upper * (1 + ROUNDING)).all(), (n, k)


@pytest.mark.parametrize("loose", [False, True])
@pytest.mark.parametrize("eps_inf", [math.inf, 2.0])
def test_subsampling_grows_with_the_rate(loose, eps_inf):
    orders = np.array([2.0, 3.0, 64.0, 1000.0])
    gammas = [1e-9, 1e-6, 1e-3, 0.1, 0.5, 1.0]

    def curve(order):
        return np.minimum(0.05 * order, 2.0)

    values = np.array(
        [
            rdp.wang2019_subsampled(orders, gamma=gamma, rdp=curve, eps_inf=eps_inf, loose=loose)
            for gamma in gammas
        ]
    )
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=0) > 0).all()
    assert (values[-1] >= curve(orders)).all()  # at rate 1 nothing is gained


@pytest.mark.parametrize("eps0", EPS0)
def test_ternary_stays_positive(eps0):
    for k in (2, 10, 1e3, 1e6, 1e12):
        values = rdp.girgis2021_ternary(ORDERS[:5], k=k, eps0=eps0)
        assert not np.isnan(values).any()
        assert (values >= 0).all()
        assert values[0] <= rdp.girgis2021_ternary(2, k=2, eps0=eps0)  # more reports never hide less


@pytest.mark.parametrize("order", [1e19, 1e300])  # beyond any index
def test_orders_beyond_any_use_give_a_bound_or_a_refusal(order):
    lower = rdp.girgis2021_lower(order, n=1000, k=100, eps0=1.0)
    assert 0 < lower <= pure_dp(1000, 100, 1.0)
    try:
        upper = rdp.girgis2021_upper(order, n=1000, k=100, eps0=1.0)
    except ValueError as refusal:
        assert "order" in str(refusal)  # noqa: PT017  # a bound would be as good
    else:
        assert upper >= lower


# --- Theorem 2 near order 1, where (order - 1) divides what the sum has lost


def exact_girgis2021_lower(order, n, k, eps0):
    with mpmath.workdps(80):
        big_e, lam = mpmath.exp(mpmath.mpf(eps0)), mpmath.mpf(order)
        p, slope = 1 / (big_e + 1), mpmath.mpf(1) / n * (big_e**2 - 1) / big_e
        total = mpmath.fsum(
            mpmath.binomial(k, m) * p**m * (1 - p) ** (k - m) * (1 + slope * (m - k * p)) ** lam
            for m in range(k + 1)
        )
        return mpmath.log(total) / (lam - 1)


@pytest.mark.parametrize("order", [1 + 1e-10, 1 + 1e-8, 1 + 1e-6, 1.0001, 1.01, 1.5, 2.5, 1e4])
def test_theorem_2_is_rounded_down_at_every_order(order):
    for (n, k), eps0 in itertools.product([(1, 1), (3, 3), (10, 3), (20, 20)], [1e-6, 0.1, 1.0, 5.0, 30.0]):
        value = rdp.girgis2021_lower(order, n=n, k=k, eps0=eps0)
        exact = exact_girgis2021_lower(order, n, k, eps0)
        assert value <= exact, (n, k, eps0)
        assert value >= exact * (1 - ROUNDING) or order < 1.0001, (n, k, eps0)


@pytest.mark.parametrize("order", [2, 3, 8, 64, 1000])
def test_theorem_1_is_monotone_in_eps0_and_n(order):
    by_eps0 = [rdp.girgis2021_upper(order, n=1e6, k=1005, eps0=value) for value in SWEEPS["eps0"]]
    assert_monotone(by_eps0, 1)
    by_n = [rdp.girgis2021_upper(order, n=value, k=1e3, eps0=1.0) for value in SWEEPS["n"]]
    assert_monotone(by_n, -1)


def test_hard_case_b3_theorem_1_drops_where_kbar_steps():
    # kbar = floor((k - 1) / (2 e^2)) + 1 steps from 68 to 69 between k = 1005 and 1006
    values = [rdp.girgis2021_upper(8, n=1e6, k=k, eps0=2.0) for k in (1004, 1005, 1006, 1007)]
    assert [math.floor((k - 1) / (2 * math.exp(2.0))) + 1 for k in (1004, 1005, 1006, 1007)] == [
        68,
        68,
        69,
        69,
    ]
    assert values == pytest.approx(
        [1.3518169e-06, 1.3545525e-06, 1.3373201e-06, 1.3400207e-06], rel=PRINTED, abs=0
    )
    assert values[0] < values[1] > values[2] < values[3]
