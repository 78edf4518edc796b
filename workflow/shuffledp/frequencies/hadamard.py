"""Hadamard response."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.checks import BoolArray, IntArray
from shuffledp.frequencies import base, draws
from shuffledp.frequencies.base import Messages, Support
from shuffledp.frequencies.krr import tally


class HadamardResponse(base.Oracle):
    """Hadamard response: a message is a column of a Hadamard matrix, uint32.

    The matrix is Sylvester's of the least order above the number of categories: its entry in row r and
    column y is 1 where r and y have an even number of binary ones in common. Category x has row x + 1, and a
    message supports it where that row has a one: p = e/(e + 1) and q = 1/2, with e = exp(eps0) (Acharya, Sun
    and Zhang, "Hadamard response", 2019).
    """

    name = "hadamard-response"

    def __init__(self, *, eps0: float, categories: int) -> None:
        support = Support(1 / (1 + base.odds(eps0)), 0.5, 0.5 * math.tanh(eps0 / 2))
        super().__init__(eps0=eps0, categories=categories, own={}, support=support)
        self._order = 2 ** categories.bit_length()

    def supports(self, messages: Messages, category: int) -> BoolArray:
        """Return which messages support a category; see the class."""
        return ~_odd(self._checked(messages).astype(np.int64), category + 1)

    def _messages(self, records: IntArray, rng: np.random.Generator) -> Messages:
        columns = rng.integers(self._order, size=records.size)
        low = base.odds(self.eps0)
        lies = draws.rare(low / (1 + low), records.shape, rng=rng)
        rows = records + 1
        # to turn one bit that the row has takes the columns with its ones to those without
        wrong = _odd(columns, rows) != lies
        columns[wrong] ^= (rows & -rows)[wrong]
        return columns.astype(np.uint32)

    def _checked(self, messages: Messages) -> Messages:
        return self._checked_numbers(messages, self._order, "columns")

    def _supporting(self, messages: Messages) -> IntArray:
        columns = tally(messages, self._order, self._pieces(messages.shape[0]))
        # the fast Walsh-Hadamard transform: how many are even less how many are odd
        size = 1
        while size < self._order:
            pairs = columns.reshape(-1, 2, size)
            columns = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
            size *= 2
        return (messages.shape[0] + columns[1 : self.categories + 1]) // 2


def _odd(columns: IntArray, rows: IntArray | int) -> BoolArray:
    """Return whether columns and rows have an odd number of binary ones in common."""
    return np.bitwise_count(columns & rows) % 2 == 1
