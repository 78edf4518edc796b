"""What all frequency oracles have in common: reports in, a histogram with standard errors out.

All are pure in the sense of Wang, Blocki, Li and Jha, "Locally differentially private protocols for frequency
estimation" (USENIX Security 2017): a message supports some of the categories, its client's own with
probability p and any other one with probability q. Of n messages let C_v support category v. Then

    estimate of f_v = (C_v/n - q)/(p - q)

is unbiased, and its variance, for the records that the clients hold, is

    (f_v p (1 - p) + (1 - f_v) q (1 - q))/(n (p - q)^2)

(their Theorems 1 and 2). What a message supports is the set S_x of ``profiles.named_randomizers``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp import checks
from shuffledp.checks import BoolArray, FloatArray, IntArray
from shuffledp.frequencies.draws import check_generator

Messages = NDArray[Any]

_MOST_CATEGORIES = 10**8
_CELLS = 2**19  # of a table of clients and what they draw, so much at a time


class Support(NamedTuple):
    """How often a message supports a category.

    Attributes:
        own: p, the probability that it supports its client's own.
        other: q, the probability that it supports any other one.
        gap: p - q, with all its digits.
    """

    own: float
    other: float
    gap: float


@dataclass(frozen=True)
class Tally:
    """What an aggregator counts; the sum of two tallies is that of all their messages.

    Attributes:
        supporting: how many messages support each category, of shape (categories,).
        reports: how many messages there are.
    """

    supporting: IntArray
    reports: int

    def __add__(self, other: Tally) -> Tally:
        if self.supporting.shape != other.supporting.shape:
            raise ValueError(
                f"tallies must be of one number of categories to be added, got {self.supporting.size} and "
                f"{other.supporting.size}; make both by one oracle"
            )
        return Tally(self.supporting + other.supporting, self.reports + other.reports)


class Estimate(NamedTuple):
    """Estimated frequencies among the clients who reported.

    Attributes:
        frequencies: unbiased, so that rare categories may come out below 0; of shape (categories,).
        standard_errors: estimates of their standard deviations, for the records that the clients hold. Where
            these are a sample of a population, and its frequencies are asked for, the variance f (1 - f)/n
            of sampling comes on top.
    """

    frequencies: FloatArray
    standard_errors: FloatArray


class Oracle(ABC):
    """A randomiser of categories, and the estimator that goes with it.

    Attributes:
        name: as the accountants name the randomiser.
        eps0: local privacy parameter.
        categories: number of categories; records are whole numbers from 0 to ``categories`` - 1.
        own: the parameters that the accountants know of it, besides eps0.
        support: how often a message supports a category.
    """

    name: ClassVar[str]

    def __init__(self, *, eps0: float, categories: int, own: dict[str, Any], support: Support) -> None:
        self.eps0, self.categories = eps0, categories
        self.own, self.support = own, support

    @property
    def accounting(self) -> dict[str, Any]:
        """What ``accountants.epsilon`` and ``accountants.bracket`` must be told of the randomiser."""
        return {"randomizer": self.name, "eps0": self.eps0, **self.own}

    def privatize(self, records: ArrayLike, *, rng: np.random.Generator) -> Messages:
        """Return each client's message.

        Args:
            records: each client's category, whole numbers from 0 to ``categories`` - 1, of shape (clients,).
            rng: source of all randomness.

        Returns:
            One message a row, in the order of the clients: ``shuffle`` them before anybody looks. The
            class of the oracle says what a message is.

        Raises:
            ValueError: a record is none of the categories, or an argument is of the wrong kind.
        """
        held = self._records(records)
        check_generator(rng)
        parts = [self._messages(held[rows], rng) for rows in self._pieces(held.size)]
        return np.concatenate(parts) if parts else self._messages(held, rng)

    def aggregate(self, messages: Messages) -> Tally:
        """Count the messages that support each category.

        Args:
            messages: as ``privatize`` returns them, in any order.

        Raises:
            ValueError: they are not messages of this oracle.
        """
        checked = self._checked(np.asarray(messages))
        return Tally(self._supporting(checked), checked.shape[0])

    def estimate(self, tally: Tally) -> Estimate:
        """Return frequencies among the clients with standard errors, by the formulas of ``base``.

        The standard errors are those formulas at the estimated frequencies, which count as 0 or 1 where they
        lie outside.

        Args:
            tally: of ``aggregate``, or a sum of some.

        Raises:
            ValueError: there are no reports, or the tally is of another number of categories.
        """
        if tally.supporting.shape != (self.categories,):
            raise ValueError(
                f"tally must be of categories={self.categories}, got one of {tally.supporting.size}; make it "
                "by this oracle's aggregate"
            )
        if tally.reports < 1:
            raise ValueError(f"reports must be at least 1, got {tally.reports}; aggregate some messages")
        own, other, gap = self.support
        frequencies = (tally.supporting / tally.reports - other) / gap
        inside = np.clip(frequencies, 0.0, 1.0)
        variance = inside * own * (1 - own) + (1 - inside) * other * (1 - other)
        return Estimate(frequencies, np.sqrt(variance / tally.reports) / gap)

    @abstractmethod
    def supports(self, messages: Messages, category: int) -> BoolArray:
        """Return which messages support a category, of shape (messages,).

        Args:
            messages: as ``privatize`` returns them.
            category: a whole number from 0 to ``categories`` - 1.

        Raises:
            ValueError: they are not messages of this oracle.
        """

    @property
    def _width(self) -> int:
        """Number of draws for a client."""
        return 1

    @abstractmethod
    def _messages(self, records: IntArray, rng: np.random.Generator) -> Messages:
        """Return the messages of some clients."""

    @abstractmethod
    def _checked(self, messages: Messages) -> Messages:
        """Return messages, checked."""

    @abstractmethod
    def _supporting(self, messages: Messages) -> IntArray:
        """Return how many messages support each category."""

    def _pieces(self, count: int) -> Iterator[slice]:
        """Yield slices of the clients, so few at a time that what is drawn for them takes little memory."""
        rows = max(_CELLS // self._width, 1)
        for start in range(0, count, rows):
            yield slice(start, min(start + rows, count))

    def _records(self, records: ArrayLike) -> IntArray:
        held = np.asarray(records)
        if held.ndim != 1 or held.dtype.kind not in "iu":
            raise ValueError(
                f"records must be whole numbers of shape (clients,), got {held.dtype} of shape {held.shape}; "
                "number the categories from 0"
            )
        _refuse_outside("records", held, self.categories, "categories")
        return held.astype(np.int64, copy=False)

    def _checked_numbers(
        self, messages: Messages, most: int, limit: str, width: int | None = None
    ) -> Messages:
        """Return messages that are whole numbers below ``most``, one or ``width`` of them each."""
        shape = (messages.shape[0], *([width] if width else [])) if messages.ndim else None
        if messages.dtype.kind not in "iu" or messages.shape != shape:
            wanted = f"(reports, {width})" if width else "(reports,)"
            raise ValueError(
                f"messages must be whole numbers of shape {wanted}, got {messages.dtype} of shape "
                f"{messages.shape}; give those of this oracle's privatize"
            )
        _refuse_outside("messages", messages, most, limit)
        return messages


def _refuse_outside(name: str, values: Messages, most: int, limit: str) -> None:
    """Refuse whole numbers that are not from 0 to ``most`` - 1.

    Raises:
        ValueError: for the first such number.
    """
    if values.size and not (values.min() >= 0 and values.max() < most):
        outside = (values < 0) | (values >= most)
        place = int(np.flatnonzero(outside.reshape(values.shape[0], -1).any(1))[0])
        value = values[place][outside[place]]
        raise ValueError(
            f"{name} must lie from 0 to {most - 1} ({limit} - 1), got {int(np.ravel(value)[0])} in row "
            f"{place}; leave the row out or make the oracle with more {limit}"
        )


def check_categories(value: object) -> int:
    """Return a number of categories that an oracle can count.

    Raises:
        ValueError: it is no whole number >= 2, or so large that counts of all take too much memory.
    """
    categories = checks.count("categories", value, at_least=2)
    if categories > _MOST_CATEGORIES:
        raise ValueError(
            f"categories must be at most {_MOST_CATEGORIES:g}, since each is counted, got {value!r}; hash "
            "the records first"
        )
    return categories


def odds(eps0: float) -> float:
    """Return e^-eps0, in which all probabilities are written so that none overflows."""
    return math.exp(-eps0)
