"""Plans: what a deployment of several phases costs, after each of them.

>>> from shuffledp.accountants import Plan
>>> plan = Plan.read({
...     "delta": 1e-5, "budget": 12,
...     "phases": [{"n": 1, "k": 1, "eps0": 0.5, "rounds": 10}, {"n": 1, "k": 1, "eps0": 1, "rounds": 5}],
... })
>>> plan.spent()[-1].upper

Settings may change from phase to phase, down to phases of one round each: these are the heterogeneous
compositions of koskela2022 (n, k and eps0 that vary by round).
"""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from shuffledp import checks, numerics
from shuffledp.accountants import losses, named, registry, systems, via_pld
from shuffledp.accountants.inversion import height_above, neighbours
from shuffledp.checks import FloatArray
from shuffledp.pld.common_lattice import compositions
from shuffledp.pld.composition import LatticeTooFineError
from shuffledp.profiles.gaussian import gaussian_epsilon
from shuffledp.variables import VARIABLES, check_limit

Side = Literal["upper", "lower"]
_ROUNDING = 16 * numerics.EPSILON
_LARGEST_RELEASE = 300.0  # beyond, e^eps and its inverse are not both numbers of double precision
_SETTLED, _MOST_STEPS = 1e-9, 100
_TELLING = 0.01  # of delta: errors that take more make a coarser lattice worth a try
_POINTS = 8  # of a curve, a phase
_MOST_ROUNDS = round(VARIABLES["rounds"].most)
_OF_PLAN = ("delta", "budget", "group", "phases")
_OF_PHASE = ("name", "rounds", "protocol", "mechanism", "accountant", "randomizer", "reports", "arriving")
_OF_EXTRA = ("name", "rounds", "neighbours")
_GROUPS = "a group of g: g epsilon at delta (e^(g epsilon) - 1)/(e^epsilon - 1)"
_ARRIVING = (
    "at least so many of k reports arrive, whoever drops out: a shuffle of these, and k/n known to be drawn"
)
_REPORTS = "several reports of a client in a round: eps0 times reports (basic grouping)"


class PlanError(ValueError):
    """What is wrong with a plan.

    Attributes:
        place: keys and positions that lead to it, from the top.
    """

    def __init__(self, message: str, place: Sequence[str | int] = ()) -> None:
        super().__init__(message)
        self.place = tuple(place)


class Spent(NamedTuple):
    """What has been spent after a phase.

    Attributes:
        phase: its name.
        what: it in words.
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
class _Rounds:
    """Rounds of a system."""

    entry: registry.Accountant
    setting: tuple[tuple[str, Any], ...]
    below: tuple[tuple[str, Any], ...] | None  # the setting of lower bounds, None where none is composed
    drawn: float = 1.0  # probability of being drawn, where everybody may see who is

    @property
    def neighbours(self) -> systems.Neighbours | None:
        return self.entry.system.neighbours

    @property
    def pure(self) -> float:
        return self.entry.system.pure(dict(self.setting))

    def alone(self, count: int, delta: float, side: Side) -> float:
        """Return epsilon of these rounds and no others."""
        if side == "upper":
            return float(self.entry.epsilon(**dict(self.setting), rounds=count, delta=delta))
        if self.below is None:
            return 0.0
        answers, _ = registry.attempts(self._lower(), **dict(self.below), rounds=count, delta=delta)
        return max((float(columns["epsilon"]) for _, columns in answers), default=0.0)

    def pairs(self, side: Side, choice: int, nats: float) -> losses.Pairs | None:
        """Return the pairs of one round; of a lower bound those of one of its accountants, by number."""
        if side == "upper":
            found = losses.pairs(self.entry, dict(self.setting), nats=nats)
            if found is None or self.drawn == 1:
                return found
            return [losses.with_chance(pair, self.drawn) for pair in found]
        entries = [entry for entry in self._lower() if losses.known(entry)]
        if self.below is None or not entries:
            return None
        return losses.pairs(entries[choice % len(entries)], dict(self.below), nats=nats)

    def _lower(self) -> list[registry.Accountant]:
        of = {"protocol": self.entry.protocol, "mechanism": self.entry.mechanism}
        listed = map(registry.get, registry.names("lower", **of))
        return [entry for entry in listed if entry.scope == "epsilon"]


@dataclass(frozen=True)
class _Release:
    """A release of which (epsilon, delta) is known, taken at its worst."""

    epsilon: float
    delta: float
    neighbours: systems.Neighbours | None

    @property
    def pure(self) -> float:
        return self.epsilon if self.delta == 0 else math.inf


@dataclass(frozen=True)
class _Noise:
    """A release with Gaussian noise."""

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
    """

    name: str
    what: str
    rounds: int
    part: _Rounds | _Release | _Noise


