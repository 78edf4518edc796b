"""The phases of a plan, read from keys and values; see ``docs/plans.md``."""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from shuffledp import checks
from shuffledp.accountants import named, registry, systems
from shuffledp.accountants.plans import pairs
from shuffledp.accountants.plans.parts import Noise, Phase, PlanError, Release, Rounds
from shuffledp.profiles import named_randomizers
from shuffledp.variables import VARIABLES, check_limit

_LARGEST_RELEASE = 300.0  # beyond, e^eps and its inverse are not both numbers of double precision
_NAMES = ("protocol", "mechanism", "accountant", "randomizer")
_OF_PHASE = ("name", "rounds", *_NAMES, "reports")
_OF_EXTRA = ("name", "rounds", "neighbours")
# of a phase of which nothing says yet what it is; delta and epsilon are of the plan and of releases
_OF_ROUNDS = (
    *dict.fromkeys((*_OF_PHASE, *(name for name in VARIABLES if name not in ("delta", "epsilon")))),
    *("release", "noise"),
)


def at(place: Sequence[str | int], check: Callable[[], Any]) -> Any:
    """Return what a check returns; where it refuses, say at which place of the plan.

    Raises:
        PlanError: the check refuses.
    """
    try:
        return check()
    except PlanError:
        raise
    except ValueError as error:
        raise PlanError(str(error), place) from error


def number(place: Sequence[str | int], value: object, check: Callable[[str, Any], Any]) -> Any:
    """Return the number that a value is by a check, which takes the name and the value.

    Args:
        place: keys and positions that lead to the value; the last one is its name.
        value: as the plan has it.
        check: raises ValueError for what is no such number.

    Raises:
        PlanError: the check refuses.
    """
    try:
        return check(str(place[-1]), value)
    except ValueError as error:
        quoted = isinstance(value, str) and _is_number(value)
        raise PlanError(f"{error}{'; write it without quotes' if quoted else ''}", place) from error


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _mapping(raw: object, place: Sequence[str | int], of: str) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        got = "nothing" if raw is None else repr(raw)
        raise PlanError(f"{of} must hold keys and values, a line `key: value` each, got {got}", place)
    return raw


def check_keys(raw: object, known: Sequence[str], place: Sequence[str | int], of: str) -> None:
    """Refuse keys that a mapping may not have, and what is no mapping.

    Args:
        raw: what should be a mapping.
        known: the keys that it may have.
        place: keys and positions that lead to it.
        of: what messages call it.

    Raises:
        PlanError: it has another key, or is none.
    """
    raw = _mapping(raw, place, of)
    for key in raw:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise PlanError(f"unknown key {key!r} of {of}: {hint}known are {', '.join(known)}", (*place, key))


def _check_name(kind: str, name: str) -> None:
    """Refuse a name of ``_NAMES`` that there is not; the message has the closest one, if one is close.

    Raises:
        ValueError: there is none of this name.
    """
    if kind == "accountant":
        registry.get(name)
        return
    if kind == "randomizer":
        named_randomizers.parameters(name)
        return
    known = list(dict.fromkeys(getattr(system, kind) for system in systems.systems()))
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{kind} must be one of {', '.join(known)}, got {name!r}{hint}")


def phase(entry: object, position: int) -> Phase:
    """Return a phase of a plan.

    Args:
        entry: its keys and values.
        position: its place in the plan, counted from 0.

    Raises:
        PlanError: a key or value is none of a phase.
    """
    place = ("phases", position)
    of = f"phase {position + 1}"
    raw = _mapping(entry, place, of)
    extra = {"release", "noise"} & set(raw)
    if len(extra) == 2:
        raise PlanError(f"{of} must be one of a release and noise, got both; write two phases", place)
    check_keys(raw, (*_OF_EXTRA, *extra) if extra else _OF_ROUNDS, place, of)
    name = str(raw.get("name", of))
    if "rounds" not in raw and not extra:
        raise PlanError(f"rounds is missing in {of}", place)
    rounds = number((*place, "rounds"), raw.get("rounds", 1), checks.count)
    at((*place, "rounds"), lambda: check_limit("rounds", rounds))
    if not extra:
        part, words = _rounds_of(raw, place, of)
        return Phase(name, words, rounds, part, int(raw["n"]) if "n" in raw else None)
    related = raw.get("neighbours")
    if related is not None:
        choices = tuple(str(one) for one in systems.Neighbours)
        related = at((*place, "neighbours"), lambda: checks.choice("neighbours", related, choices))
        related = systems.Neighbours(related)
    (kind,) = extra
    inner = raw[kind]
    needs = ("epsilon", "delta") if kind == "release" else ("sigma", "sensitivity")
    check_keys(inner, needs, (*place, kind), f"the {kind} of {of}")
    for key in needs:
        if key not in inner:
            raise PlanError(f"{key} is missing in the {kind} of {of}", (*place, kind))
    if kind == "release":
        epsilon = number((*place, kind, "epsilon"), inner["epsilon"], systems.checked)
        delta = number((*place, kind, "delta"), inner["delta"], systems.checked)
        if epsilon > _LARGEST_RELEASE:
            raise PlanError(
                f"epsilon must be at most {_LARGEST_RELEASE:g} in a release, got {epsilon!r}",
                (*place, kind, "epsilon"),
            )
        return Phase(
            name,
            f"release with epsilon={epsilon:g}, delta={delta:g}",
            rounds,
            Release(epsilon, delta, related),
        )
    sigma = number((*place, kind, "sigma"), inner["sigma"], checks.positive)
    reach = number((*place, kind, "sensitivity"), inner["sensitivity"], checks.positive)
    at((*place, kind), lambda: check_limit("sigma", sigma / reach))
    what = f"Gaussian noise with sigma={sigma:g}, sensitivity={reach:g}"
    return Phase(name, what, rounds, Noise(reach / sigma, related))


