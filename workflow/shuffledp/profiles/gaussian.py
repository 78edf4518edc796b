"""The Gaussian mechanism: its privacy profile, epsilon of any number of rounds, and the least noise for a
given epsilon and delta.

balle2018analytic ("Improving the Gaussian mechanism for differential privacy", ICML 2018), Theorem 8: adding
N(0, sigma^2 I) to what changes by at most D between neighbours is (eps, delta)-DP if and only if, with
s = sigma/D,

    Phi(1/(2 s) - eps s) - e^eps Phi(-1/(2 s) - eps s) <= delta.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.profiles.inversion import to_epsilon

_ROUNDING = 16 * numerics.EPSILON  # relative rounding error of logarithms
_LARGEST_EPS = 1e6
_HUGE = 1e150  # a larger epsilon counts as infinite, since products of such numbers overflow


def gaussian_delta(*, eps: float, noise: float) -> float:
    """Return delta of the Gaussian mechanism at eps (balle2018analytic, Theorem 8).

    Args:
        eps: >= 0, at most 1e6.
        noise: standard deviation over the largest distance of two neighbours' values, > 0.

    Returns:
        An upper bound that exceeds the exact value by rounding only: by at most 2e-13, and by at most 1e-10
        relative for eps >= 0.1 and delta >= 1e-30.

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
        mechanism is (eps, delta)-DP. It exceeds the least noise by at most 1e-10 relative for eps >= 0.1.

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
                "can be certified in double precision; take a larger one"
            )
    found = numerics.last_true(lambda x: _delta(epsilon, np.exp(x)) > target, log_low, log_high)
    return float(np.exp(found)) * (1 + _ROUNDING)


def gaussian_epsilon(delta: ArrayLike, *, mu: float) -> float | FloatArray:
    """Return epsilon of a Gaussian mechanism (balle2018analytic, Theorem 8), rounded up.

    T rounds with deviation sigma and records at a distance of at most D are one mechanism with
    mu = sqrt(T) D/sigma. Mixing the reports of several clients afterwards makes nothing worse.

    Args:
        delta: targets, in (0, 1), any shape.
        mu: largest distance of neighbours in standard deviations of the noise, > 0.

    Returns:
        Epsilon, of the shape of ``delta``: an upper bound. It exceeds the exact value by more than rounding
        only where delta is below some 1e-14 times mu or the square of mu.

    Raises:
        ValueError: an argument is out of range.
    """
    targets = checks.probabilities("delta", delta)
    mu = checks.real("mu", mu, at_least=math.ulp(0.0))
    if not targets.size:
        return targets
    # the loss of a report is normal, of mean mu^2/2 and deviation mu
    largest = mu * (mu / 2 + math.sqrt(-2 * math.log(float(targets.min()))))
    if largest > _HUGE:
        return np.full(targets.shape, math.inf) if targets.ndim else math.inf
    return to_epsilon(lambda eps: _profile(eps, mu), delta=targets, largest=largest)


def gaussian_mixture_epsilon(
    delta: float, *, mu: FloatArray, weights: FloatArray, infinite: float = 0.0
) -> float:
    """Return epsilon of a Gaussian mechanism that is drawn at random from several; which one is public.

    Its privacy profile is the mean of theirs, and epsilon is rounded up.

    Args:
        delta: target, in (0, 1), > ``infinite``.
        mu: of each mechanism, as for ``gaussian_epsilon``, >= 0, one-dimensional, at least one.
        weights: their probabilities, or upper bounds on them.
        infinite: bound on the probability of any other mechanism, which counts as disclosing everything.

    Returns:
        An upper bound; it exceeds the exact value by more than rounding only for a delta as small as in
        ``gaussian_epsilon``.

    Raises:
        ValueError: ``delta`` is out of range.
    """
    rest = checks.probability("delta", delta) - infinite
    if rest <= 0:
        raise ValueError(f"delta must be > infinite = {infinite!r}, got {delta!r}")
    moving = mu > 0
    most = float(mu.max())
    if not moving.any() or rest >= float(weights[moving].sum()):
        return 0.0

    def profile(eps: FloatArray) -> FloatArray:
        return np.asarray(_profile(eps[..., None], mu[moving]) @ weights[moving])

    largest = most * (most / 2 + math.sqrt(-2 * math.log(rest)))
    if largest > _HUGE:
        return math.inf
    return float(to_epsilon(profile, delta=rest, largest=largest))


def _eps(value: float) -> float:
    epsilon = checks.real("eps", value, at_least=0.0)
    if epsilon > _LARGEST_EPS:
        raise ValueError(f"eps must be at most {_LARGEST_EPS:g}, got {value!r}")
    return epsilon


def _delta(eps: float, noise: FloatArray) -> FloatArray:
    return np.minimum(_profile(np.asarray(eps), 1 / noise) + np.finfo(np.float64).tiny, 1.0)


def _profile(eps: FloatArray, mu: FloatArray | float) -> FloatArray:
    """Return delta at each eps, rounded up, for neighbours at a distance of mu deviations of the noise."""
    near, far = eps / mu - mu / 2, eps / mu + mu / 2
    # e^eps times the density at ``far`` is the density at ``near``: a difference of two Mills ratios
    front = np.exp(-near * near / 2) / 2
    first = np.where(
        near > 0, front * special.erfcx(np.maximum(near, 0.0) / math.sqrt(2)), special.ndtr(-near)
    )
    second = front * special.erfcx(far / math.sqrt(2))
    # errors of the functions; of the exponent of ``front``, where the tail is a multiple of it; and of the
    # arguments, times the density at ``near``
    rounding = 32 * (first + second) + np.maximum(near, 0.0) ** 2 * first
    rounding += 4 * math.sqrt(2 / math.pi) * (np.abs(near) + far) * front
    return first - second + numerics.EPSILON * rounding
