"""Constants of the local randomisers: scales that make them unbiased, and the best PrivUnit cap.

Pure float64 mathematics in log space. Arguments are taken as valid: ``registry.create`` checks them. Each
value is an estimate good to some 1e-13 relative; what keeps a randomiser eps0-LDP is the probability with
which it draws, and ``base.rare`` rounds that to the safe side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import optimize, special

_ASYMPTOTIC = 64.0  # from here on the first terms of the series below are exact to the last digit


def contrast(eps0: float) -> float:
    """Return c = (e^eps0 + 1)/(e^eps0 - 1), by which one randomised bit must be scaled up (eps0 > 0)."""
    return 1.0 / math.tanh(eps0 / 2)


def half_step(z: float) -> float:
    """Return Gamma(z + 1/2)/Gamma(z) for z > 0; a difference of log-gammas would lose digits at large z."""
    if z < _ASYMPTOTIC:
        return math.exp(math.lgamma(z + 0.5) - math.lgamma(z))
    w = 1.0 / z
    series = 1 + w * (
        -1 / 8 + w * (1 / 128 + w * (5 / 1024 + w * (-21 / 32768 + w * (-399 / 262144 + w * 869 / 4194304))))
    )
    return math.sqrt(z) * series


def hemisphere_scale(*, dimension: int, eps0: float) -> float:
    """Return the length of a hemisphere message for the unit ball in ``dimension`` >= 2, eps0 > 0.

    It is c sqrt(pi) Gamma((d+1)/2)/Gamma(d/2) (Duchi, Jordan and Wainwright), which makes the mean of the
    message its input.
    """
    return contrast(eps0) * math.sqrt(math.pi) * half_step(dimension / 2)


def cap_measure(*, dimension: int, threshold: float) -> float:
    """Return the share of the unit sphere with <v, u> >= ``threshold``, which lies in [0, 1)."""
    return 0.5 * float(special.betaincc(0.5, (dimension - 1) / 2, threshold * threshold))


def log_cap_moment(*, dimension: int, threshold: float) -> float:
    """Return log E[<v, u>; <v, u> >= ``threshold``] of a uniform v on the unit sphere (0 <= threshold < 1).

    It is the logarithm of (1 - threshold^2)^((d-1)/2)/((d-1) B(1/2, (d-1)/2)), whose power and beta function
    both underflow in high dimension.
    """
    z = (dimension - 1) / 2
    log_beta = 0.5 * math.log(math.pi) - math.log(half_step(z))
    return z * math.log1p(-threshold * threshold) - math.log(dimension - 1) - log_beta


def privunit_scale(*, dimension: int, threshold: float, cap_probability: float) -> float:
    """Return the length 1/m of a PrivUnit message for unit vectors (Bhowmick et al. 2018, algorithm 1).

    m is the mean of <v, u> for v drawn from the cap {<v, u> >= threshold} with probability
    ``cap_probability`` and from its complement otherwise.
    """
    cap = cap_measure(dimension=dimension, threshold=threshold)
    moment = math.exp(log_cap_moment(dimension=dimension, threshold=threshold))
    return 1.0 / (moment * (cap_probability / cap - (1 - cap_probability) / (1 - cap)))


@dataclass(frozen=True)
class PrivUnit:
    """A PrivUnit mechanism that spends eps0 in full.

    Attributes:
        threshold: the cap is {<v, u> >= threshold}.
        cap: its share of the sphere.
        rest_probability: probability of drawing from the complement of the cap; the small one of the two is
            kept, since 1 minus it may round to 1.
        scale: length 1/m of the message for unit vectors.
    """

    threshold: float
    cap: float
    rest_probability: float
    scale: float


def privunit(*, dimension: int, eps0: float) -> PrivUnit:
    """Return the PrivUnit mechanism of the smallest variance among those that are exactly eps0-LDP.

    The densities in and out of the cap, p/A and (1-p)/(1-A), may differ by the factor e^eps0 and no more.
    That gives p for each cap; the mean is then m = (e^eps0 - 1) h/(1 + (e^eps0 - 1) A) with the moment h of
    the cap, and it is largest where the threshold equals m itself.

    Args:
        dimension: d >= 2.
        eps0: local privacy parameter, > 0.

    Raises:
        ValueError: the cap is smaller than a double can hold (eps0 beyond some hundreds).
    """

    def mean(threshold: float) -> float:
        log_moment = log_cap_moment(dimension=dimension, threshold=threshold)
        cap = cap_measure(dimension=dimension, threshold=threshold)
        # (E - 1)/(1 + (E - 1) A) with E scaled out
        return math.exp(log_moment) * -math.expm1(-eps0) / (math.exp(-eps0) - math.expm1(-eps0) * cap)

    last = 1.0 - 2.0**-40
    threshold = 1.0
    if eps0 <= 700 and mean(last) < last:
        threshold = float(optimize.brentq(lambda t: t - mean(t), 0.0, last, xtol=1e-16, rtol=8.9e-16))
    cap = cap_measure(dimension=dimension, threshold=threshold)
    if cap == 0.0:
        raise ValueError(
            f"eps0 must leave PrivUnit a cap that a double can hold, got {eps0!r} in dimension {dimension}; "
            "use a smaller one"
        )
    # 1 - p = (1 - A)/(1 - A + E A)
    rest = (1 - cap) * math.exp(-eps0) / ((1 - cap) * math.exp(-eps0) + cap)
    return PrivUnit(threshold, cap, rest, 1.0 / mean(threshold))
