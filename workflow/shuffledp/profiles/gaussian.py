"""The Gaussian mechanism: its privacy profile, and epsilon of any number of rounds."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks
from shuffledp.checks import FloatArray
from shuffledp.numerics import EPSILON
from shuffledp.profiles.inversion import to_epsilon


def gaussian_epsilon(delta: ArrayLike, *, mu: float) -> float | FloatArray:
    """Epsilon of a Gaussian mechanism (balle2018analytic, Theorem 8), rounded up.

    T rounds with deviation sigma and records at a distance of at most D are one mechanism with
    mu = sqrt(T) D/sigma. Mixing the reports of several clients afterwards makes nothing worse.

    Args:
        delta: targets, in (0, 1), any shape.
        mu: largest distance of neighbours in standard deviations of the noise, > 0.

    Returns:
        Of the shape of ``delta``: epsilon, an upper bound, by more than rounding only where delta is some
        1e-14 or less times mu or the square of mu.

    Raises:
        ValueError: an argument is out of range.
    """
    targets = checks.probabilities("delta", delta)
    mu = checks.real("mu", mu, at_least=math.ulp(0.0))
    if not targets.size:
        return targets
    # the loss of a report is normal, of mean mu^2/2 and deviation mu
    largest = mu * (mu / 2 + math.sqrt(-2 * math.log(float(targets.min()))))

    def profile(eps: FloatArray) -> FloatArray:
        near, far = eps / mu - mu / 2, eps / mu + mu / 2
        # e^eps times the density at ``far`` is the density at ``near``: a difference of two Mills ratios
        front = np.exp(-near * near / 2) / 2
        first = np.where(
            near > 0, front * special.erfcx(np.maximum(near, 0.0) / math.sqrt(2)), special.ndtr(-near)
        )
        second = front * special.erfcx(far / math.sqrt(2))
        return first - second + EPSILON * (32 + 4 * np.abs(near) * (np.abs(near) + far)) * (first + second)

    return to_epsilon(profile, delta=targets, largest=largest)