@dataclass(frozen=True)
class Plan:
    """Phases that follow each other, and what they cost together.

    The losses of all rounds are added up on one lattice, with one error budget that is part of the bound;
    rounds of one setting alone are answered by their accountant. Neighbours must be the same in all phases.

    Attributes:
        phases: in their order.
        delta: target for all phases together, in [0, 1); 0 asks for pure DP.
        budget: the epsilon that may be spent, None for none.
        group: records that may differ at once; a user who holds several records is such a group.
    """

    phases: tuple[Phase, ...]
    delta: float
    budget: float | None = None
    group: int = 1

    @classmethod
    def read(cls, raw: Mapping[str, Any]) -> Plan:
        """Return the plan that keys and values describe; see ``docs/plans.md``.

        Raises:
            PlanError: a key or value is none, or the phases do not go together.
        """
        _keys(raw, _OF_PLAN, (), "a plan")
        if "delta" not in raw:
            raise PlanError("delta is missing: a plan has one for all phases together")
        entries = raw.get("phases")
        if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
            raise PlanError(f"phases must be a list of at least one phase, got {entries!r}", ("phases",))
        delta = _at(("delta",), lambda: systems.checked("delta", raw["delta"]))
        budget = raw.get("budget")
        if budget is not None:
            budget = _at(("budget",), lambda: checks.positive("budget", budget))
        group = _at(("group",), lambda: checks.count("group", raw.get("group", 1)))
        _at(("group",), lambda: check_limit("n", group))
        phases = tuple(_phase(entry, place) for place, entry in enumerate(entries))
        _check_neighbours(phases)
        return cls(phases, delta, budget, group)

    @property
    def neighbours(self) -> systems.Neighbours | None:
        """How the data sets differ that all phases speak of; None if no phase says."""
        return next((phase.part.neighbours for phase in self.phases if phase.part.neighbours), None)

    @property
    def bounds(self) -> list[str]:
        """The bounds behind the fields ``group`` and ``reports``, in words, where they are used."""
        used = [_GROUPS] if self.group > 1 else []
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
        counts: dict[_Rounds | _Release | _Noise, int] = {}
        for phase, value in zip(self.phases, rounds, strict=True):
            count = checks.count("rounds", value, at_least=0)
            if count:
                counts[phase.part] = counts.get(phase.part, 0) + count
        if side == "lower":
            return _composed(counts, self.delta, "lower")
        if self.group == 1:
            return _composed(counts, self.delta, "upper")
        return self._of_group(counts)

    def _of_group(self, counts: Mapping[Any, int]) -> float:
        """Epsilon of a group: rises from the epsilon of one record until what is left of delta is enough."""
        if self.delta == 0:
            return self.group * _composed(counts, 0.0, "upper")
        epsilon = 0.0
        for _ in range(_MOST_STEPS):
            log_factor = _log_group_factor(self.group, epsilon)
            rest = math.exp(math.log(self.delta) - log_factor) * (1 - _ROUNDING * (1 + abs(log_factor)))
            if rest < numerics.SMALLEST_DELTA:
                break
            found = _composed(counts, rest, "upper")
            if found <= epsilon:
                return self.group * epsilon * (1 + _ROUNDING)
            epsilon = found * (1 + _SETTLED)
        return self.group * _composed(counts, 0.0, "upper")

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
                raise PlanError(
                    f"the budget epsilon = {self.budget:g} is spent already: phase {place + 1}, "
                    f"{phase.name!r}, brings epsilon to {upper:.7g}; raise budget, or take fewer rounds",
                    ("phases", place),
                )
            lower = min(self.epsilon(rounds, side="lower"), upper)
            rows.append(Spent(phase.name, phase.what, phase.rounds, lower, upper, left))
        return rows

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
        """Return epsilon along the rounds of all phases.

        Returns:
            Columns of one length: "rounds" so far, "phase" (from 1), "epsilon_lower" and "epsilon_upper".
        """
        rows, before = [(0.0, 1.0, 0.0, 0.0)], [0] * len(self.phases)
        for place, phase in enumerate(self.phases):
            points = np.unique(np.ceil(phase.rounds * np.arange(1, _POINTS + 1) / _POINTS).astype(int))
            for point in points.tolist():
                rounds = [*before[:place], point, *before[place + 1 :]]
                upper = self.epsilon(rounds)
                lower = min(self.epsilon(rounds, side="lower"), upper)
                rows.append((float(sum(rounds)), place + 1.0, lower, upper))
            before[place] = phase.rounds
        names = ("rounds", "phase", "epsilon_lower", "epsilon_upper")
        return dict(zip(names, np.array(rows).T, strict=True))


