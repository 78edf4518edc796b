"""From a privacy profile to epsilon."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.profiles.subsampling import Profile


def to_epsilon(profile: Profile, *, delta: ArrayLike, largest: float) -> float | FloatArray:
    """Return the smallest eps >= 0 at which a privacy profile is at most delta, rounded up (by 1e-12).

    Args:
        profile: non-increasing in eps.
        delta: targets, in [0, 1), any shape.
        largest: an eps at which the profile is known to be 0 (the pure DP parameter).

    Returns:
        Of the shape of ``delta``: an upper bound on epsilon if the profile is an upper bound, at most
        ``largest``; for a profile that is a lower bound, a value within 1e-12 of itself of a lower bound.

    Raises:
        ValueError: an argument is out of range.
    """
    deltas = checks.probabilities("delta", delta, zero=True)
    largest = checks.real("largest", largest, at_least=0.0)
    targets = deltas.ravel()

    def height(eps: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return _difference(np.log(np.asarray(profile(eps))), np.log(targets))

    found = numerics.crossing(height, np.zeros(targets.shape), np.full(targets.shape, largest))
    return checks.like_input(found.reshape(deltas.shape))


def _difference(upper: FloatArray, lower: FloatArray) -> FloatArray:
    """Return upper - lower, where two infinities cancel: a profile of 0 meets a target of 0."""
    return np.subtract(upper, lower, out=np.zeros(upper.shape), where=upper != lower)
