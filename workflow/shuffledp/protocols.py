"""Who takes part in which round: clients whom the server samples, and clients who check in by themselves.

A protocol is an endless sequence of rounds, each of which is available by its number. A round has the clients
who checked in and those whose messages the server uses. The latter depend on two rules:

- An empty round is skipped, so that the model stays as it is, or it gets a dummy update: the server
  randomises a gradient that depends on no data (it is zero), and nobody sees that the round was empty. The
  theorems about picking one of the clients need that, since a skipped round shows that nobody came.
- In a crowded round the messages of all are averaged, or one client is picked uniformly, and only that client
  sends a message.

In every protocol the server divides the sum of the messages by their number, dummy updates included.
girgis2021 (Algorithm 1) divides by k. liew2022 takes the mean of the collected messages (appendix B.1), so it
divides by the number of clients who came and not by its expectation. balle2020 divides by 1 where one client
is picked, and by the load of the slot where all are averaged (Algorithm 4).

All random draws come from numpy's default generator, which is seeded by the run's seed and the number of the
round or, for windows, of the window.
"""

from __future__ import annotations

import inspect
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shuffledp import checks

IntArray = NDArray[np.int64]

SKIP, DUMMY = "skip", "dummy"
AVERAGE, PICK = "average", "pick"

# Distinguish the purposes of random draws with one seed; training uses 2 and 3 for weights and noise.
_OF_ROUNDS, _OF_WINDOWS = 1, 4


@dataclass(frozen=True)
class Round:
    """One round.

    Attributes:
        index: number of the round, from 0.
        checked_in: the clients who came, ascending.
        participants: those whose messages the server uses, ascending; all who came, or one of them.
        dummies: number of dummy updates: 1 if nobody came and the protocol has dummy updates, else 0.
    """

    index: int
    checked_in: IntArray
    participants: IntArray
    dummies: int

    @property
    def messages(self) -> int:
        """Number of messages, by which their sum is divided; 0 for a round that is skipped."""
        return self.participants.size + self.dummies


class Protocol(ABC):
    """A protocol with a seed. Iteration does not end.

    Attributes:
        name: the accountants' name of the protocol.
        settings: names of its arguments besides n and the seed.
        empty: "skip" or "dummy", what the server does if nobody checks in.
        crowded: "average" or "pick", what the server does if several clients check in.
        n: number of clients, 0, ..., n - 1.
        seed: of all draws.
        length: number of rounds of one run of the protocol, after which clients choose again.
    """

    name: ClassVar[str]
    settings: ClassVar[tuple[str, ...]]
    empty: ClassVar[str] = SKIP
    crowded: ClassVar[str] = AVERAGE
    length: int = 1

    def __init__(self, *, n: int, seed: int) -> None:
        self.n = checks.count("n", n)
        self.seed = checks.count("seed", seed, at_least=0)

    @property
    @abstractmethod
    def expected(self) -> float:
        """Mean number of messages of a round, dummy updates included."""

    @abstractmethod
    def checked_in(self, index: int) -> IntArray:
        """Return the clients who come to a round, ascending."""

    def round(self, index: int) -> Round:
        """Return a round by its number, in any order.

        Args:
            index: number of the round, from 0.

        Raises:
            ValueError: it is not a whole number, or is negative.
        """
        index = checks.count("index", index, at_least=0)
        present = self.checked_in(index)
        if self.crowded == PICK and present.size > 1:
            one = self._random(_OF_ROUNDS, index).integers(present.size)
            return Round(index, present, present[one : one + 1], 0)
        return Round(index, present, present, int(self.empty == DUMMY and not present.size))

    def __iter__(self) -> Iterator[Round]:
        return map(self.round, itertools.count())

    def _random(self, of: int, number: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence([self.seed, of, number]))


def _subset(random: np.random.Generator, n: int, k: int) -> IntArray:
    """Return a uniform subset of k of n, ascending.

    The memory is of the order of k for k up to n/20, and of the order of n for larger k.
    """
    if k == n:
        return np.arange(n, dtype=np.int64)
    return np.sort(random.choice(n, size=k, replace=False, shuffle=False))


