"""What is accounted for: who takes part in a round and what they send, and the variables that set it.

An accountant speaks of one system. Asked about another, it refuses: a bound for one protocol says nothing of
a second one, however alike their variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shuffledp import limits

Setting = dict[str, Any]

MAIN = ("subsampled-shuffle", "ldp")


def answer(variable: str) -> str:
    """Return what a curve along a variable gives: delta along epsilon, epsilon along any other."""
    return "delta" if variable == "epsilon" else "epsilon"


@dataclass(frozen=True)
class System:
    """A protocol and a mechanism.

    Attributes:
        protocol: who takes part in a round.
        mechanism: what they send.
        words: both in words.
        variables: what sets it, besides the number of rounds and delta.
        default: the accountant to take where none is named.
        check: from the variables to themselves, checked; raises ValueError.
        pure: from the checked variables to the pure DP parameter of one round, inf if there is none.
    """

    protocol: str
    mechanism: str
    words: str
    variables: tuple[str, ...]
    default: str
    check: Callable[[Mapping[str, Any]], Setting]
    pure: Callable[[Setting], float]

    def __str__(self) -> str:
        return f"{self.protocol} with {self.mechanism}"

    def curve_variables(self, variable: str) -> tuple[str, ...]:
        """Return what a curve along ``variable`` must fix or vary: of epsilon and delta, the one asked."""
        return (*self.variables, "rounds", "epsilon" if answer(variable) == "delta" else "delta")

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
        found = self.check(given)
        for name, value in found.items():
            limits.check(name, value)
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


def mechanisms(protocol: str) -> list[str]:
    """Return what is known to be sent in rounds of a protocol; nothing if there is no such protocol."""
    return [system.mechanism for system in systems() if system.protocol == protocol]


def systems() -> list[System]:
    """Return all systems, the main one first."""
    return list(_SYSTEMS.values())


def variables() -> list[str]:
    """Return all that a curve may vary or fix: what sets a system, rounds, and delta or epsilon."""
    of_systems = [name for system in systems() for name in system.variables]
    return [*dict.fromkeys(of_systems), "rounds", "delta", "epsilon"]
