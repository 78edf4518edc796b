"""Renyi DP of the plain shuffle: girgis2021ccs ("On the Renyi differential privacy of the shuffle model").

One of the baselines of girgis2021 ([29] there); subsampling is added by ``wang2019_subsampled``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.rdp.clone_count import half_the_clones, log_fewer_clones


def girgis2021ccs_shuffle(order: ArrayLike, *, n: int, eps0: float) -> float | FloatArray:
    """Return Renyi DP of the shuffle of n reports of an eps0-LDP randomiser, without subsampling.

    With E = e^eps0 and m = floor((n - 1)/(2 E)) + 1, the paper's upper bound is log(1 + S)/(order - 1), where
    S is C(order, 2) (E - 1)^2/(m E), plus the sum over i = 3, ..., order of
    C(order, i) i Gamma(i/2) ((E^2 - 1)^2/(2 m E^2))^(i/2), plus e^(order eps0 - (n - 1)/(8 E)).

    Args:
        order: Renyi orders, whole numbers >= 2, any shape.
        n: number of shuffled reports, >= 1.
        eps0: local privacy parameter, >= 0.

    Returns:
        An upper bound, rounded up, of the shape of ``order``: this value or eps0, whichever is smaller (the
        shuffle only post-processes the reports, so it is eps0-DP, and Renyi DP never exceeds that).

    Raises:
        ValueError: an argument is out of range, or an order is not a whole number >= 2.
    """
    orders = checks.integer_orders(order)
    n, eps0 = checks.count("n", n), checks.eps0(eps0)
    if eps0 == 0:
        return checks.like_input(np.zeros_like(orders))
    flat = orders.ravel()
    nbar = half_the_clones(n, eps0)
    log_square = 2 * numerics.log_expm1(eps0) - eps0 - math.log(nbar)
    log_base = 2 * numerics.log_expm1(2 * eps0) - 2 * eps0 - math.log(2 * nbar)

    def log_coefficient(i: FloatArray) -> FloatArray:
        return np.log(i) + special.gammaln(i / 2) + i / 2 * log_base

    # Where the last term of the sum (from order 3 on there is one) alone exceeds the cap of eps0, the sum is
    # not computed.
    value = np.full(flat.shape, eps0)
    uncapped = np.nonzero((flat < 3) | (log_coefficient(flat) < (flat - 1) * eps0))[0]
    left = flat[uncapped]
    log_sum = special.logsumexp(
        [
            np.log(left) + np.log((left - 1) / 2) + log_square,
            numerics.log_binomial_transform(left, log_coefficient, first=3),
            eps0 * left + log_fewer_clones(n, eps0),
        ],
        axis=0,
    )
    bound = np.logaddexp(0.0, log_sum) / (left - 1) * (1 + numerics.OUTWARD)
    value[uncapped] = np.minimum(bound, eps0)
    return checks.like_input(value.reshape(orders.shape))