def _composed(counts: Mapping[Any, int], delta: float, side: Side) -> float:
    """Return epsilon of rounds of several kinds, of one record."""
    pure = sum(part.pure * count for part, count in counts.items() if part.pure > 0)
    if side == "upper":
        pure *= 1 + _ROUNDING
    else:
        pure *= 1 - _ROUNDING
    moving = {part: count for part, count in counts.items() if part.pure > 0}
    if not moving:
        return 0.0
    if len(moving) == 1:
        ((part, count),) = moving.items()
        if isinstance(part, _Rounds) and part.drawn == 1:
            return part.alone(count, delta, side)
    if delta < numerics.SMALLEST_DELTA:
        if side == "upper":
            return pure
        delta = numerics.SMALLEST_DELTA
    if side == "upper":
        return min(pure, _upper(moving, delta))
    return min(pure, _lower(moving, delta))


def _mu(counts: Mapping[Any, int], side: Side) -> float:
    squares = sum(part.mu**2 * count for part, count in counts.items() if isinstance(part, _Noise))
    return math.sqrt(squares) * (1 + _ROUNDING if side == "upper" else 1 - _ROUNDING)


def _upper(counts: Mapping[Any, int], delta: float) -> float:
    mu = _mu(counts, "upper")
    if all(isinstance(part, _Noise) for part in counts):
        return float(gaussian_epsilon(delta, mu=mu))
    nats, best = _nats(counts, delta), 0.0
    listed = [(_pairs_of(part, "upper", 0, nats), count) for part, count in counts.items()]
    of = [(pairs, count) for pairs, count in listed if pairs]
    if any(pairs is None for pairs, _ in listed):
        return math.inf
    all_fine = True
    for direction in range(max((len(pairs) for pairs, _ in of), default=1)):
        pairs = [(pairs[direction % len(pairs)], count) for pairs, count in of]
        found, fine = _least(pairs, mu, nats, delta)
        best, all_fine = max(best, found), all_fine and fine
    return best if all_fine else min(best, _apart(counts, delta))


def _apart(counts: Mapping[Any, int], delta: float) -> float:
    """Return the sum of the epsilons of all parts, each at an equal part of delta (basic composition)."""
    share, total, mu = delta / len(counts) * (1 - _ROUNDING), 0.0, _mu(counts, "upper")
    for part, count in counts.items():
        if isinstance(part, _Rounds):
            total += part.alone(count, share, "upper")
        elif isinstance(part, _Release):
            total += part.epsilon * count if part.delta * count <= share else math.inf
    if mu:
        total += float(gaussian_epsilon(share, mu=mu))
    return total * (1 + _ROUNDING)


