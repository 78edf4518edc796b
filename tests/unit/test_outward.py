"""What is rounded outward is rounded to its own side.

The few units in the last place that bounds are moved by are made large, and every bound must move outward:
one that is rounded to the wrong side, or not at all, moves inward or stays.
"""

from __future__ import annotations

import importlib
import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp import accountants, approximate_dp, numerics, profiles, rdp
from shuffledp.accountants import registry, via_pld
from shuffledp.accountants.check_in import shuffled_gaussian as check_in_gaussian
from shuffledp.approximate_dp import composition
from shuffledp.checkin import balle2020, liew2022, liew2022_conversions
from shuffledp.checkin import liew2022_distributed as distributed
from shuffledp.checkin.balle2020 import loads, strengths, windows
from shuffledp.checkin.distributed import check_in_losses
from shuffledp.convergence import girgis2021, step_size
from shuffledp.distributions.lognormal_sums import LogNormalSum
from shuffledp.distributions.tilted_binomials import rounded
from shuffledp.pld import fourier_accountant, pure_steps
from shuffledp.pld.composition import Composition
from shuffledp.pld.outcomes import Lattice, Outcomes
from shuffledp.profiles import approximate
from shuffledp.profiles.gaussian import gaussian_noise
from shuffledp.rdp.clone_count import half_the_clones
from shuffledp.rdp.liew2022gaussian import liew2022gaussian_shuffle

HERE = {"n": 1000, "k": 100, "eps0": 1.0}
CHECK_IN = {"n": 40, "rate": 0.3, "eps0": 1.0}
# whose name a function of the package has as well
shuffled_gaussian = importlib.import_module("shuffledp.profiles.shuffled_gaussian")
ORDER = np.array([5.0])
HALF = np.full(1, 0.5)


def linear(order):
    return 0.01 * order


def convergence():
    size = {"dimension": 3, "lipschitz": 1.0, "diameter": 1.0}
    return girgis2021.girgis2021_convergence(50, **HERE, delta=1e-6, **size)


def sampled(bound):
    return profiles.subsampled(lambda eps: 0.3 * np.exp(-eps), gamma=0.1, bound=bound)(0.2)


def sampled_flat(bound):
    """A profile that does not fall shows what it is multiplied by alone."""
    values = profiles.subsampled(lambda eps: np.full(np.shape(eps), 0.3), gamma=0.1, bound=bound)([0.2, -0.2])
    return min(values, key=float)


def gaussians(bound):
    return profiles.shuffled_gaussian(0.5, n=1, sigma=1.0, bound=bound)


