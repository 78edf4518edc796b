"""Subsampling without replacement, on privacy profiles: koskela2022, Lemma 7."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks
from shuffledp.checks import FloatArray

Profile = Callable[[FloatArray], "float | FloatArray"]


def subsampled(profile: Profile, *, gamma: float) -> Profile:
    """Return the profile after drawing a fraction gamma of the records without replacement.

    Args:
        profile: profile of the mechanism that runs on the sample, h(eps) = sup H_{e^eps} over neighbours.
        gamma: sampling rate, in (0, 1].

    Returns:
        The profile gamma h(log(1 + (e^eps - 1)/gamma)) for eps >= 0 and, with w = 1 - (1 - gamma) e^eps,
        w h(eps + log(gamma/w)) below: an upper bound in both directions of neighbours if ``profile`` is
        one, and a lower bound on that bound if it is a lower one.

    Raises:
        ValueError: gamma is out of range.
    """
    gamma = checks.probability("gamma", gamma, one=True)

    def amplified(eps: ArrayLike) -> float | FloatArray:
        targets = checks.reals("eps", eps)
        above, below = np.maximum(targets, 0.0), np.minimum(targets, 0.0)
        outer = np.where(targets >= 0, gamma, -np.expm1(below) + gamma * np.exp(below))
        # log(1 + (e^eps - 1)/gamma), where e^eps overflows without the constant
        plus = np.where(
            above > 30, above - math.log(gamma), np.log1p(np.expm1(np.minimum(above, 30.0)) / gamma)
        )
        inner = np.where(targets >= 0, plus, below + math.log(gamma) - np.log(outer))
        return checks.like_input(outer * np.asarray(profile(inner)))

    return amplified
