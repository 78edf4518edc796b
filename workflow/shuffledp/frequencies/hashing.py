"""Hashing to a few cells, and randomised response over them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shuffledp import checks
from shuffledp.checks import BoolArray, FloatArray, IntArray
from shuffledp.frequencies import base
from shuffledp.frequencies.base import Estimate, Messages, Support, Tally
from shuffledp.frequencies.krr import respond, response, tally

_PRIME = 2**31 - 1
_ROWS = 2**15  # messages at a time, so that what is computed of them stays in a cache


class LocalHashing(base.Oracle):
    """Local hashing: a message is a hash function's two numbers and a cell, uint32 of shape (3,).

    Each message draws its own hash function, h(x) = floor(((a x + b) mod P) g/P) with P = 2^31 - 1 and
    uniform a and b below P. The two values (a x + b) mod P of two categories are independent and uniform, so
    that any two categories have one hash with the same probability c: the sum over cells of the squares of
    their shares of the P values, which is 1/g or some 1/P more. The cell is a randomised response, true with
    probability p = e/(e + g - 1), so that another category is supported with probability
    q = c p + (1 - c) (1 - p)/(g - 1) (Wang, Blocki, Li and Jha, 2017, for independent values).
    """

    name = "local-hashing"

    def __init__(self, *, eps0: float, categories: int, cells: int) -> None:
        count = _check_cells(cells)
        short, long = divmod(_PRIME, count)  # cells of so many values, and those of one more
        collision = ((count - long) * short**2 + long * (short + 1) ** 2) / _PRIME**2
        support = _hashed(response(eps0, count), collision)
        known: dict[str, Any] = {"cells": count, "collision": math.nextafter(1 / count, 0)}
        super().__init__(eps0=eps0, categories=categories, own=known, support=support)
        self._cells = count

    def supports(self, messages: Messages, category: int) -> BoolArray:
        """Return which messages support a category; a message supports all of which its cell is the hash."""
        checked = self._checked(messages).astype(np.int64)
        return self._hash(checked[:, 0], checked[:, 1], category) == checked[:, 2]

    def _hash(self, factors: IntArray, shifts: IntArray, records: IntArray | int) -> IntArray:
        return (factors * records + shifts) % _PRIME * self._cells // _PRIME

    def _messages(self, records: IntArray, rng: np.random.Generator) -> Messages:
        factors, shifts = rng.integers(_PRIME, size=(2, records.size))
        cells = self._hash(factors, shifts, records)
        said = respond(cells, self._cells, self.eps0, rng=rng)
        return np.stack([factors, shifts, said], axis=1).astype(np.uint32)

    def _checked(self, messages: Messages) -> Messages:
        checked = self._checked_numbers(messages, _PRIME, "numbers of a hash function", width=3)
        self._checked_numbers(checked[:, 2], self._cells, "cells")
        return checked

    def _supporting(self, messages: Messages) -> IntArray:
        total = np.zeros(self.categories, dtype=np.int64)
        for start in range(0, messages.shape[0], _ROWS):
            factors, values, cells = messages[start : start + _ROWS].astype(np.int64).T
            # the values of a cell are those from ceil(cell P/g) to below ceil((cell + 1) P/g)
            first = -(-cells * _PRIME // self._cells)
            length = (-(-(cells + 1) * _PRIME // self._cells) - first).astype(np.uint32)
            first, step, value = (one.astype(np.uint32) for one in (first, factors, values))
            for category in range(self.categories):
                # what lies below the first value wraps around to a large number
                total[category] += np.count_nonzero(value - first < length)
                value += step
                # modulo P: the difference wraps around where the value is smaller than P
                np.minimum(value, value - np.uint32(_PRIME), out=value)
        return total


class PublicHashing(base.Oracle):
    """Randomised response over the cells of one hash that is public for the round. A message is a cell.

    The hash is a table of independent uniform cells, one for each category, drawn from the published
    ``hash_seed``. Each category counts as supported where its cell is named. Which categories share a cell is
    the same for all clients, so the estimates are unbiased over the draw of the hash only, and their standard
    errors do not go to 0 with many clients: with q = 1/g the variance of

        q/(1 - q) * (sum of the squares of the others' frequencies)

    comes on top, which is estimated from the squares of the cells' frequencies. Take another seed for each
    round.
    """

    name = "public-hashing"

    def __init__(self, *, eps0: float, categories: int, cells: int, hash_seed: int) -> None:
        count = _check_cells(cells)
        seed = checks.count("hash_seed", hash_seed, at_least=0)
        self._of_cells = response(eps0, count)
        super().__init__(
            eps0=eps0,
            categories=categories,
            own={"cells": count},
            support=_hashed(self._of_cells, 1 / count),
        )
        self._cells = count
        self._table: NDArray[np.int64] = np.random.default_rng(seed).integers(count, size=categories)

    def supports(self, messages: Messages, category: int) -> BoolArray:
        """Return which messages support a category; a message supports those of its cell."""
        return self._checked(messages) == self._table[category]

    def estimate(self, tally: Tally) -> Estimate:
        """Return frequencies with standard errors, over the draw of the hash too; see the class."""
        frequencies, errors = super().estimate(tally)
        own, other, gap = self._of_cells
        _, place = np.unique(self._table, return_index=True)
        cells = (tally.supporting[place] / tally.reports - other) / gap
        # unbiased for the sum of the squares of the cells' frequencies, and from that for the categories'
        noise = (cells * own * (1 - own) + (1 - cells) * other * (1 - other)) / (tally.reports * gap**2)
        collision = 1 / self._cells
        squares = (float(np.sum(cells**2 - noise)) - collision) / (1 - collision)
        others: FloatArray = np.clip(squares - np.clip(frequencies, 0, 1) ** 2, 0.0, 1.0)
        return Estimate(frequencies, np.sqrt(errors**2 + others * collision / (1 - collision)))

    def _messages(self, records: IntArray, rng: np.random.Generator) -> Messages:
        return respond(self._table[records], self._cells, self.eps0, rng=rng).astype(np.uint32)

    def _checked(self, messages: Messages) -> Messages:
        return self._checked_numbers(messages, self._cells, "cells")

    def _supporting(self, messages: Messages) -> IntArray:
        return tally(messages, self._cells, self._pieces(messages.shape[0]))[self._table]


def _check_cells(value: object) -> int:
    cells = checks.count("cells", value, at_least=2)
    if cells >= _PRIME:
        raise ValueError(f"cells must be below 2^31 - 1, got {value!r}; a hash has no more values")
    return cells


def _hashed(of_cells: Support, collision: float) -> Support:
    """Return how often a message supports categories, of which two have one hash with this probability."""
    own, other, gap = of_cells
    return Support(own, other + collision * gap, (1 - collision) * gap)