def _least(pairs: list[tuple[Any, int]], mu: float, nats: float, delta: float) -> tuple[float, bool]:
    """Return the least epsilon of one direction, among those of finer and coarser lattices, and whether it
    is that of a lattice fine enough for all."""
    least, all_fine = math.inf, False
    for composition, fine in compositions(pairs, mu=mu, nats=nats, bound="upper"):
        try:
            found = composition.epsilon(delta)
            stated = 0 < found < math.inf
            error = composition.delta_with_errors(found)[1].total if stated else 0.0
        except LatticeTooFineError:
            continue
        least, all_fine = min(least, found), fine
        if error <= _TELLING * delta:
            break
    return least, all_fine


def _lower(counts: Mapping[Any, int], delta: float) -> float:
    mu, nats, best = _mu(counts, "lower"), _nats(counts, delta), 0.0
    releases = [(part, count) for part, count in counts.items() if isinstance(part, _Release)]
    # what releases disclose is a part of delta that no loss accounts for
    log_kept = sum(math.log1p(-part.delta) * count for part, count in releases)
    rest = (delta + math.expm1(log_kept)) * (1 + _ROUNDING) + _ROUNDING * -math.expm1(log_kept)
    if rest < 0:
        return math.inf
    rest = max(rest, numerics.SMALLEST_DELTA)
    for choice in range(2):
        listed = [(_pairs_of(part, "lower", choice, nats), count) for part, count in counts.items()]
        of = [(pairs, count) for pairs, count in listed if pairs]
        for direction in range(max((len(pairs) for pairs, _ in of), default=1)):
            pairs = [(pairs[direction % len(pairs)], count) for pairs, count in of]
            for composition, _ in compositions(pairs, mu=mu, nats=nats, bound="lower"):
                try:
                    best = max(best, composition.epsilon(rest))
                except LatticeTooFineError:
                    continue
                break
    return best


def _pairs_of(part: Any, side: Side, choice: int, nats: float) -> losses.Pairs | None:
    """Return the pairs of one round: none of noise, which is composed by itself, None if there are none."""
    if isinstance(part, _Noise):
        return []
    if isinstance(part, _Release):
        return [losses.released(part.epsilon, part.delta, bound=side)]
    return _cached_pairs(part, side, choice, nats)


@functools.lru_cache(maxsize=64)
def _cached_pairs(part: _Rounds, side: Side, choice: int, nats: float) -> losses.Pairs | None:
    return part.pairs(side, choice, nats)


def _nats(counts: Mapping[Any, int], delta: float) -> float:
    return via_pld.nats(np.array([float(sum(counts.values()))]), delta)


def _log_group_factor(group: int, epsilon: float) -> float:
    """log((e^(g eps) - 1)/(e^eps - 1)), which is log g at 0."""
    if epsilon == 0:
        return math.log(group)
    return (group - 1) * epsilon + math.log(-math.expm1(-group * epsilon) / -math.expm1(-epsilon))


def _at(place: Sequence[str | int], check: Callable[[], Any]) -> Any:
    """Return what a check does; where it refuses, say at which place of the plan."""
    try:
        return check()
    except PlanError:
        raise
    except ValueError as error:
        raise PlanError(str(error), place) from error


def _mapping(raw: object, place: Sequence[str | int], of: str) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise PlanError(f"{of} must hold keys and values, got {raw!r}", place)
    return raw


def _keys(raw: object, known: Sequence[str], place: Sequence[str | int], of: str) -> None:
    """Refuse keys that a mapping may not have, and what is no mapping."""
    raw = _mapping(raw, place, of)
    for key in raw:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise PlanError(f"unknown key {key!r} of {of}: {hint}known are {', '.join(known)}", (*place, key))


