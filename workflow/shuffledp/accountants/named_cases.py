"""A named randomiser in a protocol: its checked variables and parameters, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

from shuffledp import variables
from shuffledp.accountants import blankets, systems, via_pld
from shuffledp.profiles import named_randomizers, two_valued

_OF_PROTOCOLS = frozenset(name for base in blankets.BASES for name in base.variables)


class Case(NamedTuple):
    """A named randomiser in a protocol.

    Attributes:
        system: the protocol with any eps0-LDP randomiser.
        setting: its variables, checked.
        randomizer: the name.
        known: what is known of the randomiser; None at an eps0, such as 0, outside of what is accounted for.
        parameters: the randomiser's own.
    """

    system: systems.System
    setting: systems.Setting
    randomizer: str
    known: two_valued.Known | None
    parameters: dict[str, Any]


def case(randomizer: str, given: Mapping[str, Any]) -> Case:
    """Return a randomiser in the protocol that has the given variables.

    Args:
        randomizer: one of ``named_randomizers.NAMES``.
        given: the variables of the protocol and the randomiser's own parameters.

    Raises:
        ValueError: a variable or parameter is missing, unknown or out of range.
    """
    takes = named_randomizers.parameters(randomizer)
    parameters = {name: value for name, value in given.items() if name in takes}
    setting = {name: value for name, value in given.items() if name not in takes}
    foreign = {name: value for name, value in setting.items() if name not in _OF_PROTOCOLS}
    named_randomizers.check_parameters(randomizer, {**parameters, **foreign})
    found = [base for base in blankets.BASES if set(base.variables) == set(setting)]
    if not found:
        _refuse(randomizer, setting)
    checked = found[0].in_range(setting)
    # the randomiser's own parameters are checked even where eps0 is outside of what is accounted for
    some = min(max(checked["eps0"], via_pld.SMALLEST_EPS0), via_pld.LARGEST_EPS0)
    known = named_randomizers.named(randomizer, eps0=some, **parameters)
    inside = checked["eps0"] == some
    return Case(found[0], checked, randomizer, _in_range(known) if inside else None, parameters)


def _in_range(known: two_valued.Known) -> two_valued.Known:
    """Return the numbers, raised to the least that is accounted for: larger upper bounds hold too."""
    share = known.share and max(known.share, variables.VARIABLES["share"].least)
    return replace(known, share=share, tv=max(known.tv, variables.VARIABLES["tv"].least))


def _refuse(randomizer: str, setting: Mapping[str, Any]) -> NoReturn:
    """Refuse variables that are not those of one protocol."""
    got = named_randomizers.in_words(setting, nothing="neither")
    for name in ("n", "eps0"):
        if name not in setting:
            raise ValueError(f"randomizer {randomizer!r} needs {name}, got {got}; give {name}")
    raise ValueError(
        f"randomizer {randomizer!r} needs k, rate or neither beside n and eps0, got {got}; leave rate out "
        "for rounds of k clients, or k for clients who check in"
    )
