"""Renyi DP of mechanisms of which only pure DP is known: mironov2017, "Renyi differential privacy"."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray


def mironov2017_pure(order: ArrayLike, *, eps: float) -> float | FloatArray:
    """Return Renyi DP of an eps-DP mechanism: that of randomised response (mironov2017, Proposition 5).

    It is log((e^(order eps) + e^((1 - order) eps))/(1 + e^eps))/(order - 1). No eps-DP mechanism has a larger
    Renyi divergence, as each is post-processing of randomised response (kairouz2015).

    Args:
        order: Renyi orders, real numbers > 1, any shape.
        eps: pure privacy parameter, >= 0.

    Returns:
        An upper bound, rounded up and at most eps; of the shape of ``order``.

    Raises:
        ValueError: an argument is out of range.
    """
    orders = checks.real_orders(order)
    eps = checks.real("eps", eps, at_least=0.0)
    # Let q = 1/(1 + e^eps) be the probability of the symbol whose likelihood ratio is e^eps; the other has
    # the ratio e^-eps. The moment less 1 is q (e^(order eps) - 1) + (1 - q)(e^(-order eps) - 1), a form that
    # stays accurate for small eps; where order eps > 1, the logarithm of the moment itself is accurate.
    share = special.expit(-eps)
    size = orders * eps
    excess = share * np.expm1(np.minimum(size, 1.0)) + (1 - share) * np.expm1(-size)
    small = np.log1p(np.maximum(excess, 0.0))
    large = size - np.logaddexp(0.0, eps) + np.log1p(np.exp((1 - 2 * orders) * eps))
    value = np.where(size > 1.0, large, small) / (orders - 1)
    # the two terms nearly cancel, so the rounding error is one of their size and not of the sum's
    noise = 8 * numerics.EPSILON * np.minimum(size, 1.0) / (orders - 1)
    return checks.like_input(np.minimum(value * (1 + numerics.OUTWARD) + noise, eps))
