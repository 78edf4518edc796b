"""What a closed form returns, inside its range of validity and outside it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shuffledp.checks import FloatArray


class Amplification(NamedTuple):
    """The guarantee of one shuffle.

    Attributes:
        eps: central epsilon, an upper bound; eps0 where the theorem does not apply.
        delta: central delta; 0 where the theorem does not apply.
        applicable: whether the theorem's condition holds, that is, whether shuffling is shown to amplify.
        condition: the condition, in words.
    """

    eps: float | FloatArray
    delta: float | FloatArray
    applicable: bool | np.ndarray
    condition: str


def amplification(
    eps: FloatArray, delta: FloatArray, applicable: np.ndarray, eps0: float, condition: str
) -> Amplification:
    """Assemble the result, falling back on pure eps0-DP where the theorem does not apply."""
    eps, delta = np.where(applicable, eps, eps0), np.where(applicable, delta, 0.0)
    if np.ndim(applicable) == 0:
        return Amplification(float(eps), float(delta), bool(applicable), condition)
    return Amplification(eps, delta, applicable, condition)
