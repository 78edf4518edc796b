"""From a privacy profile to epsilon."""

from __future__ import annotations

import numpy as np

from shuffledp import checks, numerics
from shuffledp.profiles.subsampling import Profile


def to_epsilon(profile: Profile, *, delta: float, largest: float) -> float:
    """Return the smallest eps >= 0 at which a privacy profile is at most delta, rounded up.

    Args:
        profile: non-increasing in eps.
        delta: target, in [0, 1).
        largest: an eps at which the profile is known to be 0 (the pure DP parameter).

    Returns:
        An upper bound on epsilon if the profile is an upper bound, at most ``largest``; for a profile that is
        a lower bound, a value within rounding (relative 1e-15) of a lower bound.

    Raises:
        ValueError: an argument is out of range.
    """
    delta = checks.probability("delta", delta, zero=True)
    largest = checks.real("largest", largest, at_least=0.0)
    found = numerics.last_true(lambda eps: np.asarray(profile(eps)) > delta, np.zeros(1), np.full(1, largest))
    return float(found[0])
