"""Unary encodings: a bit for each category."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.checks import BoolArray, IntArray
from shuffledp.frequencies import base, draws
from shuffledp.frequencies.base import Messages, Support

_BITS_OF_BYTES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64)


class _Unary(base.Oracle):
    """A message is a row of bits, packed into bytes (``numpy.packbits``): uint8 of shape (bytes,).

    The bit of the client's own category is unset with probability ``silent``, any other one is set with
    probability q; both are the rarer outcome or as likely as the other.
    """

    def __init__(self, *, eps0: float, categories: int, silent: float, support: Support) -> None:
        super().__init__(eps0=eps0, categories=categories, own={}, support=support)
        self._silent = silent
        self._bytes = -(-categories // 8)

    def supports(self, messages: Messages, category: int) -> BoolArray:
        """Return which messages support a category; a message supports those whose bits are set."""
        return self._checked(messages)[:, category // 8] >> (7 - category % 8) & 1 == 1

    @property
    def _width(self) -> int:
        return self.categories

    def _messages(self, records: IntArray, rng: np.random.Generator) -> Messages:
        bits = draws.rare(self.support.other, (records.size, self.categories), rng=rng)
        bits[np.arange(records.size), records] = ~draws.rare(self._silent, records.shape, rng=rng)
        return np.packbits(bits, axis=1)

    def _checked(self, messages: Messages) -> Messages:
        if messages.dtype != np.uint8 or messages.ndim != 2 or messages.shape[1] != self._bytes:
            raise ValueError(
                f"messages must be uint8 of shape (reports, {self._bytes}), got {messages.dtype} of shape "
                f"{messages.shape}; give those of this oracle's privatize"
            )
        spare = 8 * self._bytes - self.categories
        if spare and (messages[:, -1] & (2**spare - 1)).any():
            row = int(np.flatnonzero(messages[:, -1] & (2**spare - 1))[0])
            raise ValueError(
                f"messages must have no bits beyond categories={self.categories}, got some in row {row}; "
                "leave the row out or make the oracle with more categories"
            )
        return messages

    def _supporting(self, messages: Messages) -> IntArray:
        columns = np.zeros((self._bytes, 256), dtype=np.int64)
        for rows in self._pieces(messages.shape[0]):
            for byte, column in enumerate(messages[rows].T):
                columns[byte] += np.bincount(column, minlength=256)
        return (columns @ _BITS_OF_BYTES).ravel()[: self.categories]


class OUE(_Unary):
    """Optimised unary encoding: p = 1/2, q = 1/(e + 1) with e = exp(eps0). A message is packed bits."""

    name = "oue"

    def __init__(self, *, eps0: float, categories: int) -> None:
        low = base.odds(eps0)
        support = Support(0.5, low / (1 + low), 0.5 * math.tanh(eps0 / 2))
        super().__init__(eps0=eps0, categories=categories, silent=0.5, support=support)


class RAPPOR(_Unary):
    """Symmetric unary encoding: q = 1/(e^(eps0/2) + 1), p = 1 - q. A message is packed bits."""

    name = "rappor"

    def __init__(self, *, eps0: float, categories: int) -> None:
        low = base.odds(eps0 / 2)
        support = Support(1 / (1 + low), low / (1 + low), math.tanh(eps0 / 4))
        super().__init__(eps0=eps0, categories=categories, silent=support.other, support=support)
