"""Theorem 3 of girgis2021: its constants by hand, its privacy by Theorem 1, and a run that keeps to it."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import accountants
from shuffledp import convergence as theory
from shuffledp.convergence import step_size
from shuffledp.randomizers import constants

SETTING = {
    "n": 10_000,
    "k": 500,
    "eps0": 2.0,
    "delta": 1e-6,
    "dimension": 785,
    "lipschitz": 3.0,
    "diameter": 2.0,
}
BAD = {
    "rounds": [0, 1.5, -1, math.nan, math.inf],
    "k": [0, 10_001, 1.5],
    "eps0": [0.0, -1.0, math.nan, math.inf],
    "delta": [0.0, 1.0],
    "dimension": [0, 2.5],
    "lipschitz": [0.0, -1.0, math.nan, math.inf],
    "diameter": [0.0, -1.0, math.nan, math.inf],
    "norm": [0.5, 3, math.nan, "2"],
    "variance": [-1.0, math.nan, math.inf],
}


def by_hand(rounds, *, k, eps0, dimension, lipschitz, diameter, norm, **_):
    """The formulas of the paper, in fifty digits."""
    with mpmath.workdps(50):
        e = mpmath.exp(eps0)
        factor = {1: dimension, 2: 14 * dimension, math.inf: dimension**2}[norm]
        local = factor * lipschitz**2 * ((e + 1) / (e - 1)) ** 2
        longest = max(mpmath.mpf(dimension) ** (1 - 2 / mpmath.mpf(norm)), 1)
        g = mpmath.sqrt(longest * mpmath.mpf(lipschitz) ** 2 + local / k)
        return 2 * diameter * g * (2 + mpmath.log(rounds)) / mpmath.sqrt(rounds)


@given(
    rounds=st.integers(1, 10**9),
    norm=st.sampled_from([1, 2, math.inf]),
    k=st.integers(1, 10_000),
    eps0=st.floats(1e-3, 20),
    dimension=st.integers(1, 10**6),
    lipschitz=st.floats(1e-6, 1e6),
)
def test_the_bound_is_the_papers_rounded_up(rounds, norm, k, eps0, dimension, lipschitz):
    moment = step_size.second_moment(k=k, dimension=dimension, eps0=eps0, lipschitz=lipschitz, norm=norm)
    setting = {"k": k, "eps0": eps0, "dimension": dimension, "lipschitz": lipschitz, "diameter": 2.0}
    exact = by_hand(rounds, norm=norm, **setting)
    found = 2 * 2.0 * math.sqrt(moment) * (2 + math.log(rounds)) / math.sqrt(rounds)
    assert exact <= found <= exact * (1 + 1e-10)


@pytest.mark.parametrize("norm", [1, 2, math.inf])
def test_both_parts(norm):
    rounds = np.array([1, 10, 1000, 100_000])
    found = theory.girgis2021_convergence(rounds, norm=norm, **SETTING)
    for value, t in zip(found.excess_risk, rounds.tolist(), strict=True):
        exact = by_hand(t, norm=norm, **SETTING)
        assert exact <= value <= exact * (1 + 1e-10)
    privacy = {key: SETTING[key] for key in ("n", "k", "eps0", "delta")}
    column = accountants.get("girgis2021-upper")
    for value, t in zip(found.epsilon, rounds.tolist(), strict=True):
        assert value == pytest.approx(column.details(rounds=t, **privacy)["theorem_epsilon"], rel=1e-9)
    assert found.first_step == pytest.approx(2.0 / math.sqrt(found.second_moment))
    assert (np.diff(found.excess_risk) < 0).all()
    assert (np.diff(found.epsilon) > 0).all()
    one = theory.girgis2021_convergence(1000, norm=norm, **SETTING)
    assert isinstance(one.excess_risk, float)
    assert (one.excess_risk, one.epsilon) == (found.excess_risk[2], found.epsilon[2])


def test_steps_shrink_like_the_root_of_the_round():
    assert step_size.step(1, diameter=3.0, moment=4.0) == 1.5
    assert step_size.step(9, diameter=3.0, moment=4.0) == 0.5


@pytest.mark.parametrize("dimension", [2, 10, 785, 13_706])
def test_the_papers_variance_covers_the_hemisphere(dimension):
    own = constants.hemisphere_scale(dimension=dimension, eps0=1.5) ** 2
    named = step_size.local_variance(dimension=dimension, eps0=1.5, lipschitz=1.0, norm=2)
    assert own < named < 14 * own
    with_own = theory.girgis2021_convergence(10, variance=9 * own, **SETTING)
    assert with_own.second_moment == pytest.approx(9 + 9 * own / 500)


def test_a_bound_beyond_float64_is_infinite():
    found = theory.girgis2021_convergence(10, **{**SETTING, "lipschitz": 1e200})
    assert (found.excess_risk, found.first_step) == (math.inf, 0.0)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in BAD for value in BAD[name]])
def test_bad_arguments_are_named(name, value):
    arguments = {"rounds": 10, **SETTING, name: value}
    with pytest.raises(ValueError, match=rf"^{name} must"):
        theory.girgis2021_convergence(arguments.pop("rounds"), **arguments)
