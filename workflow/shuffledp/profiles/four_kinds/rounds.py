"""The numbers of one round that its pair is computed from, and the windows in which its binomial laws lie."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.checks import FloatArray, IntArray
from shuffledp.profiles.worst_kinds import Kinds

# Nats added for the window of the difference D, one of them for the two sides of Hoeffding's inequality.
TILTED_WIDER = 11.0


class Round:
    """A round of k reports, by how likely the four kinds of a report are."""

    def __init__(self, absent: int, k: int, eps0: float, of: Kinds, nats: float) -> None:
        self._absent, self._k, self._kinds, self._nats = float(absent), k, of, nats
        self._e, self._half_gap = math.exp(eps0), math.expm1(eps0) / 2
        self._half_sum = (self._e + 1) / 2
        self._untilted = of.plain + of.heavy + of.revealed

    def _window(self, trials: FloatArray | float, p: float) -> tuple[FloatArray, FloatArray]:
        """Return the window outside of which a binomial law, or one with one success certain, has at most
        e^-nats of its mass, by Bernstein's inequality."""
        level = self._nats + 1
        centre = np.asarray(trials, dtype=np.float64) * p
        reach = level / 3 + np.sqrt(level**2 / 9 + 2 * level * centre * (1 - p)) + 1
        return np.maximum(np.floor(centre - reach), 0.0), np.minimum(np.ceil(centre + reach), trials)


def ranges(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """Return the indices of rows, and whole numbers from ``low`` to ``high`` of each row."""
    sizes = high - low + 1
    row = np.repeat(np.arange(low.size), sizes)
    return row, np.arange(row.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + low[row]
