"""The pair of a round with each of its outcomes by itself, where there are few."""

from __future__ import annotations

import math

import numpy as np

from shuffledp import numerics
from shuffledp.checks import FloatArray, IntArray
from shuffledp.pld.outcomes import Outcomes, dominating
from shuffledp.profiles.enumeration import EnumeratedPair
from shuffledp.profiles.four_kinds.rounds import TILTED_WIDER, Round, ranges

_LISTED = 2**20  # outcomes that are listed one by one


class ListedPair(Round):
    """The pair of one round, outcome by outcome; arguments as for ``merged.MergedPair``."""

    def outcomes(self) -> Outcomes | None:
        """Return the pair with each of its outcomes by itself; None if there are too many.

        Windows, and what is left out of them, are as for ``merged.MergedPair.outcomes``.
        """
        of, left = self._kinds, self._untilted
        low, high = (float(end) for end in self._window(float(self._k), 2 * of.tilted))
        if (high - low + 1) ** 2 > _LISTED:
            return None
        tilted = np.arange(low, high + 1)
        pmf = numerics.log_binomial_pmf(tilted, float(self._k), math.log(2 * of.tilted), math.log(left))
        heavy, plain = np.zeros(tilted.size), np.zeros(tilted.size)
        if of.heavy > 0:
            row, heavy, more = self._split(self._k - tilted, of.heavy / left, (of.plain + of.revealed) / left)
            if row is None:
                return None
            tilted, pmf = tilted[row], pmf[row] + more
            plain, left = np.zeros(tilted.size), of.plain + of.revealed
        if of.plain > 0:
            row, plain, more = self._split(self._k - tilted - heavy, of.plain / left, of.revealed / left)
            if row is None:
                return None
            tilted, heavy, pmf = tilted[row], heavy[row], pmf[row] + more
        rest = self._absent + plain + self._e * heavy
        some = rest + tilted > 0
        tilted, rest, pmf = tilted[some], rest[some], pmf[some]
        log_mass = pmf + np.log(rest + self._half_sum * tilted)
        mass = np.exp(log_mass - log_mass.max())
        mass /= mass.sum()
        # heads of the N coins, by which D = 2 heads - N; half of them by symmetry
        reach = np.minimum(np.floor(np.sqrt(2 * tilted * (self._nats + TILTED_WIDER))), tilted)
        first, last = np.ceil((tilted - reach) / 2), np.floor(tilted / 2)
        if float((last - first + 1).sum()) > _LISTED:
            return None
        row, step = ranges(np.zeros(tilted.size, dtype=np.int64), (last - first).astype(np.int64))
        trials, rest, heads = tilted[row], rest[row], first[row] + step
        difference = trials - 2 * heads
        half = -math.log(2)
        coin = mass[row] * np.exp(numerics.log_binomial_pmf(heads, trials, half, half))
        total = rest + self._half_sum * trials
        x = self._half_gap * difference / total
        # 1 - x without cancellation
        far = (rest + self._half_sum * (trials - difference) + difference) / total
        apart = difference > 0
        coins, mirrored, fars = (np.concatenate([one, one[apart]]) for one in (coin, x, far))
        coins /= coins.sum()
        mirrored[coin.size :] *= -1
        return dominating(EnumeratedPair(coins, mirrored, fars, 5 * math.exp(-self._nats)), gamma=1.0)

    def _split(
        self, trials: FloatArray, p: float, q: float
    ) -> tuple[IntArray | None, FloatArray, FloatArray]:
        """Return rows, the likely values of a binomial law of each row's trials, and logs of their
        probabilities; no rows if they are too many."""
        low, high = self._window(trials, p)
        if float((high - low + 1).sum()) > _LISTED:
            return None, low, low
        row, value = ranges(low.astype(np.int64), high.astype(np.int64))
        values = value.astype(np.float64)
        log_p, log_q = math.log(p), math.log(q)
        return row, values, numerics.log_binomial_pmf(values, trials[row], log_p, log_q)