def _phase(entry: object, at: int) -> Phase:
    place = ("phases", at)
    of = f"phase {at + 1}"
    raw = _mapping(entry, place, of)
    extra = {"release", "noise"} & set(raw)
    if len(extra) == 2:
        raise PlanError(f"{of} must be one of a release and noise, got both; write two phases", place)
    known = (*_OF_EXTRA, *extra) if extra else (*_OF_PHASE, *VARIABLES, "release", "noise")
    _keys(raw, [key for key in known if extra or key not in ("delta", "epsilon")], place, of)
    name = str(raw.get("name", of))
    if "rounds" not in raw and not extra:
        raise PlanError(f"rounds is missing in {of}", place)
    rounds = _at((*place, "rounds"), lambda: checks.count("rounds", raw.get("rounds", 1)))
    _at((*place, "rounds"), lambda: check_limit("rounds", rounds))
    if not extra:
        part, words = _rounds_of(raw, place, of)
        return Phase(name, words, rounds, part)
    related = raw.get("neighbours")
    if related is not None:
        choices = tuple(str(one) for one in systems.Neighbours)
        related = _at((*place, "neighbours"), lambda: checks.choice("neighbours", related, choices))
        related = systems.Neighbours(related)
    (kind,) = extra
    inner = raw[kind]
    needs = ("epsilon", "delta") if kind == "release" else ("sigma", "sensitivity")
    _keys(inner, needs, (*place, kind), f"the {kind} of {of}")
    for key in needs:
        if key not in inner:
            raise PlanError(f"{key} is missing in the {kind} of {of}", (*place, kind))
    if kind == "release":
        epsilon = _at((*place, kind, "epsilon"), lambda: systems.checked("epsilon", inner["epsilon"]))
        delta = _at((*place, kind, "delta"), lambda: systems.checked("delta", inner["delta"]))
        if epsilon > _LARGEST_RELEASE:
            raise PlanError(
                f"epsilon must be at most {_LARGEST_RELEASE:g} in a release, got {epsilon!r}",
                (*place, kind, "epsilon"),
            )
        return Phase(
            name,
            f"release with epsilon={epsilon:g}, delta={delta:g}",
            rounds,
            _Release(epsilon, delta, related),
        )
    sigma = _at((*place, kind, "sigma"), lambda: checks.positive("sigma", inner["sigma"]))
    reach = _at((*place, kind, "sensitivity"), lambda: checks.positive("sensitivity", inner["sensitivity"]))
    _at((*place, kind), lambda: check_limit("sigma", sigma / reach))
    what = f"Gaussian noise with sigma={sigma:g}, sensitivity={reach:g}"
    return Phase(name, what, rounds, _Noise(reach / sigma, related))


def _rounds_of(raw: Mapping[str, Any], place: Sequence[str | int], of: str) -> tuple[_Rounds, str]:
    """Return what a round of a phase is, and in words."""
    setting = {key: value for key, value in raw.items() if key not in _OF_PHASE}
    reports = _at((*place, "reports"), lambda: checks.count("reports", raw.get("reports", 1)))
    words = ", ".join(f"{key}={value:g}" for key, value in setting.items() if isinstance(value, int | float))
    randomizer = raw.get("randomizer")
    if randomizer is not None:
        for key in ("protocol", "mechanism", "accountant"):
            if key in raw:
                raise PlanError(f"{key} has no meaning with randomizer in {of}; leave it out", (*place, key))
        entry, own = _at(place, lambda: named.known(randomizer, setting))
        words, below = f"{randomizer}, {words}", None
    else:
        entry = _at(place, lambda: _entry(raw, setting))
        own = _at(place, lambda: entry.system.checked(setting, of))
        below = tuple(own.items())
        words = f"{entry.protocol} of {entry.mechanism}, {words}"
    drawn = 1.0
    if "arriving" in raw:
        here = (*place, "arriving")
        if (entry.protocol, entry.mechanism) != systems.MAIN or "accountant" in raw or randomizer is not None:
            raise PlanError(
                f"arriving has no meaning in {of}: it is for k of n clients and eps0 alone; leave it out",
                here,
            )
        arriving = _at(here, lambda: checks.count("arriving", raw["arriving"]))
        if arriving > own["k"]:
            raise PlanError(f"arriving must be at most k = {own['k']} in {of}, got {arriving}", here)
        drawn, below = own["k"] / own["n"], None
        entry, own = registry.get("shuffle-clones"), {"n": arriving, "eps0": own["eps0"]}
        words += f", arriving={arriving}"
    if entry.kind != "upper":
        raise PlanError(
            f"accountant must be an upper bound in {of}, got {entry.name!r} ({entry.kind})",
            (*place, "accountant"),
        )
    if reports > 1:
        if randomizer is not None or entry.mechanism != "ldp":
            raise PlanError(
                f"reports must be 1 in {of}, got {reports}: several reports of one client are accounted for "
                "where mechanism is ldp alone, as one report with eps0 times reports",
                (*place, "reports"),
            )
        own = {**own, "eps0": own["eps0"] * reports}
        _at((*place, "reports"), lambda: check_limit("eps0", own["eps0"]))
        words += f", reports={reports}"
    return _Rounds(entry, tuple(own.items()), below, drawn), words


