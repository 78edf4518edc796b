"""The search behind accounting backwards: where epsilon crosses a target, and delta from epsilon.

Numbers have ``DIGITS`` significant digits. Epsilon was evaluated at the end that is returned, which is on the
safe side, and at its neighbour, which is not.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from shuffledp.accountants.registry import Accountant
from shuffledp.rounding import DIGITS

# How far epsilon is from its target: at most 0 within the target, above 0 beyond it.
Height = Callable[[int], float]

UNIT = 10 ** (DIGITS - 1)  # the smallest mantissa
SMALLEST_EXPONENT = -300  # of delta and of eps0; doubles end at 1e-308
_TINY = 1e-300
_PUSH = 0.2  # how far the interpolated point is pushed to the middle: k1 of the ITP method, at its k2 = 2
_SPARE = 4  # how many times wider than after bisection the interval may be at any time


def decimal(mantissa: int, exponent: int) -> float:
    """Return the float nearest to mantissa * 10^exponent, which prints as these digits."""
    return float(f"{mantissa}e{exponent}")


def height_above(epsilon: float, target: float) -> float:
    """Return log(epsilon / target) for interpolation, with a sign that is exact (nan counts as beyond)."""
    gap = abs(math.log((epsilon + _TINY) / (target + _TINY)))
    return -gap if epsilon <= target else max(_TINY, gap)


def neighbours(height: Height, within: int, beyond: int) -> tuple[int, int]:
    """Narrow an interval with one end within the target and one beyond it to two neighbouring numbers.

    The search bisects, and looks near the interpolated crossing where it can afford to (the ITP method of
    Oliveira and Takahashi, 2020, on whole numbers). It takes at most log2 of the width and two evaluations.

    Args:
        height: the function whose sign changes.
        within: a number at which it is at most 0.
        beyond: a number, smaller or larger than ``within``, at which it is above 0.

    Returns:
        Two neighbouring numbers, one within the target and one beyond it.
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


def delta_of(entry: Accountant, *, eps: float, **setting: Any) -> float:
    """Return delta at which an accountant's epsilon is ``eps``, as ``calibration.delta_at`` does.

    Args:
        entry: the accountant.
        eps: the epsilon at which delta is asked for, >= 0.
        setting: the variables of its system, and the number of rounds.

    Raises:
        ValueError: a variable is out of range.
    """

    @functools.cache
    def height(delta: float) -> float:
        # every mechanism is (eps, 1)-DP
        return height_above(float(entry.epsilon(**setting, delta=delta)) if delta < 1 else 0.0, eps)

    def height_of_exponent(exponent: int) -> float:
        return height(decimal(1, exponent))

    if height(0.0) <= 0:
        return 0.0
    within, beyond = _delta_exponents(height_of_exponent)
    if beyond is None:
        return 0.0 if entry.kind == "lower" else decimal(1, within)
    _, exponent = neighbours(height_of_exponent, within, beyond)
    unit = exponent + 1 - DIGITS
    above, below = neighbours(lambda mantissa: height(decimal(mantissa, unit)), 10 * UNIT, UNIT)
    return decimal(below if entry.kind == "lower" else above, unit)


def _delta_exponents(height: Height) -> tuple[int, int | None]:
    """Return the exponents of a delta within the target and of one beyond it; None for the second if even the
    smallest delta is within."""
    previous = -8
    if height(previous) > 0:
        for exponent in (-4, -2, -1, 0):
            if height(exponent) <= 0:
                return exponent, previous
            previous = exponent
    # small deltas are the expensive ones, so they are looked at last
    for exponent in (-16, -32, -64, -128, -256, SMALLEST_EXPONENT):
        if height(exponent) > 0:
            return previous, exponent
        previous = exponent
    return previous, None