# by what is made large: (side, bound)
OUTWARD = {
    "girgis2021_ternary": (1, lambda: rdp.girgis2021_ternary(4, k=100, eps0=1.0)),
    "girgis2021_upper": (1, lambda: rdp.girgis2021_upper(5, **HERE)),
    "girgis2021_lower": (-1, lambda: rdp.girgis2021_lower(5, **HERE)),
    "girgis2021ccs": (1, lambda: rdp.girgis2021ccs_shuffle(5, n=10**6, eps0=1.0)),
    "liew2022gaussian": (1, lambda: liew2022gaussian_shuffle(5, n=10, sigma=1.0)),
    "wang2019": (1, lambda: rdp.wang2019_subsampled(5, gamma=0.1, rdp=linear)),
    "krr": (1, lambda: profiles.krr(0.5, n=50, categories=3, gamma=0.3)),
    "krr tail": (1, lambda: profiles.krr(0.5, n=50, categories=3, gamma=0.3, divergence="tail")),
    "rounded, upper": (1, lambda: float(rounded(HALF, np.zeros(1), "upper")[0])),
    "rounded, lower": (-1, lambda: float(rounded(HALF, np.zeros(1), "lower")[0])),
    "clones, upper": (1, lambda: profiles.clones(0.1, n=50, eps0=1.0)),
    "clones, lower": (-1, lambda: profiles.clones(0.1, n=50, eps0=1.0, bound="lower")),
    "three symbols": (-1, lambda: profiles.randomized_response_lower(0.1, n=50, eps0=1.0)),
    "two symbols": (-1, lambda: profiles.randomized_response_lower(0.1, n=50, eps0=1.0, categories=2)),
    "liew2022_upper": (1, lambda: liew2022.liew2022_upper(5, **CHECK_IN)),
    "liew2022_lower": (-1, lambda: liew2022.liew2022_lower(5, **CHECK_IN)),
    "shuffling conversion": (
        1,
        lambda: float(liew2022_conversions.ShufflingConversion(**CHECK_IN)(ORDER)[0]),
    ),
    "convergence": (1, lambda: convergence().excess_risk),
    "theorem 5": (1, lambda: distributed.theorem_5(5, n=40, rate=0.3, sigma=1.0)),
}
EPSILON = {
    "subsample, eps": (1, lambda: composition.subsample(eps=1.0, delta=0.0, gamma=0.1).eps),
    "subsample, delta": (1, lambda: composition.subsample(eps=1.0, delta=0.1, gamma=0.1).delta),
    "remaining delta": (-1, lambda: composition.remaining_delta(delta=1e-3, rounds=5, total_delta=0.1)),
    "kairouz2015": (1, lambda: composition.kairouz2015(eps=0.1, delta=0.0, rounds=50, total_delta=1e-6)),
    "kairouz2015, pure": (
        1,
        lambda: composition.kairouz2015(eps=0.1, delta=0, rounds=3, total_delta=0, method="optimal"),
    ),
    "kairouz2015, optimal": (
        1,
        lambda: composition.kairouz2015(eps=0.1, delta=0, rounds=50, total_delta=1e-6, method="optimal"),
    ),
    "advanced": (1, lambda: composition.advanced(eps=0.1, delta=0.0, rounds=50, total_delta=1e-6)),
    "closed form": (1, lambda: approximate_dp.feldman2021(n=10**6, eps0=1.0, delta=1e-6).eps),
    "check-in of Gaussians": (1, lambda: check_in_losses(n=5, rate=0.3, sigma=1.0).added.mass.sum()),
    "shuffled Gaussians, upper": (1, lambda: gaussians("upper")),
    "shuffled Gaussians, lower": (-1, lambda: gaussians("lower")),
    "steps": (1, lambda: pure_steps.advanced(np.full(3, 0.1), delta=1e-6)),
    "steps, pure": (1, lambda: pure_steps.numerical(np.full(3, 400.0), delta=1e-6)),
    "balle2020, pure": (1, lambda: balle2020.fixed_window(slots=1, eps0=250.0, delta=0.1, rounds=3)),
    "clones at a negative eps": (1, lambda: profiles.clones(-0.5, n=50, eps0=1.0)),
    "clones at a negative eps, lower": (-1, lambda: profiles.clones(-0.5, n=50, eps0=1.0, bound="lower")),
}
BALLE2020 = {
    "slots": lambda: float(balle2020.check_in_epsilons(slots=9, eps0=1.0)[0]),
    "shuffle": lambda: float(balle2020.shuffling_epsilons(n=900, eps0=1.0)[0]),
    "bins": lambda: float(balle2020.bins_epsilons(loads=[3, 4000], eps0=1.0)[0]),
    "closed form": lambda: balle2020.fixed_window(slots=10**4, eps0=0.1, delta=0.1),
    "sum": lambda: balle2020.fixed_window(slots=10**4, eps0=0.1, delta=0.1, strength="sum"),
    "repeated": lambda: balle2020.repeated_fixed_window(n=10**5, slots=10**4, eps0=0.1, delta=0.1),
    "averaging": lambda: balle2020.averaging(n=10**6, slots=10**4, eps0=0.1, delta=0.1, strength="sum"),
}


@pytest.mark.parametrize("name", OUTWARD)
def test_bounds_move_with_the_rounding_of_sums(monkeypatch, name):
    side, bound = OUTWARD[name]
    before = bound()
    monkeypatch.setattr(numerics, "OUTWARD", 1e-5)
    assert side * (bound() - before) > 1e-6 * before > 0


@pytest.mark.parametrize("name", EPSILON)
def test_bounds_move_with_the_rounding_of_doubles(monkeypatch, name):
    side, bound = EPSILON[name]
    before = bound()
    monkeypatch.setattr(numerics, "EPSILON", 1e-8)
    assert side * (bound() - before) > 1e-9 * before > 0


@pytest.mark.parametrize("name", BALLE2020)
def test_bounds_of_balle2020_move_with_their_rounding(monkeypatch, name):
    bound = BALLE2020[name]
    before = bound()
    for module in (loads, strengths, windows):
        monkeypatch.setattr(module, "OUTWARD", 1 + 1e-6)
    assert bound() > before * (1 + 5e-7)


def test_the_clones_that_are_counted_on_move_down(monkeypatch):
    k = 1 + 2 * round(1000 * math.e)
    before = half_the_clones(k, 1.0)
    monkeypatch.setattr(numerics, "EPSILON", 1e-3)
    assert half_the_clones(k, 1.0) < before


def test_disclosure_is_rounded_up():
    for eps0, delta0, n in ((1.5, 1e-9, 1000), (0.0, 1e-3, 7), (30.0, 1e-12, 10**6)):
        others = (n - 1) * 2 * (1 + 2 * Fraction(math.exp(-eps0)))
        assert approximate.disclosure(n=n, eps0=eps0, delta0=delta0) > Fraction(delta0) * (1 + others)


def test_the_least_noise_is_rounded_up():
    from shuffledp.profiles import gaussian

    for eps, delta in ((0.5, 1e-6), (3.0, 1e-10)):
        found = gaussian_noise(eps=eps, delta=delta)
        assert gaussian.gaussian_delta(eps=eps, noise=found) <= delta


def test_the_largest_loss_of_a_composition_is_rounded_up():
    lattice = Lattice(0.1, np.array([-1.0, 3.0]), np.array([0.5, 0.5]))
    assert Composition([(lattice, 7)], bound="upper").largest > 21 * Fraction(0.1)