def _rounds_of(raw: Mapping[str, Any], place: Sequence[str | int], of: str) -> tuple[Rounds, str]:
    """Return what a round of a phase is, and in words."""
    setting = {key: value for key, value in raw.items() if key not in _OF_PHASE}
    reports = number((*place, "reports"), raw.get("reports", 1), checks.count)
    for key in _NAMES:
        if not isinstance(raw.get(key, ""), str):
            raise PlanError(f"{key} must be a name in {of}, got {raw[key]!r}", (*place, key))
        if key in raw:
            at((*place, key), functools.partial(_check_name, key, raw[key]))
    for key, value in setting.items():
        found = number((*place, key), value, systems.checked)
        at((*place, key), functools.partial(check_limit, key, found))
    randomizer = raw.get("randomizer")
    if randomizer is not None:
        for key in _NAMES:
            if key in raw and key != "randomizer":
                raise PlanError(f"{key} has no meaning with randomizer in {of}; leave it out", (*place, key))
        entry, own = at(place, lambda: named.known(randomizer, setting))
        what, below = randomizer, None
    else:
        entry = at(place, lambda: _entry(raw, setting))
        own = at(place, lambda: entry.system.checked(setting, of))
        below = tuple(own.items())
        what = f"{entry.protocol} of {entry.mechanism}"
    words = ", ".join([what, *(f"{key}={value:g}" for key, value in setting.items())])
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
        at((*place, "reports"), lambda: check_limit("eps0", own["eps0"]))
        words += f", reports={reports}"
    asked = tuple(setting.items()) if randomizer is not None else ()
    return Rounds(entry, tuple(own.items()), below, randomizer or "", asked), words


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
        protocol = raw.get("protocol", systems.SUBSAMPLED_SHUFFLE[0])
        having = systems.mechanisms(protocol)
        mechanism = having[0] if len(having) == 1 else systems.SUBSAMPLED_SHUFFLE[1]
        return registry.get(systems.get(protocol, raw.get("mechanism", mechanism)).default)
    meant = [system for system in systems.systems() if set(system.variables) == set(setting)]
    if len(meant) > 1:
        either = " or ".join(f"{system.protocol} with {system.mechanism}" for system in meant)
        raise ValueError(f"protocol must be given, since {', '.join(setting)} set {either}")
    if not meant:
        close = systems.get(*systems.SUBSAMPLED_SHUFFLE)
        raise ValueError(
            f"{', '.join(setting) or 'nothing'} set no system; the main one, {close}, is set by "
            f"{', '.join(close.variables)}"
        )
    return registry.get(meant[0].default)


def _related(phases: Sequence[Phase]) -> Iterator[tuple[int, Phase]]:
    return ((place, phase) for place, phase in enumerate(phases) if phase.part.neighbours is not None)


def check_together(phases: Sequence[Phase]) -> None:
    """Refuse phases with different neighbours, and phases that compose with none.

    Raises:
        PlanError: there are such phases.
    """
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
            if isinstance(part, Rounds) and not pairs.known(part.entry):
                having = [
                    name
                    for name in registry.names(
                        "upper", protocol=part.entry.protocol, mechanism=part.entry.mechanism
                    )
                    if pairs.known(registry.get(name))
                ]
                raise PlanError(
                    f"accountant {part.entry.name!r} of {phase.name!r} has no privacy losses to compose with "
                    f"other phases; "
                    + (f"take {' or '.join(having)}" if having else f"none of {part.entry.system} has any"),
                    ("phases", place),
                )
