"""Subsampling without replacement, on privacy profiles: koskela2022, Lemma 7."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.distributions.tilted_binomials import Bound

Profile = Callable[[FloatArray], "float | FloatArray"]

_SIDES = {"upper": 1, "lower": -1, "exact": 0}
_ROUNDING = 16 * numerics.EPSILON


def subsampled(profile: Profile, *, gamma: float, bound: Bound = "upper") -> Profile:
    """Return the profile after drawing a fraction gamma of the records without replacement.

    Args:
        profile: profile of the mechanism that runs on the sample, h(eps) = sup H_{e^eps} over neighbours.
        gamma: sampling rate, in (0, 1].
        bound: side on which ``profile`` errs, and to which the result is rounded: "upper", "lower" or
            "exact", which is to the nearest.

    Returns:
        The profile gamma h(log(1 + (e^eps - 1)/gamma)) for eps >= 0 and, with w = 1 - (1 - gamma) e^eps,
        w h(eps + log(gamma/w)) for eps < 0. It is an upper bound for both directions of neighbours if
        ``profile`` is one, and a lower bound on that upper bound if ``profile`` is a lower one.

    Raises:
        ValueError: gamma is out of range, or an unknown bound.
    """
    gamma = checks.probability("gamma", gamma, one=True)
    side = _SIDES[checks.choice("bound", bound, tuple(_SIDES))]
    if gamma == 1:
        return profile

    def amplified(eps: ArrayLike) -> float | FloatArray:
        targets = checks.reals("eps", eps)
        size, below = np.abs(targets), np.minimum(targets, 0.0)
        outer = np.where(targets >= 0, gamma, -np.expm1(below) + gamma * np.exp(below))
        # log(1 + (e^|eps| - 1)/gamma), negative for eps < 0; for large |eps| without the 1, since e^|eps|
        # overflows
        inner = np.where(
            size > 30, size - math.log(gamma), np.log1p(np.expm1(np.minimum(size, 30.0)) / gamma)
        )
        # a profile falls in eps; the factor has a rounding error as well
        inner = np.copysign(inner, targets) - side * _ROUNDING * inner
        value = outer * np.asarray(profile(inner)) * (1 + side * _ROUNDING)
        return checks.like_input(np.clip(value, 0.0, 1.0))

    return amplified