def test_pure_dp_ends_a_composition_by_tails(monkeypatch):
    monkeypatch.setattr(composition, "_TAIL_ROUNDING", 1e-3)
    before = composition._optimal_by_tails(0.1, 3, 1e-30)
    monkeypatch.setattr(numerics, "EPSILON", 1e-8)
    assert composition._optimal_by_tails(0.1, 3, 1e-30) > before * (1 + 1e-9)


# by module and constant: what is moved, to which side
CONSTANTS = {
    "kairouz2015, by tails": (
        composition,
        "_TAIL_ROUNDING",
        1,
        lambda: composition._optimal_by_tails(0.1, 50, 1e-6),
    ),
    "lower bounds at pure DP": (
        registry,
        "_BASIC_ROUNDING",
        -1,
        lambda: accountants.epsilon("rr2-lower", n=1, k=1, eps0=1.0, rounds=3, delta=1e-300),
    ),
    "upper bounds at pure DP": (
        registry,
        "_BASIC_ROUNDING",
        1,
        lambda: accountants.epsilon("unshuffled-strong", n=1, k=1, eps0=1.0, rounds=3, delta=1e-300),
    ),
    "subsampled, upper": (profiles.subsampling, "_ROUNDING", 1, lambda: sampled("upper")),
    "subsampled, lower": (profiles.subsampling, "_ROUNDING", -1, lambda: sampled("lower")),
    "subsampled, factor, upper": (profiles.subsampling, "_ROUNDING", 1, lambda: sampled_flat("upper")),
    "subsampled, factor, lower": (profiles.subsampling, "_ROUNDING", -1, lambda: sampled_flat("lower")),
    "conversion, upper": (rdp.conversion, "_ROUNDING", 1, lambda: rdp.to_epsilon(linear, delta=1e-6).value),
    "conversion, lower": (
        rdp.conversion,
        "_ROUNDING",
        -1,
        lambda: rdp.to_epsilon(linear, delta=1e-6, bound="lower").value,
    ),
    "second moment": (step_size, "_OUTWARD", 1, lambda: convergence().second_moment),
    "numbers of reports": (
        check_in_gaussian,
        "_ROUNDING",
        1,
        lambda: accountants.epsilon(
            "check-in-gaussian-unshuffled", n=9, rate=0.3, sigma=1.0, rounds=5, delta=1e-3
        ),
    ),
    "Fourier accountant": (
        fourier_accountant,
        "_ROOT",
        1,
        lambda: fourier_accountant.fourier_epsilon(
            Outcomes(np.array([0.6, 0.4]), np.array([0.4, -0.4])), delta=0.01, rounds=3, form="hockey_stick"
        ),
    ),
    "no delta for a shuffle of Gaussians": (
        shuffled_gaussian,
        "_MOST_ROUNDING",
        1,
        lambda: profiles.shuffled_gaussian_epsilon(1e-95, n=1, sigma=1.0),
    ),
    "hardly a delta for a shuffle of Gaussians": (
        shuffled_gaussian,
        "_MOST_ROUNDING",
        1,
        lambda: profiles.shuffled_gaussian_epsilon(1e-88, n=2, sigma=10.0),
    ),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_bounds_move_with_the_rounding_of_their_own(monkeypatch, name):
    module, constant, side, bound = CONSTANTS[name]
    before = bound()
    monkeypatch.setattr(module, constant, 1e-5)
    assert side * (bound() - before) > 1e-6 * before > 0


def test_prices_of_the_shuffled_gaussian_are_rounded_outward(monkeypatch):
    grid = shuffled_gaussian._grid.__wrapped__
    loss, above, below = grid(1, 10.0)
    monkeypatch.setattr(numerics, "OUTWARD", 1e-5)
    same, higher, lower = grid(1, 10.0)
    assert (loss == same).all()
    assert (higher > above * (1 + 9e-6)).all()
    assert (lower < below * (1 - 9e-6)).all()


def test_a_put_from_a_nearer_strike_is_rounded_up():
    total = LogNormalSum(3, 1.0)
    for near, strike in ((2.7, 1.3), (1.1, 0.7), (0.9, 0.3)):
        exact = Fraction(total.price("put", near, "upper")) * Fraction(strike) / Fraction(near)
        assert total._price_from(near, "put", strike) > exact


def test_what_moved_reports_leave_of_delta_is_rounded_down(monkeypatch):
    monkeypatch.setattr(numerics, "EPSILON", 1e-6)
    asked = []

    def one(delta):
        asked.append(delta)
        return 1.0, 0.0

    for moved in (1e-30, 0.02):
        epsilon, _ = via_pld._with_moved(one, delta=0.1, moved=moved)
        assert epsilon > 1 + 0.9 * via_pld._SETTLED
        for given, paid in zip(asked, (2 * moved, moved * (1 + math.exp(epsilon))), strict=True):
            assert given < (0.1 - paid * (1 + 7e-6)) * (1 - 0.9e-6)
        asked.clear()
