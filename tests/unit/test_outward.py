"""What is rounded outward is rounded to its own side.

The few units in the last place that bounds are moved by are made large, and every bound must move outward:
one that is rounded to the wrong side, or not at all, moves inward or stays.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from shuffledp import closed_form, composition, numerics, profiles, rdp
from shuffledp.checkin import balle2020, liew2022, liew2022_conversions, pure_steps
from shuffledp.checkin import liew2022_distributed as distributed
from shuffledp.pld.composition import Composition
from shuffledp.pld.outcomes import Lattice
from shuffledp.profiles import approximate
from shuffledp.profiles.gaussian import gaussian_noise
from shuffledp.rdp.clone_count import half_the_clones
from shuffledp.rdp.liew2022gaussian import liew2022gaussian_shuffle
from shuffledp.tilted_binomials import rounded

HERE = {"n": 1000, "k": 100, "eps0": 1.0}
CHECK_IN = {"n": 40, "rate": 0.3, "eps0": 1.0}
ORDER = np.array([5.0])
HALF = np.full(1, 0.5)


def linear(order):
    return 0.01 * order


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
    "closed form": (1, lambda: closed_form.feldman2021(n=10**6, eps0=1.0, delta=1e-6).eps),
    "steps": (1, lambda: pure_steps.advanced(np.full(3, 0.1), delta=1e-6)),
    "steps, pure": (1, lambda: pure_steps.numerical(np.full(3, 400.0), delta=1e-6)),
    "balle2020, pure": (1, lambda: balle2020.fixed_window(m=1, eps0=250.0, delta=0.1, rounds=3)),
    "clones at a negative eps": (1, lambda: profiles.clones(-0.5, n=50, eps0=1.0)),
    "clones at a negative eps, lower": (-1, lambda: profiles.clones(-0.5, n=50, eps0=1.0, bound="lower")),
}
BALLE2020 = {
    "slots": lambda: float(balle2020.check_in_epsilons(m=9, eps0=1.0)[0]),
    "shuffle": lambda: float(balle2020.shuffling_epsilons(n=900, eps0=1.0)[0]),
    "bins": lambda: float(balle2020.bins_epsilons(loads=[3, 4000], eps0=1.0)[0]),
    "closed form": lambda: balle2020.fixed_window(m=10**4, eps0=0.1, delta=0.1),
    "sum": lambda: balle2020.fixed_window(m=10**4, eps0=0.1, delta=0.1, strength="sum"),
    "repeated": lambda: balle2020.repeated_fixed_window(n=10**5, m=10**4, eps0=0.1, delta=0.1),
    "averaging": lambda: balle2020.averaging(n=10**6, m=10**4, eps0=0.1, delta=0.1, strength="sum"),
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
    monkeypatch.setattr(balle2020, "_OUTWARD", 1 + 1e-6)
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