class FixedSize(Protocol):
    """Rounds of k of n clients, whom the server draws afresh for each round: girgis2021, Algorithm 1.

    The clients are those of ``training.sgd.cldp_sgd.participants``.
    """

    name = "subsampled-shuffle"
    settings = ("k",)

    def __init__(self, *, n: int, k: int, seed: int) -> None:
        """Set up the protocol.

        Args:
            n: clients.
            k: clients per round, at most n.
            seed: of all draws.

        Raises:
            ValueError: an argument is out of range.
        """
        super().__init__(n=n, seed=seed)
        _, self.k = checks.clients(n, k)

    @property
    def expected(self) -> float:
        """Number of clients who come, k."""
        return float(self.k)

    def checked_in(self, index: int) -> IntArray:
        """Return the clients that the server draws for a round, ascending."""
        return _subset(self._random(_OF_ROUNDS, index), self.n, self.k)


class ShuffledCheckIn(Protocol):
    """Each client comes to each round independently with probability ``rate``: liew2022.

    The number of clients who come is public. Given their number the clients are a uniform subset, which is
    how they are drawn. A round to which nobody comes changes nothing.
    """

    name = "shuffled-check-in"
    settings = ("rate",)

    def __init__(self, *, n: int, rate: float, seed: int) -> None:
        """Set up the protocol.

        Args:
            n: clients.
            rate: probability of coming to a round, in (0, 1).
            seed: of all draws.

        Raises:
            ValueError: an argument is out of range.
        """
        super().__init__(n=n, seed=seed)
        self.rate = checks.probability("rate", rate)

    @property
    def expected(self) -> float:
        """Mean number of check-ins."""
        return self.n * self.rate

    def checked_in(self, index: int) -> IntArray:
        """Return the clients who come to a round, ascending."""
        random = self._random(_OF_ROUNDS, index)
        return _subset(random, self.n, int(random.binomial(self.n, self.rate)))


