"""The Gaussian mechanism, and the least noise with which it is (eps, delta)-DP: Balle and Wang 2018.

Theorem 8 of "Improving the Gaussian mechanism for differential privacy" (ICML 2018): adding N(0, sigma^2 I)
to what changes by at most D between neighbours is (eps, delta)-DP if and only if, with s = sigma/D,

    Phi(1/(2 s) - eps s) - e^eps Phi(-1/(2 s) - eps s) <= delta.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray

_ROUNDING = 16 * numerics.EPSILON  # of the logarithms, relative
_LARGEST_EPS = 1e6


def gaussian_delta(*, eps: float, noise: float) -> float:
    """Return delta of the Gaussian mechanism at eps (Balle and Wang 2018, Theorem 8).

    Args:
        eps: >= 0, at most 1e6.
        noise: standard deviation over the largest distance of two neighbours' values, > 0.

    Returns:
        An upper bound, above the exact value by rounding alone: at most 2e-13, and at most 1e-10 of itself
        for eps >= 0.1 and delta >= 1e-30.

    Raises:
        ValueError: an argument is out of range.
    """
    epsilon = _eps(eps)
    return float(_delta(epsilon, np.asarray(checks.positive("noise", noise))))


def gaussian_noise(*, eps: float, delta: float) -> float:
    """Return the least noise with which the Gaussian mechanism is (eps, delta)-DP.

    Args:
        eps: >= 0, at most 1e6.
        delta: in (0, 1), at least 1e-300.

    Returns:
        Standard deviation over the largest distance of two neighbours' values: an upper bound, so that the
        mechanism is (eps, delta)-DP, and above the least by 1e-10 relative at most for eps >= 0.1.

    Raises:
        ValueError: an argument is out of range, or so small that double precision cannot vouch for any noise.
    """
    epsilon, target = _eps(eps), checks.probability("delta", delta)
    if target < numerics.SMALLEST_DELTA:
        raise ValueError(f"delta must be at least {numerics.SMALLEST_DELTA:g}, got {delta!r}")
    log_low, log_high = np.asarray(-math.log(_LARGEST_EPS) - 10), np.asarray(0.0)
    while _delta(epsilon, np.exp(log_high)) > target:
        log_high = log_high + 1.0
        if log_high > 60:
            raise ValueError(
                f"eps and delta must not both be next to 0, got eps={eps!r} and delta={delta!r}: no noise "
                "can be told in double precision"
            )
    found = numerics.last_true(lambda x: _delta(epsilon, np.exp(x)) > target, log_low, log_high)
    return float(np.exp(found)) * (1 + _ROUNDING)


def _eps(value: float) -> float:
    epsilon = checks.real("eps", value, at_least=0.0)
    if epsilon > _LARGEST_EPS:
        raise ValueError(f"eps must be at most {_LARGEST_EPS:g}, got {value!r}")
    return epsilon


def _delta(eps: float, noise: FloatArray) -> FloatArray:
    half, shift = 0.5 / noise, eps * noise
    first = special.log_ndtr(half - shift)
    second = eps + special.log_ndtr(-half - shift)
    exact = np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))
    # the arguments are rounded as well as the logarithms: one more for the slope of log Phi
    size = 1.0 + np.abs(first) + np.abs(second) + eps + (half + shift) * np.abs(half - shift)
    rounding = np.exp(first) * _ROUNDING * size + np.finfo(np.float64).tiny
    return np.minimum(exact + rounding, 1.0)
