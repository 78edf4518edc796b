"""k-ary randomised response."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shuffledp.checks import BoolArray, IntArray
from shuffledp.frequencies import base, draws
from shuffledp.frequencies.base import Messages, Support


def response(eps0: float, cells: int) -> Support:
    """Return how often k-ary randomised response says the true one of some cells, and any other one.

    p = e/(e + k - 1) and q = 1/(e + k - 1), with e = exp(eps0).

    Args:
        eps0: local privacy parameter, > 0.
        cells: their number k.
    """
    low = base.odds(eps0)
    total = 1 + (cells - 1) * low
    return Support(1 / total, low / total, -math.expm1(-eps0) / total)


def respond(cells: IntArray, count: int, eps0: float, *, rng: np.random.Generator) -> IntArray:
    """Return randomised responses.

    Args:
        cells: the true ones, from 0 to ``count`` - 1.
        count: number of cells k.
        eps0: local privacy parameter.
        rng: source of all randomness.
    """
    low = base.odds(eps0)
    lies = np.flatnonzero(draws.rare((count - 1) * low / (1 + (count - 1) * low), cells.shape, rng=rng))
    said = cells.copy()
    others = rng.integers(count - 1, size=lies.size)
    said[lies] = others + (others >= cells[lies])
    return said


class KRR(base.Oracle):
    """k-ary randomised response: a message is a category, uint32."""

    name = "krr"

    def __init__(self, *, eps0: float, categories: int) -> None:
        own: dict[str, Any] = {"categories": categories}
        super().__init__(eps0=eps0, categories=categories, own=own, support=response(eps0, categories))

    def supports(self, messages: Messages, category: int) -> BoolArray:
        """Return which messages support a category; a message supports the one that it names."""
        return self._checked(messages) == category

    def _messages(self, records: IntArray, rng: np.random.Generator) -> Messages:
        return respond(records, self.categories, self.eps0, rng=rng).astype(np.uint32)

    def _checked(self, messages: Messages) -> Messages:
        return self._checked_numbers(messages, self.categories, "categories")

    def _supporting(self, messages: Messages) -> IntArray:
        return tally(messages, self.categories, self._pieces(messages.shape[0]))


def tally(messages: Messages, count: int, pieces: Any) -> IntArray:
    """Return how often each number below ``count`` occurs, looking at one piece of the messages at a time."""
    total = np.zeros(count, dtype=np.int64)
    for rows in pieces:
        total += np.bincount(messages[rows].ravel().astype(np.int64), minlength=count)
    return total
