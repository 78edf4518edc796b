"""Brackets of epsilon: what several accountants of one system find, and the tightest bound of either side."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from numpy.typing import ArrayLike

from shuffledp.accountants import registry, systems
from shuffledp.accountants.registry import Accountant, Kind
from shuffledp.checks import FloatArray
from shuffledp.variables import check_limit

_ROUNDING = 1e-6  # by which the best lower bound may exceed the best upper one, relative


class Refusal(NamedTuple):
    """What ``attempts`` has of an accountant that cannot answer.

    Attributes:
        name: the accountant.
        reason: why, in one line.
    """

    name: str
    reason: str


def attempts(
    entries: Iterable[Accountant], *, rounds: ArrayLike, delta: float, **setting: float
) -> tuple[list[tuple[Accountant, dict[str, float | FloatArray]]], list[Refusal]]:
    """Return what accountants of one system find, and the reasons of those that cannot answer.

    Args:
        entries: accountants.
        rounds: as for ``Accountant.details``.
        delta: target, in [0, 1).
        setting: the variables of their system.

    Raises:
        ValueError: rounds, delta or the setting are out of range, or there are others than the system's.
    """
    found, refused = [], []
    for entry in entries:
        # what is wrong with the question is no matter of one accountant
        entry.system.checked(setting, f"accountant {entry.name!r}")
        registry.checked_rounds(rounds)
        systems.checked("delta", delta)
        try:
            found.append((entry, entry.details(rounds=rounds, delta=delta, **setting)))
        except (ValueError, ArithmeticError) as error:
            refused.append(Refusal(entry.name, " ".join(str(error).split())))
    return found, refused


class Bracket(NamedTuple):
    """Where epsilon lies for the worst randomiser of a mechanism, or for one, and what says so.

    Attributes:
        lower: no valid accountant can report less.
        upper: certified for every randomiser of the mechanism, or for the one.
        names: the accountants behind ``lower`` and ``upper``; of one randomiser ``lower`` is of a data set,
            in words.
        neighbours: how the data sets differ that both bounds are for.
        refusals: accountants that cannot answer, and why.
    """

    lower: float
    upper: float
    names: tuple[str, str]
    neighbours: systems.Neighbours
    refusals: tuple[Refusal, ...] = ()

    @property
    def ratio(self) -> float:
        """The ratio of the upper bound to the lower one, inf where that is 0."""
        return self.upper / self.lower if self.lower > 0 else math.inf


def bracket_of(
    answers: Iterable[tuple[Accountant, Mapping[str, float | FloatArray]]],
    refusals: Iterable[Refusal] = (),
) -> Bracket | None:
    """Return the tightest lower and upper bounds on epsilon among what accountants of one system found.

    Args:
        answers: accountants and their columns, each "epsilon" one number, as ``attempts`` returns them; those
            that bound something else than epsilon, and estimates, take no part.
        refusals: of accountants of the same system.

    Returns:
        The bracket; of equal bounds the first is named. None if there is no bound on one of the sides.

    Raises:
        ValueError: the accountants are of several systems. A bound for one protocol, mechanism or relation of
            neighbours says nothing of another.
        ArithmeticError: the lower bound exceeds the upper one by more than rounding.
    """
    rows = [(entry, float(columns["epsilon"])) for entry, columns in answers]
    of_systems = {entry.system: None for entry, _ in rows}
    if len(of_systems) > 1:
        of = " and ".join(f"{system}, neighbours by {system.neighbours}" for system in of_systems)
        raise ValueError(f"answers must be of one system to make a bracket, got those of {of}")
    bounds = {
        kind: [(value, entry.name) for entry, value in rows if (entry.kind, entry.scope) == (kind, "epsilon")]
        for kind in ("lower", "upper")
    }
    if not all(bounds.values()):
        return None
    lower = max(bounds["lower"], key=operator.itemgetter(0))
    upper = min(bounds["upper"], key=operator.itemgetter(0))
    check_order(lower[0], upper[0], (lower[1], upper[1]))
    (system,) = of_systems
    return Bracket(lower[0], upper[0], (lower[1], upper[1]), system.neighbours, tuple(refusals))


def check_order(lower: float, upper: float, names: tuple[str, str]) -> None:
    """Refuse bounds of which the lower exceeds the upper one by more than rounding: one is wrong.

    Args:
        lower: the lower bound.
        upper: the upper bound.
        names: whose they are, in that order.

    Raises:
        ArithmeticError: it does; the message names both.
    """
    if lower > upper * (1 + _ROUNDING):
        raise ArithmeticError(
            f"the lower bound {lower:.9g} of {names[0]} exceeds the upper bound {upper:.9g} of {names[1]}; "
            "one of them is wrong: trust neither, and report the setting"
        )


def bracket(
    *,
    rounds: int,
    delta: float,
    protocol: str = systems.SUBSAMPLED_SHUFFLE[0],
    mechanism: str = systems.SUBSAMPLED_SHUFFLE[1],
    **setting: float,
) -> Bracket:
    """Return the tightest lower and upper bounds on epsilon that a system's accountants give.

    Args:
        rounds: number of rounds, one number.
        delta: target, in [0, 1).
        protocol: who takes part in a round.
        mechanism: what they send.
        setting: the variables of the system; of the subsampled shuffle n, k and eps0.

    Raises:
        ValueError: an argument is out of range, the setting is one of another system, or the system has no
            bound on one of the sides.
        ArithmeticError: the lower bound exceeds the upper one.
    """
    system = systems.get(protocol, mechanism)
    system.checked(setting, "the bracket")
    count = int(systems.checked("rounds", rounds))
    check_limit("rounds", count)
    sides: tuple[Kind, Kind] = ("lower", "upper")
    of_sides = {kind: registry.bounds(kind, protocol=protocol, mechanism=mechanism) for kind in sides}
    for kind, some in of_sides.items():
        if not some:
            raise ValueError(f"no bracket for {system}: it has no accountant of kind {kind!r}")
    entries = [*of_sides["lower"], *of_sides["upper"]]
    answers, refusals = attempts(entries, **setting, rounds=count, delta=delta)
    found = bracket_of(answers, refusals)
    if found is None:
        silent = next(kind for kind in ("lower", "upper") if all(entry.kind != kind for entry, _ in answers))
        why = "; ".join(f"{name}: {reason}" for name, reason in refusals if registry.get(name).kind == silent)
        raise ValueError(
            f"no bracket for {system} here, since no accountant of kind {silent!r} answers: {why}"
        )
    return found