def _entry(raw: Mapping[str, Any], setting: Mapping[str, Any]) -> registry.Accountant:
    """Return the accountant of a phase: the one named, or that of the system that the keys set."""
    name = raw.get("accountant")
    if name is not None:
        entry = registry.get(name)
        for key, own in (("protocol", entry.protocol), ("mechanism", entry.mechanism)):
            if raw.get(key, own) != own:
                raise ValueError(f"{key} must be {own} for accountant {name!r}, got {raw[key]!r}")
        return entry
    if "protocol" in raw or "mechanism" in raw:
        protocol = raw.get("protocol", systems.MAIN[0])
        having = systems.mechanisms(protocol)
        mechanism = having[0] if len(having) == 1 else systems.MAIN[1]
        return registry.get(systems.get(protocol, raw.get("mechanism", mechanism)).default)
    meant = [system for system in systems.systems() if set(system.variables) == set(setting)]
    if len(meant) > 1:
        either = " or ".join(f"{system.protocol} with {system.mechanism}" for system in meant)
        raise ValueError(f"protocol must be given, since {', '.join(setting)} set {either}")
    if not meant:
        close = systems.get(*systems.MAIN)
        raise ValueError(
            f"{', '.join(setting) or 'nothing'} set no system; the main one, {close}, is set by "
            f"{', '.join(close.variables)}"
        )
    return registry.get(meant[0].default)


def _related(phases: Sequence[Phase]) -> Iterator[tuple[int, Phase]]:
    return ((place, phase) for place, phase in enumerate(phases) if phase.part.neighbours is not None)


def _check_neighbours(phases: Sequence[Phase]) -> None:
    """Refuse phases with different neighbours, and phases that compose with none."""
    related = list(_related(phases))
    for place, phase in related[1:]:
        first = related[0][1]
        if phase.part.neighbours != first.part.neighbours:
            raise PlanError(
                f"phases must agree on neighbours: {first.name!r} is for {first.part.neighbours}, "
                f"{phase.name!r} for {phase.part.neighbours}, and a bound for one says nothing of the other; "
                "account for them apart",
                ("phases", place),
            )
    if len({phase.part for phase in phases}) > 1:
        for place, phase in enumerate(phases):
            part = phase.part
            if isinstance(part, _Rounds) and not losses.known(part.entry):
                having = [
                    name
                    for name in registry.names(
                        "upper", protocol=part.entry.protocol, mechanism=part.entry.mechanism
                    )
                    if losses.known(registry.get(name))
                ]
                raise PlanError(
                    f"accountant {part.entry.name!r} of {phase.name!r} has no privacy losses to compose with "
                    f"other phases; "
                    + (f"take {' or '.join(having)}" if having else f"none of {part.entry.system} has any"),
                    ("phases", place),
                )
