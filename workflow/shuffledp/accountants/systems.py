"""What is accounted for: who takes part in a round and what they send, and the variables that set it.

An accountant speaks of one system. Asked about another, it refuses: a bound for one protocol says nothing of
a second one, however alike their variables.
"""

from __future__ import annotations

import difflib
import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shuffledp import checks
from shuffledp.approximate_dp.composition import ApproximateDP
from shuffledp.variables import OF_QUESTIONS, VARIABLES, check_limit

Setting = dict[str, Any]

SUBSAMPLED_SHUFFLE = ("subsampled-shuffle", "ldp")


def dependent_variable(variable: str) -> str:
    """Return what a curve along a variable gives: delta along epsilon, epsilon along any other."""
    return "delta" if variable == "epsilon" else "epsilon"


class Neighbours(enum.StrEnum):
    """How two data sets differ that must not be told apart: a bound for one relation is none for another."""

    SUBSTITUTION = "substitution"  # the record of one client is another
    REMOVAL = "removal"  # one client is not there


def checked(name: str, value: Any) -> float:
    """Return the value of a variable as the number that the table of variables means.

    Args:
        name: of the variable.
        value: what was given for it.

    Raises:
        ValueError: it is out of the variable's range.
    """
    wanted = VARIABLES[name].range
    if isinstance(value, list | tuple):
        raise ValueError(f"{name} must be a single real number, got {value!r}{VARIABLES[name].several}")
    if wanted.whole:
        return checks.count(name, value, at_least=int(wanted.least))
    if wanted.most == math.inf:
        return (
            checks.positive(name, value) if wanted.without_least else checks.real(name, value, at_least=0.0)
        )
    if (wanted.least, wanted.most) == (0, 1):
        return checks.probability(name, value, zero=not wanted.without_least, one=not wanted.without_most)
    number = checks.real(name, value)
    if number not in wanted:
        raise ValueError(f"{name} must lie in {wanted.interval}, got {value!r}{VARIABLES[name].hint}")
    return number


def _anything(setting: Setting) -> None:
    """Let every value of a variable go with every value of the others."""


def of_one_report(setting: Setting) -> ApproximateDP:
    """Return the guarantee of a round in which each client reports once at most, whoever sees its report."""
    return ApproximateDP(setting["eps0"], setting.get("delta0", 0.0))


def none(setting: Setting) -> ApproximateDP:
    """Return that no eps bounds a round, as of noise whose density ratios have no bound."""
    return ApproximateDP(math.inf, 0.0)


@dataclass(frozen=True)
class System:
    """A protocol and a mechanism.

    Attributes:
        protocol: who takes part in a round.
        mechanism: what they send.
        words: both in words.
        variables: what sets it, besides the number of rounds and delta.
        default: the accountant to take where none is named.
        neighbours: how data sets differ that must not be told apart.
        basic: from the checked variables to an (eps, delta)-DP of one round, for every randomiser of the
            mechanism, which rounds add up to by basic composition; eps is inf if there is none.
        check: raises ValueError where values, each in its variable's range, do not go together.
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
        """Return the pure DP parameter of one round, inf if there is none.

        Args:
            setting: the checked variables.
        """
        eps, delta = self.basic(setting)
        return float(eps) if delta == 0 else math.inf

    def curve_variables(self, variable: str) -> tuple[str, ...]:
        """Return what a curve along ``variable`` must fix or vary: of epsilon and delta, the one asked."""
        return (*self.variables, "rounds", "epsilon" if dependent_variable(variable) == "delta" else "delta")

    def checked(self, given: Mapping[str, Any], asker: str) -> Setting:
        """Return the variables, checked.

        Args:
            given: values by name.
            asker: who needs them, for the message.

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
        """Return the variables, each in its range and all of them together, as far as that goes.

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
    """Make a system known.

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
    """Return what is known to be sent in rounds of a protocol; nothing if there is no such protocol."""
    return [system.mechanism for system in systems() if system.protocol == protocol]


def systems() -> list[System]:
    """Return all systems, the main one first."""
    return list(_SYSTEMS.values())


def variables() -> list[str]:
    """Return all that a curve may vary or fix: what sets a system, rounds, and delta or epsilon."""
    of_systems = [name for system in systems() for name in system.variables]
    return [*dict.fromkeys(of_systems), *(variable.name for variable in OF_QUESTIONS)]
