"""Accounting backwards: delta from epsilon, and the largest setting that stays within a budget.

An accountant computes epsilon from delta, and nothing here knows its formula: its epsilon is searched. Every
answer is a number of ``DIGITS`` significant digits, or a whole number of rounds. It was itself evaluated and
found to be on the safe side; its neighbour was evaluated too and is not. So what is printed is what holds,
even where an accountant is not quite monotone in its last digits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

from shuffledp import checks, rounding
from shuffledp.accountants import blankets, named, registry
from shuffledp.accountants.inversion import (
    DIGITS,
    SMALLEST_EXPONENT,
    UNIT,
    decimal,
    delta_of,
    height_above,
    neighbours,
)
from shuffledp.accountants.registry import Accountant
from shuffledp.profiles import named_randomizers
from shuffledp.variables import VARIABLES

_LARGEST_EPS0_EXPONENT = round(math.log10(VARIABLES["eps0"].most))
_LARGEST_ROUNDS_EXPONENT = round(math.log10(VARIABLES["rounds"].most))


def of_randomizer(randomizer: str, given: Mapping[str, Any]) -> tuple[Accountant, dict[str, Any]]:
    """Return the upper bound of a named randomiser as an accountant, and the variables of its system.

    Args:
        randomizer: one of ``named_randomizers.NAMES``.
        given: the randomiser's parameters, and variables of a protocol, of which some may be missing: k means
            rounds of k clients, rate those who check in, and neither of them rounds of all.

    Raises:
        ValueError: there is no such randomiser, or a parameter is missing or out of range.
    """
    takes = named_randomizers.parameters(randomizer)
    own = {name: value for name, value in given.items() if name in takes}
    setting = {name: value for name, value in given.items() if name not in takes}
    protocol = next(
        (base.protocol for base in blankets.BASES if {"k", "rate"} & set(base.variables) & set(setting)),
        "shuffle",
    )
    return named.accountant(randomizer, randomizer=randomizer, protocol=protocol, **own), setting


def _asked(
    accountant: str | None, randomizer: str | None, setting: dict[str, Any]
) -> tuple[Accountant, dict[str, Any]]:
    """Return the accountant that is meant and the variables of its system.

    Raises:
        ValueError: neither an accountant nor a randomiser is named, or both are.
    """
    if accountant is not None and randomizer is None:
        return registry.get(accountant), setting
    if randomizer is not None and accountant is None:
        return of_randomizer(randomizer, setting)
    given = "neither" if accountant is None else "both"
    raise ValueError(f"name one of accountant and randomizer, got {given}")


def delta_at(
    accountant: str | None = None,
    *,
    eps: float,
    rounds: int,
    randomizer: str | None = None,
    **setting: Any,
) -> float:
    """Return delta at which an accountant's epsilon is ``eps``.

    Found by bisection on log delta: first the decade, from 1e-8 outwards, then the digits.

    Args:
        accountant: its registered name.
        eps: the epsilon that is asked for, >= 0.
        rounds: number of rounds, one number >= 0.
        randomizer: in place of an accountant, a randomiser whose upper bound is meant; see ``of_randomizer``.
        setting: the variables of the accountant's system: of the subsampled shuffle n, k and eps0; and the
            parameters of a randomiser.

    Returns:
        Of an upper bound or an estimate the smallest delta, to ``DIGITS`` significant digits, rounded up: the
        accountant's epsilon at the returned delta does not exceed ``eps``. It is 0 where that holds of pure
        DP, never otherwise below 1e-300, and 1, which holds of everything, where no smaller delta is
        certified. Of a lower bound the largest delta, rounded down, at which its epsilon exceeds ``eps``, so
        that delta is a lower bound in the accountant's scope; 0 where there is none.

    Raises:
        ValueError: there is no such accountant or randomiser, or an argument is out of range.
    """
    eps = checks.real("eps", eps, at_least=0.0)
    entry, setting = _asked(accountant, randomizer, setting)
    setting["rounds"] = checks.count("rounds", rounds, at_least=0)
    return delta_of(entry, eps=eps, **setting)


def _upper(
    accountant: str | None, randomizer: str | None, setting: dict[str, Any]
) -> tuple[Accountant, dict[str, Any]]:
    """Return what ``_asked`` does, of an accountant that must certify its epsilon."""
    entry, setting = _asked(accountant, randomizer, setting)
    if entry.kind != "upper":
        raise ValueError(
            f"accountant must be an upper bound to keep a budget, got {entry.name!r} ({entry.kind}); "
            f"upper bounds are {', '.join(registry.names('upper', **_system(entry)))}"
        )
    return entry, setting


def _system(entry: Accountant) -> dict[str, str]:
    return {"protocol": entry.protocol, "mechanism": entry.mechanism}


def _target(value: float) -> float:
    """Return the budget, a finite number > 0."""
    target = checks.real("target_eps", value, at_least=0.0)
    if target == 0:
        raise ValueError(f"target_eps must be a finite number > 0, got {value!r}: no budget keeps eps0 = 0")
    return target


def largest_eps0(
    accountant: str | None = None,
    *,
    target_eps: float,
    rounds: int,
    delta: float,
    randomizer: str | None = None,
    **setting: Any,
) -> float:
    """Return the largest local privacy parameter whose epsilon stays within a budget.

    Args:
        accountant: the registered name of an upper bound.
        target_eps: the budget, > 0.
        rounds: number of rounds, one number >= 1.
        delta: target, in [0, 1).
        randomizer: as for ``delta_at``.
        setting: the other variables of the accountant's system: of the subsampled shuffle n and k.

    Returns:
        eps0, rounded down to ``DIGITS`` significant digits: the accountant's epsilon at the returned eps0
        does not exceed ``target_eps``, and at the next number of as many digits it does.

    Raises:
        ValueError: the accountant is unknown or no upper bound, an argument is out of range, or no eps0
            (or every eps0) stays within the budget.
    """
    target = _target(target_eps)
    entry, setting = _upper(accountant, randomizer, setting)
    if "eps0" not in entry.system.variables:
        raise ValueError(
            f"accountant must be for a system set by eps0 to find the largest, got {entry.name!r} for "
            f"{entry.system}, set by {', '.join(entry.system.variables)}; find rounds instead"
        )
    setting |= {"rounds": checks.count("rounds", rounds), "delta": delta}
    # of a smaller eps0 no randomiser has this total variation
    tv = checks.probability("tv", setting["tv"]) if "tv" in setting else 0.0
    least = 2 * math.atanh(tv)

    @functools.cache
    def height(eps0: float) -> float:
        return height_above(float(entry.epsilon(**setting, eps0=eps0)), target) if eps0 > least else -1.0

    exponent = 0
    while height(decimal(1, exponent)) > 0:
        if exponent == SMALLEST_EXPONENT:
            raise ValueError(
                f"target_eps={target:g} is too small: even eps0={decimal(1, exponent):g} exceeds it; "
                "raise target_eps or take fewer rounds"
            )
        exponent -= 1
    while height(decimal(1, exponent + 1)) <= 0:
        exponent += 1
        if exponent == _LARGEST_EPS0_EXPONENT:
            raise ValueError(
                f"target_eps={target:g} is met by every eps0 up to {decimal(1, exponent):g}, so there is no "
                "largest; lower target_eps or delta"
            )
    unit = exponent + 1 - DIGITS
    mantissa, _ = neighbours(lambda mantissa: height(decimal(mantissa, unit)), UNIT, 10 * UNIT)
    found = decimal(mantissa, unit)
    if found <= least:
        raise ValueError(
            f"target_eps={target:g} is too small: no randomiser with tv={tv:g} has eps0 below {least:.7g}, "
            "from which on epsilon exceeds it; raise target_eps, lower tv or take fewer rounds"
        )
    return found


def most_rounds(
    accountant: str | None = None,
    *,
    target_eps: float,
    delta: float,
    randomizer: str | None = None,
    **setting: Any,
) -> int:
    """Return the largest number of rounds whose epsilon stays within a budget.

    Args:
        accountant: the registered name of an upper bound.
        target_eps: the budget, > 0.
        delta: target, in [0, 1).
        randomizer: as for ``delta_at``.
        setting: the variables of the accountant's system: of the subsampled shuffle n, k and eps0.

    Returns:
        A whole number T >= 1: the accountant's epsilon after T rounds does not exceed ``target_eps``, and
        after T + 1 it does.

    Raises:
        ValueError: the accountant is unknown or no upper bound, an argument is out of range, or not even
            one round (or every number of rounds) stays within the budget.
    """
    target = _target(target_eps)
    entry, setting = _upper(accountant, randomizer, setting)

    @functools.cache
    def epsilon(rounds: int) -> float:
        return float(entry.epsilon(**setting, rounds=rounds, delta=delta))

    def height(rounds: int) -> float:
        return height_above(epsilon(rounds), target)

    if height(1) > 0:
        at = ", ".join(f"{name}={value:g}" for name, value in setting.items())
        raise ValueError(
            f"target_eps={target:g} is too small: one round at {at} already costs "
            f"{rounding.shown(epsilon(1), 'upper')} by "
            f"{entry.name}; raise target_eps or randomise more"
        )
    exponent = 0
    while height(10 ** (exponent + 1)) <= 0:
        exponent += 1
        if exponent == _LARGEST_ROUNDS_EXPONENT:
            raise ValueError(
                f"target_eps={target:g} is met by every number of rounds up to {10.0**exponent:g}, so there "
                "is no largest; lower target_eps or raise eps0"
            )
    return neighbours(height, 10**exponent, 10 ** (exponent + 1))[0]
