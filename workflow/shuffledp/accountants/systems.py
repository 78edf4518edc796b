"""Systems, which accountants account for: who takes part in a round, what they send, and the variables.

An accountant is for one system and refuses the variables of another: a bound for one protocol says nothing
about a second one, however similar their variables are.
"""

from __future__ import annotations

import difflib
import enum
import math
import reprlib
from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from numbers import Real
from typing import Any

from shuffledp.approximate_dp.composition import ApproximateDP
from shuffledp.variables import OF_QUESTIONS, VARIABLES, check_limit

Setting = dict[str, Any]

SUBSAMPLED_SHUFFLE = ("subsampled-shuffle", "ldp")


def dependent_variable(variable: str) -> str:
    """Return what a curve along a variable computes: delta along epsilon, epsilon along any other."""
    return "delta" if variable == "epsilon" else "epsilon"


class Neighbours(enum.StrEnum):
    """How neighbouring data sets differ; a bound for one relation is no bound for the other."""

    SUBSTITUTION = "substitution"  # one client has another record
    REMOVAL = "removal"  # one client is missing


def checked(name: str, value: Any) -> float:
    """Return the value of a variable as a number in the range that the table of variables has for it.

    Args:
        name: of the variable.
        value: the value that was given.

    Returns:
        An int where the variable is a whole number, else a float.

    Raises:
        ValueError: it is no single number, or out of the variable's range.
    """
    variable = VARIABLES[name]
    if isinstance(value, bool) or not isinstance(value, Real):
        several = isinstance(value, Sized) and not isinstance(value, str | bytes)
        got = " ".join(reprlib.repr(value).split()) if several else repr(value)
        raise ValueError(
            f"{name} must be a single real number, got {got}{variable.several if several else ''}"
        )
    number = variable.range.number(value)
    if number is None:
        wanted = variable.range
        within = wanted.most < math.inf and not wanted.whole
        must = f"lie in {wanted.interval}" if within else f"be {wanted.words}"
        raise ValueError(f"{name} must {must}, got {value!r}{variable.hint}")
    return number


def _anything(setting: Setting) -> None:
    """Accept every combination of values."""


def of_one_report(setting: Setting) -> ApproximateDP:
    """Return the guarantee of a round in which each client sends at most one report, without a shuffler."""
    return ApproximateDP(setting["eps0"], setting.get("delta0", 0.0))


def unbounded(setting: Setting) -> ApproximateDP:
    """Return eps = inf: no eps bounds a round, as with noise whose density ratios are unbounded."""
    return ApproximateDP(math.inf, 0.0)


@dataclass(frozen=True)
class System:
    """A protocol and a mechanism.

    Attributes:
        protocol: who takes part in a round.
        mechanism: what they send.
        words: both in words.
        variables: names of the variables that set it, besides the number of rounds and delta.
        default: the accountant that is used where none is named.
        neighbours: how neighbouring data sets differ.
        basic: function of the checked variables that returns an (eps, delta) of one round, for every
            randomiser of the mechanism, which basic composition adds up over rounds; eps is inf if there is
            none.
        check: function that raises ValueError where values, each in its variable's range, contradict each
            other.
    """

    protocol: str
    mechanism: str
    words: str
    variables: tuple[str, ...]
    default: str
    neighbours: Neighbours
    basic: Callable[[Setting], ApproximateDP]
    check: Callable[[Setting], object] = _anything

    def __str__(self) -> str:
        return f"{self.protocol} with {self.mechanism}"

    def pure(self, setting: Setting) -> float:
        """Return the pure DP parameter of one round; inf if there is none.

        Args:
            setting: the checked variables.
        """
        eps, delta = self.basic(setting)
        return float(eps) if delta == 0 else math.inf

    def curve_variables(self, variable: str) -> tuple[str, ...]:
        """Return the variables that a curve along ``variable`` must fix or vary; of epsilon and delta that
        which is not computed."""
        return (*self.variables, "rounds", "epsilon" if dependent_variable(variable) == "delta" else "delta")

    def checked(self, given: Mapping[str, Any], asker: str) -> Setting:
        """Return the variables, checked.

        Args:
            given: values by name.
            asker: the accountant that takes them, for the message.

        Raises:
            ValueError: a variable is missing, not one of this system, or out of range.
        """
        if set(given) != set(self.variables):
            meant = [
                f"protocol {system.protocol!r} with mechanism {system.mechanism!r}"
                for system in systems()
                if set(given) == set(system.variables)
            ]
            raise ValueError(
                f"{asker} is for {self}: {self.words}, set by {', '.join(self.variables)} (with rounds and "
                f"delta); got {', '.join(given) or 'nothing'}"
                + (f", which set {' or '.join(meant)}: name that, or its accountants" if meant else "")
            )
        found = self.in_range(given)
        for name, value in found.items():
            check_limit(name, value)
        return found

    def in_range(self, given: Mapping[str, Any]) -> Setting:
        """Return the variables, each checked to be in its range, and all of them to go together.

        Limits, beyond which nothing is computed, are not checked.

        Args:
            given: a value of each of the system's variables by name.

        Raises:
            ValueError: one is out of range, or they do not go together.
        """
        found = {name: checked(name, given[name]) for name in self.variables}
        self.check(found)
        return found


