"""Amplification by shuffling in the closed form of feldman2021 ("Hiding among the clones"), Theorem 3.1."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks, numerics
from shuffledp.approximate_dp.result import Amplification, amplification


def feldman2021(*, n: int, eps0: float, delta: ArrayLike) -> Amplification:
    """Return the guarantee of shuffling n reports of an eps0-LDP randomiser.

    Both the condition and the bound have log(4/delta), as in the authors' code; the paper prints log(2/delta)
    in the condition, which admits slightly larger eps0.

    Args:
        n: number of shuffled reports, >= 1.
        eps0: local privacy parameter, >= 0.
        delta: central delta, in (0, 1), any shape.

    Returns:
        An ``Amplification``. Where eps0 <= log(n / (16 log(4/delta))), eps is the theorem's own value
        log(1 + (e^eps0 - 1)/(e^eps0 + 1) (8 sqrt(e^eps0 log(4/delta) / n) + 8 e^eps0 / n)), an upper
        bound (not capped at eps0). Elsewhere eps is eps0 and delta is 0.

    Raises:
        ValueError: an argument is out of range.
    """
    n, eps0 = checks.count("n", n), checks.eps0(eps0)
    deltas = checks.probabilities("delta", delta)
    log_term = math.log(4) - np.log(deltas)
    applicable = eps0 <= np.log(n / (16 * log_term))
    ratio = math.exp(min(eps0 - math.log(n), 0.0))  # below 1 wherever the condition holds
    excess = math.tanh(eps0 / 2) * (8 * np.sqrt(ratio * log_term) + 8 * ratio)
    eps = np.log1p(excess) * (1 + 32 * numerics.EPSILON)
    return amplification(eps, deltas, applicable, eps0, "eps0 <= log(n / (16 log(4/delta)))")
