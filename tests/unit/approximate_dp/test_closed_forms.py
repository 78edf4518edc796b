"""Closed forms and composition keep to their ranges, and to exact values, from tiny to huge parameters."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

from shuffledp import approximate_dp
from shuffledp.approximate_dp import composition

EPS0 = [1e-6, 1e-3, 0.1, 1.0, 5.0, 12.0, 30.0]
CLIENTS = [1, 2, 1e3, 1e6, 1e9, 1e12]
# The cap is one product, rounded up by a few units in the last place (hard case A4).
CAP = 1e-12


@pytest.mark.parametrize("eps0", EPS0)
@pytest.mark.parametrize("closed", [approximate_dp.feldman2021, approximate_dp.balle2019])
def test_closed_forms_never_leave_their_range(closed, eps0):
    for n, delta in itertools.product(CLIENTS, (1e-30, 1e-8, 0.5, 0.999)):
        result = closed(n=n, eps0=eps0, delta=delta)
        assert math.isfinite(result.eps)
        if result.applicable:
            assert result.eps > 0
            assert result.delta == delta
        else:
            assert (result.eps, result.delta) == (eps0, 0.0)


@pytest.mark.parametrize(
    ("n", "eps0", "delta", "applicable"),
    [
        (10, 12, 1e-12, False),
        (10, 2, 1e-6, False),
        (1e4, 3.74, 1e-6, False),
        # either side of the condition with 4/delta, and what only the reading with 2/delta admits
        (1e4, 3.71633, 1e-6, True),
        (1e4, 3.71635, 1e-6, False),
        (1e4, 3.76300, 1e-6, False),
    ],
)
def test_hard_case_d1_validity(n, eps0, delta, applicable):
    result = approximate_dp.feldman2021(n=n, eps0=eps0, delta=delta)
    assert result.applicable is applicable
    assert "log(n / (16 log(4/delta)))" in result.condition
    if applicable:
        assert 0 < result.eps < eps0
        assert result.delta == delta
    else:
        assert (result.eps, result.delta) == (eps0, 0.0)


def test_hard_case_d1_where_the_readings_disagree():
    strict, loose = (math.log(1e4 / (16 * math.log(c / 1e-6))) for c in (4, 2))
    assert (strict, loose) == pytest.approx((3.71634, 3.76301), abs=5e-6)


# --- composition at large eps: the losses are +eps and -eps only, so the exact answer is a short sum


def exact_profile(target, eps, rounds):
    """delta of ``rounds`` two-symbol randomised responses at ``target``: kairouz2015, Theorem 3.3."""
    with mpmath.workdps(400):
        target, eps = mpmath.mpf(target), mpmath.mpf(eps)
        p, q = 1 / (1 + mpmath.exp(-eps)), 1 / (1 + mpmath.exp(eps))
        return float(
            mpmath.fsum(
                mpmath.binomial(rounds, m)
                * (p**m * q ** (rounds - m) - mpmath.exp(target) * q**m * p ** (rounds - m))
                for m in range(rounds + 1)
                if (2 * m - rounds) * eps > target
            )
        )


LOSSES = [1e-3, 0.1, 1.0, 5.0, 12.0, 16.0, 20.0, 25.0, 30.0, 34.0, 36.5]
SHORT = list(itertools.product([1, 2, 7, 18], [1e-8, 1e-3, 0.3]))
PROFILE = 1e-12  # rounding of an eps of up to 700, seen through the slope of delta, which is at most 1
SOLVER = 2e-11  # and up to as much upwards, of delta
RELATIVE = 2e-13  # and of eps itself


def optimal(eps, rounds, delta):
    return composition.kairouz2015(eps=eps, delta=0.0, rounds=rounds, total_delta=delta, method="optimal")


@pytest.mark.parametrize("eps", LOSSES)
def test_optimal_composition_is_never_below_the_exact_value(eps):
    for rounds, delta in SHORT:
        composed = optimal(eps, rounds, delta)
        assert exact_profile(composed, eps, rounds) <= delta + PROFILE, (rounds, delta)


@pytest.mark.parametrize("eps", LOSSES)
def test_optimal_composition_is_tight(eps):
    for rounds, delta in SHORT:
        composed = optimal(eps, rounds, delta)
        assert composed == 0 or exact_profile(composed, eps, rounds) >= delta - SOLVER, (
            rounds,
            delta,
            composed,
        )


def exact_optimal(eps, rounds, delta):
    """epsilon at delta by Theorem 3.3 of kairouz2015, solved on its stretch between two losses."""
    with mpmath.workdps(300):
        eps, delta = mpmath.mpf(eps), mpmath.mpf(delta)
        likely = [mpmath.binomial(rounds, m) / (1 + mpmath.exp(-eps)) ** rounds for m in range(rounds + 1)]
        likely = [one * mpmath.exp(-eps) ** (rounds - m) for m, one in enumerate(likely)]
        losses = [(2 * m - rounds) * eps for m in range(rounds + 1)]

        def at(target):
            pairs = zip(likely, losses, strict=True)
            return mpmath.fsum(one * (1 - mpmath.exp(target - loss)) for one, loss in pairs if loss > target)

        if at(mpmath.mpf(0)) <= delta:
            return 0.0
        m = next(m for m, loss in enumerate(losses) if loss >= 0 and at(loss) <= delta)
        unlikely = mpmath.fsum(likely[i] * mpmath.exp(-losses[i]) for i in range(m, rounds + 1))
        return mpmath.log((mpmath.fsum(likely[m:]) - delta) / unlikely)


@pytest.mark.parametrize("eps", [1e-100, 1e-30, 1e-17, 1e-9, 1e-4, 0.1, 1.0, 5.0, 30.0])
def test_optimal_composition_at_the_smallest_losses_and_deltas(eps):
    """Where P and Q have the same doubles their difference must not be one of these."""
    for rounds, delta in itertools.product(
        (1, 2, 3, 10, 31), (1e-300, 1e-100, 1e-40, 1e-20, 1e-9, 1e-3, 0.3)
    ):
        exact, found = exact_optimal(eps, rounds, delta), optimal(eps, rounds, delta)
        assert exact <= found <= exact * (1 + 1e-9), (rounds, delta)


@pytest.mark.parametrize("method", composition.METHODS)
def test_composition_of_huge_eps(method):
    for eps, rounds in itertools.product((40.0, 400.0, 800.0, 1e5), (1, 10, 1e6, 1e9)):
        composed = composition.kairouz2015(eps=eps, delta=0.0, rounds=rounds, total_delta=1e-8, method=method)
        assert 0.9 * rounds * eps < composed <= rounds * eps * (1 + CAP)


@pytest.mark.parametrize("gamma", [1e-9, 1e-6, 1e-3, 0.5, 1.0])
def test_subsampling_at_any_rate(gamma):
    eps = np.array([0.0, 1e-300, 1e-12, 1e-6, 0.1, 1.0, 1.0 + 1e-12, 12.0, 30.0, 400.0, 800.0, 1e6])
    sampled = composition.subsample(eps=eps, delta=0.0, gamma=gamma).eps
    with mpmath.workdps(400):
        exact = [float(mpmath.log1p(mpmath.mpf(gamma) * mpmath.expm1(mpmath.mpf(e)))) for e in eps.tolist()]
    assert sampled == pytest.approx(exact, rel=1e-14, abs=0)
