"""What Lemma 7 of koskela2022 does to a profile, whatever the profile."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import profiles

ROUNDING = 1e-10
EPS = np.concatenate([-np.geomspace(8, 1e-3, 25), [0.0], np.geomspace(1e-3, 8, 25)])

every = settings(deadline=None, max_examples=30, derandomize=True, database=None)
rates = st.floats(1e-6, 1.0)
# halves of symmetric pairs: masses under P of outcomes with positive losses, and these losses
halves = st.lists(st.tuples(st.floats(1e-6, 1.0), st.floats(0.01, 5.0)), min_size=1, max_size=6)


def symmetric_profile(half):
    """The profile of a pair that exchanging P and Q maps to itself."""
    mass, loss = (np.array(column) for column in zip(*half, strict=True))
    mass = mass / np.sum(mass * (1 + np.exp(-loss)))
    mass, loss = np.concatenate([mass, mass * np.exp(-loss)]), np.concatenate([loss, -loss])

    def profile(eps):
        return np.maximum(-np.expm1(np.asarray(eps)[..., None] - loss), 0.0) @ mass

    return profile


@every
@given(half=halves, gamma=rates)
def test_it_remains_a_symmetric_profile(half, gamma):
    delta = profiles.subsampled(symmetric_profile(half), gamma=gamma)(EPS)
    alpha = np.exp(EPS)
    assert (np.diff(delta) <= ROUNDING).all()
    assert (delta >= np.maximum(1 - alpha, 0) - ROUNDING).all()
    assert (delta <= 1).all()
    slopes = np.diff(delta) / np.diff(alpha)
    assert (np.diff(slopes) >= -1e-6).all(), "convex in alpha"
    mirrored = 1 - alpha + alpha * delta[::-1]
    assert delta == pytest.approx(mirrored, abs=ROUNDING)


@every
@given(half=halves, first=rates, second=rates)
def test_sampling_twice_is_sampling_once(half, first, second):
    profile = symmetric_profile(half)
    twice = profiles.subsampled(profiles.subsampled(profile, gamma=first), gamma=second)
    once = profiles.subsampled(profile, gamma=first * second)
    assert twice(EPS) == pytest.approx(once(EPS), rel=1e-7, abs=ROUNDING)


@every
@given(half=halves, gammas=st.tuples(rates, rates))
def test_a_larger_sample_is_never_more_private(half, gammas):
    less, more = (profiles.subsampled(symmetric_profile(half), gamma=gamma)(EPS) for gamma in sorted(gammas))
    assert (less <= more + ROUNDING).all()


@every
@given(n=st.integers(1, 3000), eps0=st.floats(0.01, 6.0), gamma=rates)
def test_clones_are_symmetric_and_fall(n, eps0, gamma):
    def profile(eps):
        return profiles.clones(eps, n=n, eps0=eps0)

    eps = EPS[::5]  # -8, ..., 0, ..., 8
    for delta in (profile(eps), profiles.subsampled(profile, gamma=gamma)(eps)):
        assert (np.diff(delta) <= ROUNDING).all()
        assert delta[eps <= 0] == pytest.approx(
            (1 - np.exp(eps) + np.exp(eps) * delta[::-1])[eps <= 0], abs=ROUNDING
        )
    larger, more = profiles.clones(eps, n=n, eps0=1.1 * eps0), profiles.clones(eps, n=n + 1, eps0=eps0)
    assert (profile(eps) <= larger + ROUNDING).all(), "grows with eps0"
    assert (more <= profile(eps) + ROUNDING).all(), "falls with n"


def test_everyone_in_the_sample_changes_nothing():
    profile = symmetric_profile([(0.3, 0.7), (0.1, 2.0)])
    assert profiles.subsampled(profile, gamma=1)(EPS) == pytest.approx(profile(EPS), abs=1e-15)


@pytest.mark.parametrize("gamma", [0, -0.1, 1.01, math.nan])
def test_rates_out_of_range(gamma):
    with pytest.raises(ValueError, match=r"gamma must lie in \(0, 1\]"):
        profiles.subsampled(symmetric_profile([(0.3, 0.7)]), gamma=gamma)