class Window(Protocol):
    """Clients who choose one slot in each run of the protocol; each slot is a round.

    A run is drawn when one of its rounds is first needed, and kept until a round of another run is needed. It
    takes 8 bytes for each client, and as much again while it is drawn. The seed and the number of the run
    decide the slots.

    Attributes:
        slots: m, the number of slots from which a client chooses.
    """

    def __init__(self, *, n: int, slots: int, seed: int) -> None:
        """Set up the protocol.

        Args:
            n: clients.
            slots: m, those that a client may choose from.
            seed: of all draws.

        Raises:
            ValueError: an argument is out of range, or clients and slots are too many to number together.
        """
        super().__init__(n=n, seed=seed)
        self.slots = checks.count("slots", slots)
        if self.n * (self.n + self.slots) >= 2**63:
            raise ValueError(f"n and slots must have n (n + slots) < 2^63, got n={n} and slots={slots}")
        self.length = self.slots
        self._run, self._keys = -1, np.empty(0, dtype=np.int64)

    @property
    def expected(self) -> float:
        """Mean number of messages of a round: 1 if one client is picked, else the mean load of a slot."""
        return 1.0 if self.crowded == PICK else self.n / self.slots

    @property
    def _first(self) -> int:
        """Number of the slot that is the first round of a run."""
        return 0

    @abstractmethod
    def _choose(self, random: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Return the clients who take part in a run, ascending, and their slots."""

    def _drawn(self, run: int) -> IntArray:
        """Return slot * n + client of all who take part in a run, ascending: by slots, then by clients."""
        if run != self._run:
            clients, keys = self._choose(self._random(_OF_WINDOWS, run))
            keys *= self.n
            keys += clients
            keys.sort()
            self._run, self._keys = run, keys
        return self._keys

    def checked_in(self, index: int) -> IntArray:
        """Return the clients who chose the slot of a round, ascending."""
        run, place = divmod(index, self.length)
        keys, start = self._drawn(run), (self._first + place) * self.n
        low, high = np.searchsorted(keys, [start, start + self.n])
        return keys[low:high] - start

    def loads(self, run: int = 0) -> IntArray:
        """Return the number of clients who come to each round of a run, of shape (length,).

        Args:
            run: number of the run, from 0.
        """
        slots = self._drawn(run) // self.n - self._first
        slots = slots[(slots >= 0) & (slots < self.length)]
        return np.bincount(slots, minlength=self.length)


class FixedWindow(Window):
    """Each client takes part with probability p0, in one of m slots: balle2020, Algorithm 1.

    One of the clients who chose a slot is picked; a slot that nobody chose gets a dummy update.
    """

    name = "fixed-window"
    settings = ("slots", "participation")
    empty, crowded = DUMMY, PICK

    def __init__(self, *, n: int, slots: int, seed: int, participation: float = 1.0) -> None:
        """Set up the protocol.

        Args:
            n: clients.
            slots: m, the number of slots of a window; each is a round.
            seed: of all draws.
            participation: p0, the probability of taking part in a window, in [0, 1].

        Raises:
            ValueError: an argument is out of range.
        """
        super().__init__(n=n, slots=slots, seed=seed)
        self.participation = checks.probability("participation", participation, zero=True, one=True)

    def _choose(self, random: np.random.Generator) -> tuple[IntArray, IntArray]:
        clients = _subset(random, self.n, int(random.binomial(self.n, self.participation)))
        return clients, random.integers(self.slots, size=clients.size)


class AveragedWindow(Window):
    """Each client takes part in one of m slots, and all who chose a slot are averaged: balle2020, figure 2.

    Each client sends its own randomised message; the server takes the mean of a slot's messages, and skips a
    slot that nobody chose.
    """

    name = "averaged-window"
    settings = ("slots",)

    def _choose(self, random: np.random.Generator) -> tuple[IntArray, IntArray]:
        return np.arange(self.n), random.integers(self.slots, size=self.n)


class SlidingWindow(Window):
    """Client j takes part in one of the m slots j, ..., j + m - 1: balle2020, section 4.

    The model is trained in the n - m + 1 slots that m clients may choose, in the paper's numbers m to n.
    Clients who chose another slot send nothing. One of the clients who chose a slot is picked; a slot that
    nobody chose gets a dummy update.
    """

    name = "sliding-window"
    settings = ("slots",)
    empty, crowded = DUMMY, PICK

    def __init__(self, *, n: int, slots: int, seed: int) -> None:
        """Set up the protocol.

        Args:
            n: clients.
            slots: m, those that a client may choose from, at most n.
            seed: of all draws.

        Raises:
            ValueError: an argument is out of range.
        """
        super().__init__(n=n, slots=slots, seed=seed)
        if self.slots > self.n:
            raise ValueError(
                "slots must be at most n for slots that so many clients may choose, "
                f"got slots={slots} and n={n}"
            )
        self.length = self.n - self.slots + 1

    @property
    def _first(self) -> int:
        return self.slots - 1

    def _choose(self, random: np.random.Generator) -> tuple[IntArray, IntArray]:
        clients, slots = np.arange(self.n), random.integers(self.slots, size=self.n)
        slots += clients
        return clients, slots


PROTOCOLS: dict[str, type[Protocol]] = {
    kind.name: kind for kind in (FixedSize, ShuffledCheckIn, FixedWindow, SlidingWindow, AveragedWindow)
}


def create(name: str, *, n: int, seed: int, **setting: Any) -> Protocol:
    """Return a protocol by its name.

    Args:
        name: one of ``PROTOCOLS``.
        n: clients.
        seed: of all draws.
        setting: the arguments that its ``settings`` name.

    Raises:
        ValueError: there is no such protocol, it has other settings, or an argument is out of range.
    """
    kind = PROTOCOLS[checks.choice("protocol", name, tuple(PROTOCOLS))]
    try:
        inspect.signature(kind).bind(n=n, seed=seed, **setting)
    except TypeError:
        taken, got = ", ".join(kind.settings), ", ".join(setting) or "nothing"
        raise ValueError(f"protocol {name} is set by {taken}, got {got}") from None
    return kind(n=n, seed=seed, **setting)
