"""Lemma 2 and Theorems 4, 5 and 6 of girgis2021, and Renyi DP of pure DP: orders, brute force, 50 digits."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats

from shuffledp import rdp


def of_two_symbols(k, eps0, order):
    """E|(P - P')/P''|^order for randomised response: all hold 0 in P'' and P', and one holds 1 in P."""
    one = 1 / (1 + math.exp(eps0))
    zeros = stats.binom.pmf(np.arange(k + 1), k, one)
    rest = stats.binom.pmf(np.arange(k), k - 1, one)
    other = np.zeros(k + 1)
    other[:k] += one * rest
    other[1:] += (1 - one) * rest
    return float(np.sum(zeros * np.abs(other / zeros - 1) ** order))


@pytest.mark.parametrize("k", [2, 7, 60])
@pytest.mark.parametrize("eps0", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("order", [2.0, 2.5, 3.0, 8.0])
def test_the_bounds_on_the_ternary_divergence_are_in_order(k, eps0, order):
    exact = of_two_symbols(k, eps0, order)
    reduced = rdp.girgis2021_reduced(order, k=k, eps0=eps0)
    assert exact <= reduced <= rdp.girgis2021_ternary(order, k=k, eps0=eps0) * (1 + 1e-9)
    assert exact <= rdp.girgis2021_special_case(order, m=k, eps0=eps0)


def test_theorem_6_by_hand():
    e = math.exp(0.5)
    assert rdp.girgis2021_special_case(2, m=10, eps0=0.5) == pytest.approx(0.4 * (e - 1) ** 2 / e, rel=1e-10)
    fourth = 4 * math.gamma(2) * (2 * (e**2 - 1) ** 2 / (10 * e**2)) ** 2
    assert rdp.girgis2021_special_case(4, m=10, eps0=0.5) == pytest.approx(fourth, rel=1e-10)


def test_theorem_5_is_the_mean_over_the_clones():
    k, eps0, order = 5, 1.0, 3.0
    gap = (math.exp(eps0) - math.exp(-eps0)) ** order
    each = [min(rdp.girgis2021_special_case(order, m=m + 1, eps0=eps0), gap) for m in range(k)]
    mean = float(stats.binom.pmf(np.arange(k), k - 1, math.exp(-eps0)) @ np.array(each))
    assert rdp.girgis2021_reduced(order, k=k, eps0=eps0) == pytest.approx(mean, rel=1e-9)
    assert rdp.girgis2021_reduced([2.0, order], k=k, eps0=eps0)[1] == rdp.girgis2021_reduced(
        order, k=k, eps0=eps0
    )
    assert rdp.girgis2021_reduced(2, k=3, eps0=0.0) == 0


@pytest.mark.parametrize(("n", "k", "eps0"), [(1000, 100, 1.0), (10**6, 10**3, 2.0), (50, 50, 0.3)])
def test_lemma_2_of_theorem_4_is_theorem_1(n, k, eps0):
    orders = np.array([2.0, 3.0, 10.0, 64.0])
    found = rdp.girgis2021_subsampled(
        orders, gamma=k / n, ternary=lambda alpha: rdp.girgis2021_ternary(alpha, k=k, eps0=eps0)
    )
    np.testing.assert_allclose(found, rdp.girgis2021_upper(orders, n=n, k=k, eps0=eps0), rtol=1e-7)
    sharper = rdp.girgis2021_subsampled(
        orders, gamma=k / n, ternary=lambda alpha: rdp.girgis2021_reduced(alpha, k=k, eps0=eps0)
    )
    assert (sharper <= found * (1 + 1e-9)).all()
    assert (sharper >= rdp.girgis2021_lower(orders, n=n, k=k, eps0=eps0)).all()


def test_lemma_2_takes_nothing_from_nothing():
    assert rdp.girgis2021_subsampled(4, gamma=0.5, ternary=np.zeros_like) == 0
    with pytest.raises(ValueError, match="order must hold whole numbers"):
        rdp.girgis2021_subsampled(2.5, gamma=0.5, ternary=np.zeros_like)


@pytest.mark.parametrize("eps", [0.0, 1e-12, 1e-3, 0.5, 3.0, 800.0])
@pytest.mark.parametrize("order", [1.0001, 1.5, 2.0, 30.0, 1e4])
def test_renyi_dp_of_pure_dp_is_that_of_randomised_response(eps, order):
    with mp.workdps(50):
        e, a = mpf(eps), mpf(order)
        exact = mp.log((mp.exp(a * e) + mp.exp((1 - a) * e)) / (1 + mp.exp(e))) / (a - 1)
        found = rdp.mironov2017_pure(order, eps=eps)
        assert exact <= found <= min(eps, float(exact) * (1 + 1e-6) + 1e-14 * order * eps / (order - 1))
