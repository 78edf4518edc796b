"""A shuffle of local responses, by the analysis of check-ins."""

from __future__ import annotations

import math

import numpy as np

from shuffledp import checks
from shuffledp.checkin.balle2020.strengths import (
    LARGEST_EPS0,
    blocks,
    capped_expm1,
    checked,
    closed_form,
    composed,
    listed,
    outward_log1p,
    pure,
)
from shuffledp.checks import FloatArray


def shuffling_epsilons(*, n: int, eps0: float) -> FloatArray:
    """Return epsilon of each response of a shuffle of local responses (proof of Theorem A.7).

    eps_i = log(1 + e^(2 eps0) (e^eps0 - 1)/(e^(2 eps0) + i - 1 + (n - i) e^eps0)), i = 1..n.

    Args:
        n: clients, >= 1.
        eps0: local privacy parameter, >= 0.

    Returns:
        Shape (n,); at most eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    n, eps0 = checks.count("n", n), checks.eps0(eps0)
    return _shuffling_epsilons(listed("n", n), n, eps0)


def _shuffling_epsilons(before: FloatArray, n: int, eps0: float) -> FloatArray:
    share = capped_expm1(eps0) / (1 + math.exp(-2 * eps0) * before + math.exp(-eps0) * (n - 1 - before))
    return np.minimum(outward_log1p(share), eps0)


def shuffling(*, n: int, eps0: float, delta: float, strength: str = "closed_form", rounds: int = 1) -> float:
    """Return epsilon of shuffled local responses: Theorem 5.1 (A.7).

    Args:
        n: clients.
        eps0: local privacy parameter, >= 0.
        delta: target, in (0, 1).
        strength: "closed_form", "sum" or "numerical".
        rounds: shuffles.

    Returns:
        An upper bound, at most rounds * eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    n, eps0, delta, strength = checked(n, eps0, delta, strength, size="n")
    rounds = checks.count("rounds", rounds)
    if eps0 > LARGEST_EPS0:
        return pure(eps0, rounds)
    if strength == "closed_form":
        return closed_form(math.expm1(eps0) * math.exp(1.5 * eps0) / math.sqrt(n), eps0, delta, rounds)
    last, length = blocks(n)
    return composed(_shuffling_epsilons(last, n, eps0), eps0, delta, strength, rounds, length)
