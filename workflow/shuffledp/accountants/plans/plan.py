"""A plan: what its phases cost together, and what is left of its budget."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shuffledp import checks, numerics, rounding
from shuffledp.accountants import systems
from shuffledp.accountants.inversion import height_above, neighbours
from shuffledp.accountants.plans import reading
from shuffledp.accountants.plans.composing import ROUNDING, composed, disclosed
from shuffledp.accountants.plans.parts import Noise, Phase, PlanError, Release, Rounds, Side
from shuffledp.checks import FloatArray
from shuffledp.variables import VARIABLES, check_limit

_SETTLED, _MOST_STEPS = 1e-9, 100  # when epsilon of a group has settled: relative steps, and how many
_POINTS = 12  # of a curve, a phase
_MOST_ROUNDS = round(VARIABLES["rounds"].most)
_OF_PLAN = ("delta", "budget", "group", "records", "phases")
_GROUPS = "a group of g: g epsilon at delta (e^(g epsilon) - 1)/(e^epsilon - 1)"
_ARRIVING = (
    "at least so many of k reports arrive, whoever drops out: a shuffle of these, and k/n known to be drawn"
)
_REPORTS = "several reports of a client in a round: eps0 times reports (basic grouping)"


class Spent(NamedTuple):
    """What has been spent after a phase.

    Attributes:
        phase: its name.
        what: what is run in it, in words.
        rounds: its rounds.
        lower: no valid accountant can report less for all phases so far; 0 where nothing is known.
        upper: certified.
        left: of the budget, what ``upper`` leaves; None without one.
    """

    phase: str
    what: str
    rounds: int
    lower: float
    upper: float
    left: float | None


@dataclass(frozen=True)
class Plan:
    """Phases that follow each other, and what they cost together.

    The losses of all rounds are added up on one lattice, with one error budget that is part of the bound;
    rounds of one setting alone are answered by their accountant. Neighbours must be the same in all phases.

    Attributes:
        phases: in their order.
        delta: target for all phases together, in [0, 1); 0 asks for pure DP.
        budget: the epsilon that may be spent, None for none.
        group: users who may differ at once, who hold a record each unless ``records`` says more.
        records: those that a user holds at most, each with a client of its own.
    """

    phases: tuple[Phase, ...]
    delta: float
    budget: float | None = None
    group: int = 1
    records: int = 1

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Plan:
        """Return the plan that keys and values describe; see ``docs/plans.md``.

        Raises:
            PlanError: a key or value is none, or the phases do not go together.
        """
        reading.check_keys(raw, _OF_PLAN, (), "a plan")
        if "delta" not in raw:
            raise PlanError("delta is missing: a plan has one for all phases together")
        entries = raw.get("phases")
        if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
            raise PlanError(f"phases must be a list of at least one phase, got {entries!r}", ("phases",))
        delta = reading.number(("delta",), raw["delta"], systems.checked)
        budget = raw.get("budget")
        if budget is not None:
            budget = reading.number(("budget",), budget, checks.positive)
        group = reading.number(("group",), raw.get("group", 1), checks.count)
        records = reading.number(("records",), raw.get("records", 1), checks.count)
        reading.at(("group",), lambda: check_limit("n", group * records))
        phases = tuple(reading.phase(entry, place) for place, entry in enumerate(entries))
        reading.check_together(phases)
        return cls(phases, delta, budget, group, records)

    @property
    def neighbours(self) -> systems.Neighbours | None:
        """How the data sets differ that all phases speak of; None if no phase says."""
        return next((phase.part.neighbours for phase in self.phases if phase.part.neighbours), None)

    @property
    def clients(self) -> int | None:
        """The fewest clients of all phases; None if no phase says."""
        return min((phase.clients for phase in self.phases if phase.clients is not None), default=None)

    @property
    def differing(self) -> int:
        """How many records may differ at once: all those of a group of users."""
        return self.group * self.records

    @property
    def bounds(self) -> list[str]:
        """The bounds behind ``group``, ``records``, ``arriving`` and ``reports``, in words, where used."""
        used = [_GROUPS] if self.differing > 1 else []
        used += [_ARRIVING] if any("arriving" in phase.what for phase in self.phases) else []
        return used + ([_REPORTS] if any("reports" in phase.what for phase in self.phases) else [])

    def epsilon(self, rounds: Sequence[int], *, side: Side = "upper") -> float:
        """Return epsilon of so many rounds of the phases.

        Args:
            rounds: a whole number >= 0 for each phase.
            side: "upper": certified; "lower": no valid accountant can report less. Of phases for which no
                lower bound can be composed it counts nothing, and of a group one record alone.

        Raises:
            ValueError: there are more or fewer numbers than phases, or one is out of range.
        """
        checks.choice("side", side, ("upper", "lower"))
        if len(rounds) != len(self.phases):
            raise ValueError(
                f"rounds must hold a number for each of {len(self.phases)} phases, got {len(rounds)}"
            )
        counts = _counts(self.phases, [int(systems.checked("rounds", value)) for value in rounds])
        if side == "lower":
            return composed(counts, self.delta, "lower")
        if self.differing == 1:
            return composed(counts, self.delta, "upper")
        return self._of_group(counts)

    def _of_group(self, counts: Mapping[Any, int]) -> float:
        """Return epsilon of a group: it rises from that of one record until the rest of delta is enough."""
        if self.delta == 0:
            return self.differing * composed(counts, 0.0, "upper")
        epsilon = 0.0
        for _ in range(_MOST_STEPS):
            log_factor = _log_group_factor(self.differing, epsilon)
            rest = math.exp(math.log(self.delta) - log_factor) * (1 - ROUNDING * (1 + abs(log_factor)))
            if rest < numerics.SMALLEST_DELTA:
                break
            found = composed(counts, rest, "upper")
            if math.isinf(found):  # what a release discloses is more than the rest, which only shrinks
                break
            if found <= epsilon:
                return self.differing * epsilon * (1 + ROUNDING)
            epsilon = found * (1 + _SETTLED)
        return self.differing * composed(counts, 0.0, "upper")

    def spent(self) -> list[Spent]:
        """Return what has been spent after each phase.

        Raises:
            ValueError: the budget is spent before the last phase ends.
        """
        rows = []
        for place, phase in enumerate(self.phases):
            rounds = [one.rounds if at <= place else 0 for at, one in enumerate(self.phases)]
            upper = self.epsilon(rounds)
            left = None if self.budget is None else self.budget - upper
            if left is not None and left < 0:
                raise PlanError(self._overspent(place, upper), ("phases", place))
            lower = min(self.epsilon(rounds, side="lower"), upper)
            rows.append(Spent(phase.name, phase.what, phase.rounds, lower, upper, left))
        return rows

    def _overspent(self, place: int, upper: float) -> str:
        """Return what is wrong where the phases up to one cost more than the budget."""
        so_far = self.phases[: place + 1]
        fails = disclosed(_counts(so_far, [phase.rounds for phase in so_far]))
        where = f"phase {place + 1}, {so_far[-1].name!r}"
        if math.isinf(upper) and fails * self.differing >= self.delta:
            return (
                f"delta = {self.delta:g} is spent already: up to {where}, the deltas of releases make "
                f"{fails * self.differing:g}, so that no epsilon holds; raise delta, or leave releases out"
            )
        return (
            f"the budget epsilon = {self.budget:g} is spent already: {where}, brings epsilon to "
            f"{rounding.shown(upper, 'upper')}; raise budget, or take fewer rounds"
        )

    def further_rounds(self) -> int | None:
        """Return how many more rounds of the last phase stay within the budget; None for any number.

        The answer was evaluated and stays within the budget; one round more was evaluated and does not.

        Raises:
            ValueError: there is no budget, or it is spent already.
        """
        budget = self.budget
        if budget is None:
            raise ValueError("budget must be given to find the rounds that are left, got None")
        done = [phase.rounds for phase in self.phases]

        @functools.cache
        def height(further: int) -> float:
            return height_above(self.epsilon([*done[:-1], done[-1] + further]), budget)

        if height(0) > 0:
            raise PlanError(f"the budget epsilon = {budget:g} is spent already; raise budget")
        further = 1
        while height(further) <= 0:
            further *= 4
            if further + done[-1] > _MOST_ROUNDS:
                return None
        return neighbours(height, further // 4, further)[0]

    def curve(self) -> dict[str, FloatArray]:
        """Return epsilon along the rounds of all phases, before the first one and after some of each.

        Of a phase these are all rounds where they are 12 at most. Else they are up to 12 with its last one
        among them, nearer to each other at its beginning, where epsilon rises fastest.

        Returns:
            Columns of one length: "rounds" so far, "phase" (from 1), "epsilon_lower" and "epsilon_upper".
        """
        rows, before = [(0.0, 1.0, 0.0, 0.0)], [0] * len(self.phases)
        for place, phase in enumerate(self.phases):
            for point in _points(phase.rounds):
                rounds = [*before[:place], point, *before[place + 1 :]]
                upper = self.epsilon(rounds)
                lower = min(self.epsilon(rounds, side="lower"), upper)
                rows.append((float(sum(rounds)), place + 1.0, lower, upper))
            before[place] = phase.rounds
        names = ("rounds", "phase", "epsilon_lower", "epsilon_upper")
        return dict(zip(names, np.array(rows).T, strict=True))


def _counts(phases: Sequence[Phase], rounds: Sequence[int]) -> dict[Rounds | Release | Noise, int]:
    """Return how many rounds there are of each part, of so many rounds of the phases."""
    counts: dict[Rounds | Release | Noise, int] = {}
    for phase, count in zip(phases, rounds, strict=True):
        if count:
            counts[phase.part] = counts.get(phase.part, 0) + count
    return counts


def _points(rounds: int) -> list[int]:
    """Return the rounds of a phase at which its curve is computed, the last one among them."""
    if rounds <= _POINTS:
        return list(range(1, rounds + 1))
    return sorted({-(-rounds * part**2 // _POINTS**2) for part in range(1, _POINTS + 1)})


def _log_group_factor(group: int, epsilon: float) -> float:
    """Return log((e^(g eps) - 1)/(e^eps - 1)), which is log g at 0."""
    if epsilon == 0:
        return math.log(group)
    return (group - 1) * epsilon + math.log(-math.expm1(-group * epsilon) / -math.expm1(-epsilon))
