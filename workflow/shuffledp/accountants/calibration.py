"""Accounting backwards: delta from epsilon, and the largest setting that stays within a budget.

An accountant computes epsilon from delta, and nothing here knows its formula: its epsilon is searched. Every
answer is a number of ``DIGITS`` significant digits, or a whole number of rounds. It was itself evaluated and
found to be on the safe side; its neighbour was evaluated too and is not. So what is printed is what holds,
even where an accountant is not quite monotone in its last digits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from shuffledp import checks, rounding
from shuffledp.accountants import blankets, named, registry
from shuffledp.accountants.registry import Accountant
from shuffledp.profiles import named_randomizers
from shuffledp.variables import VARIABLES

DIGITS = 7

# Says how far epsilon is from its target: not above 0 within it, above 0 beyond it.
Height = Callable[[int], float]

_UNIT = 10 ** (DIGITS - 1)  # the smallest mantissa
_SMALLEST_EXPONENT = -300  # of delta and of eps0; doubles end at 1e-308
_LARGEST_EPS0_EXPONENT = round(math.log10(VARIABLES["eps0"].limit.most))
_LARGEST_ROUNDS_EXPONENT = round(math.log10(VARIABLES["rounds"].limit.most))
_TINY = 1e-300
_PUSH = 0.2  # how far interpolation is pushed to the middle: k1 of the ITP method, at its k2 = 2
_SPARE = 4  # the interval may at any time be so much wider than bisection would have left it


def _decimal(mantissa: int, exponent: int) -> float:
    """Return the float next to mantissa * 10^exponent, which prints as these digits."""
    return float(f"{mantissa}e{exponent}")


def _height(epsilon: float, target: float) -> float:
    """Return log(epsilon / target) for interpolation, with a sign that is exact (nan counts as beyond)."""
    gap = abs(math.log((epsilon + _TINY) / (target + _TINY)))
    return -gap if epsilon <= target else max(_TINY, gap)


def _neighbours(height: Height, within: int, beyond: int) -> tuple[int, int]:
    """Narrow an interval with one end within the target and one beyond it to two neighbouring numbers.

    Bisection that looks near the interpolated crossing where it can afford to (the ITP method of Oliveira
    and Takahashi, 2020, on whole numbers): never more than log2 of the width and two evaluations.

    Args:
        height: the function whose sign changes.
        within: where it is not above 0.
        beyond: where it is above 0; on either side of ``within``.
    """
    low, high = height(within), height(beyond)
    start = abs(beyond - within)
    allowed = _SPARE << (start - 1).bit_length()
    while (width := abs(beyond - within)) > 1:
        allowed //= 2
        middle, crossing = width / 2, width * (low / (low - high))
        push = max(1.0, _PUSH * width * width / start)
        near = min(crossing + push, middle) if crossing < middle else max(crossing - push, middle)
        # either part must be at most as wide as allowed
        offset = min(max(round(near), 1, width - allowed), width - 1, allowed)
        point = within + (offset if beyond > within else -offset)
        value = height(point)
        if value <= 0:
            within, low = point, value
        else:
            beyond, high = point, value
    return within, beyond


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
    if (accountant is None) == (randomizer is None):
        given = "neither" if accountant is None else "both"
        raise ValueError(f"name one of accountant and randomizer, got {given}")
    if randomizer is None:
        return registry.get(accountant), setting
    return of_randomizer(randomizer, setting)


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

    @functools.cache
    def height(delta: float) -> float:
        # everything is (eps, 1)-DP
        return _height(float(entry.epsilon(**setting, delta=delta)) if delta < 1 else 0.0, eps)

    def height_of_exponent(exponent: int) -> float:
        return height(_decimal(1, exponent))

    if height(0.0) <= 0:
        return 0.0
    within, beyond = _delta_exponents(height_of_exponent)
    if beyond is None:
        return 0.0 if entry.kind == "lower" else _decimal(1, within)
    _, exponent = _neighbours(height_of_exponent, within, beyond)
    unit = exponent + 1 - DIGITS
    above, below = _neighbours(lambda mantissa: height(_decimal(mantissa, unit)), 10 * _UNIT, _UNIT)
    return _decimal(below if entry.kind == "lower" else above, unit)


def _delta_exponents(height: Height) -> tuple[int, int | None]:
    """Return exponents of a delta within the target and of one beyond it, None if the smallest is within."""
    previous = -8
    if height(previous) > 0:
        for exponent in (-4, -2, -1, 0):
            if height(exponent) <= 0:
                return exponent, previous
            previous = exponent
    # small deltas are the expensive ones, so they are looked at last
    for exponent in (-16, -32, -64, -128, -256, _SMALLEST_EXPONENT):
        if height(exponent) > 0:
            return previous, exponent
        previous = exponent
    return previous, None


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
            f"accountant must be for a system set by eps0 to find the largest, got {accountant!r} for "
            f"{entry.system}, set by {', '.join(entry.system.variables)}; find rounds instead"
        )
    setting |= {"rounds": checks.count("rounds", rounds), "delta": delta}

    @functools.cache
    def height(eps0: float) -> float:
        return _height(float(entry.epsilon(**setting, eps0=eps0)), target)

    exponent = 0
    while height(_decimal(1, exponent)) > 0:
        if exponent == _SMALLEST_EXPONENT:
            raise ValueError(
                f"target_eps={target:g} is too small: even eps0={_decimal(1, exponent):g} exceeds it; "
                "raise target_eps or take fewer rounds"
            )
        exponent -= 1
    while height(_decimal(1, exponent + 1)) <= 0:
        exponent += 1
        if exponent == _LARGEST_EPS0_EXPONENT:
            raise ValueError(
                f"target_eps={target:g} is met by every eps0 up to {_decimal(1, exponent):g}, so there is no "
                "largest; lower target_eps or delta"
            )
    unit = exponent + 1 - DIGITS
    mantissa, _ = _neighbours(lambda mantissa: height(_decimal(mantissa, unit)), _UNIT, 10 * _UNIT)
    return _decimal(mantissa, unit)


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
        return _height(epsilon(rounds), target)

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
    return _neighbours(height, 10**exponent, 10 ** (exponent + 1))[0]
