"""What a plan consists of: rounds of a system, releases of known privacy, and Gaussian noise, in phases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shuffledp.accountants import brackets, named_lower, registry, systems
from shuffledp.accountants.plans import pairs

Side = Literal["upper", "lower"]


class PlanError(ValueError):
    """What is wrong with a plan.

    Attributes:
        place: keys and positions that lead to it, from the top.
    """

    def __init__(self, message: str, place: Sequence[str | int] = ()) -> None:
        super().__init__(message)
        self.place = tuple(place)


@dataclass(frozen=True)
class Rounds:
    """Rounds of a system.

    Attributes:
        entry: the accountant of the upper bound.
        setting: its variables and their values.
        below: the setting of lower bounds; None where none is composed.
        randomizer: that of a phase which names one, "" for others.
        own: its parameters and the variables of its protocol.
    """

    entry: registry.Accountant
    setting: tuple[tuple[str, Any], ...]
    below: tuple[tuple[str, Any], ...] | None
    randomizer: str = ""
    own: tuple[tuple[str, Any], ...] = ()

    @property
    def neighbours(self) -> systems.Neighbours | None:
        """How the data sets differ that the accountant speaks of."""
        return self.entry.system.neighbours

    @property
    def pure(self) -> float:
        """The pure DP of one round, inf if there is none."""
        return self.entry.system.pure(dict(self.setting))

    def alone(self, count: int, delta: float, side: Side) -> float:
        """Return epsilon of these rounds and no others."""
        if side == "upper":
            return float(self.entry.epsilon(**dict(self.setting), rounds=count, delta=delta))
        if self.randomizer:
            return named_lower.lower(self.randomizer, dict(self.own), rounds=count, delta=delta)
        if self.below is None:
            return 0.0
        answers, _ = brackets.attempts(self._lower(), **dict(self.below), rounds=count, delta=delta)
        return max((float(columns["epsilon"]) for _, columns in answers), default=0.0)

    def losses(self, side: Side, choice: int, nats: float) -> pairs.Pairs | None:
        """Return the pairs of one round; for a lower bound those of the accountant of number ``choice``."""
        if side == "upper":
            return pairs.pairs(self.entry, dict(self.setting), nats=nats)
        entries = [entry for entry in self._lower() if pairs.known(entry)]
        if self.below is None or not entries:
            return None
        return pairs.pairs(entries[choice % len(entries)], dict(self.below), nats=nats)

    def _lower(self) -> list[registry.Accountant]:
        return registry.bounds("lower", protocol=self.entry.protocol, mechanism=self.entry.mechanism)


@dataclass(frozen=True)
class Release:
    """A release of which (epsilon, delta) is known, taken at its worst."""

    epsilon: float
    delta: float
    neighbours: systems.Neighbours | None

    @property
    def pure(self) -> float:
        """Its pure DP, inf if there is none."""
        return self.epsilon if self.delta == 0 else math.inf


@dataclass(frozen=True)
class Noise:
    """A release with Gaussian noise, of which a record moves the value by mu standard deviations."""

    mu: float
    neighbours: systems.Neighbours | None
    pure: float = math.inf


@dataclass(frozen=True)
class Phase:
    """One entry of a plan.

    Attributes:
        name: its name.
        what: what is run, in words.
        rounds: how often.
        part: what one round is.
        clients: how many there are, None where that is not told.
    """

    name: str
    what: str
    rounds: int
    part: Rounds | Release | Noise
    clients: int | None = None