_SYSTEMS: dict[tuple[str, str], System] = {}


def enter(system: System) -> System:
    """Register a system.

    Raises:
        ValueError: its protocol and mechanism are taken.
    """
    if (system.protocol, system.mechanism) in _SYSTEMS:
        raise ValueError(f"{system.protocol} with {system.mechanism} is known already; choose another name")
    _SYSTEMS[system.protocol, system.mechanism] = system
    return system


def get(protocol: str, mechanism: str) -> System:
    """Return the system of a protocol and a mechanism.

    Raises:
        ValueError: there is none.
    """
    if (protocol, mechanism) not in _SYSTEMS:
        having = mechanisms(protocol)
        if not having:
            known = ", ".join(dict.fromkeys(system.protocol for system in systems()))
            raise ValueError(f"protocol must be one of {known}, got {protocol!r}")
        raise ValueError(
            f"mechanism must be one of {', '.join(having)} for protocol {protocol}, got {mechanism!r}"
        )
    return _SYSTEMS[protocol, mechanism]


def matching(name: str) -> list[System]:
    """Return the systems that a name stands for: a protocol, a mechanism, or both with a slash between them.

    Raises:
        ValueError: it stands for none; the message has the closest name, if one is close.
    """
    found = [system for system in systems() if name in _names(system)]
    if found:
        return found
    known = list(dict.fromkeys(one for system in systems() for one in _names(system)))
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    kinds = [dict.fromkeys(getattr(one, kind) for one in systems()) for kind in ("protocol", "mechanism")]
    protocols, sent = (", ".join(kind) for kind in kinds)
    raise ValueError(
        f"unknown system {name!r}: {hint}known are protocols ({protocols}), mechanisms ({sent}), and both as "
        f"in {'/'.join(SUBSAMPLED_SHUFFLE)}"
    )


def _names(system: System) -> tuple[str, str, str]:
    return system.protocol, system.mechanism, f"{system.protocol}/{system.mechanism}"


def mechanisms(protocol: str) -> list[str]:
    """Return the mechanisms that have a system with a protocol; none if there is no such protocol."""
    return [system.mechanism for system in systems() if system.protocol == protocol]


def systems() -> list[System]:
    """Return all systems, the subsampled shuffle of eps0-LDP reports first."""
    return sorted(_SYSTEMS.values(), key=lambda one: (one.protocol, one.mechanism) != SUBSAMPLED_SHUFFLE)


def variables() -> list[str]:
    """Return the names of all variables that a curve may vary or fix, rounds, delta and epsilon included."""
    of_systems = [name for system in systems() for name in system.variables]
    return [*dict.fromkeys(of_systems), *(variable.name for variable in OF_QUESTIONS)]
