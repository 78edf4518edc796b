"""The plain enumeration of the clones pair, and the variants that figure 2 of koskela2022 draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from shuffledp import accountants, profiles
from shuffledp.accountants.subsampled_shuffle.koskela2022 import grid_lattice
from shuffledp.pld.outcomes import Outcomes, dominating
from shuffledp.profiles.enumeration import enumerated_clones

SETTING = {"n": 10**4, "k": 100, "eps0": 3.0}


@pytest.mark.parametrize(("n", "eps0"), [(1, 1.0), (2, 0.3), (50, 2.0), (3000, 4.0), (10**4, 1.0)])
def test_the_enumeration_gives_the_profile(n, eps0):
    pair = dominating(enumerated_clones(n=n, eps0=eps0, tau=1e-12), gamma=1.0)
    for eps in (0.0, 0.2 * eps0, 0.7 * eps0):
        above = pair.loss > eps
        delta = float(pair.mass[above] @ -np.expm1(eps - pair.loss[above]))
        exact = profiles.clones(eps, n=n, eps0=eps0, bound="exact")
        assert delta == pytest.approx(exact, rel=1e-9, abs=2e-12)
        assert delta <= exact * (1 + 1e-9)
        assert exact <= (delta + pair.infinite) * (1 + 1e-9)


def test_what_is_left_out_is_the_mass_outside_the_bounds():
    n, eps0, tau = 400, 2.0, 1e-3
    share, wide = 2 / (math.exp(eps0) + 1), math.sqrt(math.log(4 / tau) / 2)
    outside = 0.0
    for clones in range(n):
        weight = stats.binom.pmf(clones, n - 1, share)
        if abs(clones - share * (n - 1)) > wide * math.sqrt(n - 1):
            outside += weight
        else:
            reach = wide * math.sqrt(clones)
            far = [a for a in range(clones + 1) if abs(a - clones / 2) > reach]
            outside += weight * float(np.sum(stats.binom.pmf(far, clones, 0.5)))
    pair = enumerated_clones(n=n, eps0=eps0, tau=tau)
    assert pair.left_out == pytest.approx(outside, rel=1e-9)
    assert 0 < pair.left_out < tau
    assert math.fsum(pair.coin) + pair.left_out >= 1 - 1e-12


def test_the_number_of_outcomes_grows_like_n():
    sizes = [enumerated_clones(n=n, eps0=2.0, tau=1e-12).coin.size for n in (2500, 10**4, 4 * 10**4)]
    growth = np.array(sizes[1:]) / np.array(sizes[:-1])
    assert growth == pytest.approx([4, 4], rel=0.2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"n": 0}, "n must be a whole number"),
        ({"eps0": 0}, "eps0 must be > 0"),
        ({"eps0": -1}, "eps0 must be a finite number >= 0"),
        ({"tau": 0}, r"tau must lie in \(0, 1\)"),
        ({"n": 10**7}, "n must be smaller to enumerate every outcome: n=10000000 has more than 4000000"),
        ({"n": 10**15}, "n must be smaller to enumerate every outcome: n=1000000000000000 has"),
    ],
)
def test_arguments_out_of_range(change, says):
    with pytest.raises(ValueError, match=says):
        enumerated_clones(**{"n": 100, "eps0": 1.0, "tau": 1e-12, **change})


# --- accountants


@pytest.mark.parametrize("rounds", [1, 30])
def test_the_enumeration_and_the_blocks_agree(rounds):
    setting = {**SETTING, "rounds": rounds, "delta": 1e-6}
    plain, blocks = (
        accountants.epsilon(name, **setting) for name in ("koskela2022-enumeration", "clones-pld")
    )
    assert plain == pytest.approx(blocks, rel=1e-4)


def test_a_finer_grid_is_never_worse_and_both_are_above_one_direction():
    setting = {**SETTING, "rounds": 2000, "delta": 1e-3}
    coarse, fine, own, one = (
        accountants.epsilon(name, **setting)
        for name in (
            "koskela2022-grid-500",
            "koskela2022-grid-3000",
            "clones-pld",
            "koskela2022-one-direction",
        )
    )
    assert one < fine < coarse < 1.01 * fine
    assert fine == pytest.approx(own, rel=1e-3)


def test_one_round_in_one_direction_is_the_mixture():
    delta = 1e-4
    one = accountants.epsilon("koskela2022-one-direction", **SETTING, rounds=1, delta=delta)
    profile = profiles.subsampled(
        lambda eps: profiles.clones(eps, n=SETTING["k"], eps0=SETTING["eps0"], bound="exact"), gamma=0.01
    )
    # at eps >= 0 the dominating profile is that of this direction
    assert profile(one) >= delta
    assert profile(one * 1.002) <= delta


@pytest.mark.parametrize("points", [50, 51])
def test_the_grid_keeps_both_masses(points):
    loss = np.array([-0.4, -0.1, 0.0, 0.03, 0.2, 0.31])
    mass = np.array([0.1, 0.2, 0.3, 0.2, 0.15, 0.05])
    lattice = grid_lattice(Outcomes(mass, loss), points=points, reach=0.25)
    assert lattice.infinite == pytest.approx(0.05)
    assert lattice.mass.sum() == pytest.approx(0.95)
    assert np.abs(lattice.loss).max() <= 0.25 * (1 + 1e-12)
    grid = np.linspace(-0.25, 0.25, points)
    assert np.abs(lattice.loss[:, None] - grid).min(axis=1).max() < 1e-12
    kept = np.maximum(loss[:-1], -0.25)  # what lies below moves up
    assert float(lattice.mass @ np.exp(-lattice.loss)) == pytest.approx(float(mass[:-1] @ np.exp(-kept)))
    assert (0.0 in lattice.loss.round(12)) == (points % 2 == 1)


def test_variants_are_kept_out_of_the_list():
    variants = ["koskela2022-grid-500", "koskela2022-grid-3000", "koskela2022-one-direction"]
    for name in variants:
        assert accountants.get(name).variant_of == "clones-pld"
        assert name not in accountants.names()
