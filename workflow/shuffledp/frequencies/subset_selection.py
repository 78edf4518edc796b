"""Subset selection."""

from __future__ import annotations

import math

import numpy as np

from shuffledp import checks
from shuffledp.checks import BoolArray, IntArray
from shuffledp.frequencies import base, draws
from shuffledp.frequencies.base import Messages, Support
from shuffledp.frequencies.krr import tally


class SubsetSelection(base.Oracle):
    """Subset selection: a message is a set of s of the k categories, increasing, uint32 of shape (s,).

    It holds the client's own category with probability p = s e/(s e + k - s), e = exp(eps0). Given whether it
    does, all sets of the others are equally likely: q = (s - p)/(k - 1) (Ye and Barg, "Optimal schemes for
    discrete distribution estimation under locally differential privacy", 2018).
    """

    name = "subset-selection"

    def __init__(self, *, eps0: float, categories: int, subset: int) -> None:
        size = checks.count("subset", subset)
        if size >= categories:
            raise ValueError(
                f"subset must be smaller than categories={categories}, got {subset!r}; all of them say "
                "nothing"
            )
        total = size + (categories - size) * base.odds(eps0)
        own = size / total
        gap = size * (categories - size) * -math.expm1(-eps0) / ((categories - 1) * total)
        support = Support(own, (size - own) / (categories - 1), gap)
        known = {"categories": categories, "subset": size}
        super().__init__(eps0=eps0, categories=categories, own=known, support=support)
        self._size, self._silent = size, (categories - size) * base.odds(eps0) / total

    def supports(self, messages: Messages, category: int) -> BoolArray:
        """Return which messages support a category; a message supports those that it holds."""
        return (self._checked(messages) == category).any(axis=1)

    @property
    def _width(self) -> int:
        return self.categories

    def _messages(self, records: IntArray, rng: np.random.Generator) -> Messages:
        silent = draws.rare(self._silent, records.shape, rng=rng)
        # a table of clients and categories, row after row
        chosen = np.zeros(records.size * self.categories, dtype=np.bool_)
        starts = np.arange(records.size) * self.categories
        for rows, size in ((np.flatnonzero(silent), self._size), (np.flatnonzero(~silent), self._size - 1)):
            held, start = records[rows], starts[rows]
            # a uniform set of the others, by Floyd's method; they are numbered around the client's own
            for last in range(self.categories - 1 - size, self.categories - 1):
                drawn = rng.integers(last + 1, size=rows.size, dtype=np.int32)
                place = start + drawn + (drawn >= held)
                chosen[np.where(chosen[place], start + last + (last >= held), place)] = True
        chosen[(starts + records)[~silent]] = True
        members = np.flatnonzero(chosen).reshape(records.size, self._size) - starts[:, None]
        return members.astype(np.uint32)

    def _checked(self, messages: Messages) -> Messages:
        checked = self._checked_numbers(messages, self.categories, "categories", width=self._size)
        wrong = np.flatnonzero((checked[:, 1:] <= checked[:, :-1]).any(axis=1))
        if wrong.size:
            raise ValueError(
                f"messages must hold increasing categories, got {checked[wrong[0]].tolist()} in row "
                f"{wrong[0]}; leave the row out"
            )
        return checked

    def _supporting(self, messages: Messages) -> IntArray:
        return tally(messages, self.categories, self._pieces(messages.shape[0]))
