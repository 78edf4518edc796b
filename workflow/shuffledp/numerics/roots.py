"""Where monotone functions cross 0, for many functions at once; the result errs to a known side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shuffledp.checks import BoolArray, FloatArray

_CROSSING_WIDTH = 2.0**-40  # final width of a bracket, relative to its upper end
_CROSSING_STEPS = 150  # enough even if every step is a bisection
_APART = 8.0  # ratio of the ends of a bracket above which their logarithms are bisected


def last_true(holds: Callable[[FloatArray], BoolArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Return, element by element, the upper end of the interval from ``low`` on which a condition holds.

    Args:
        holds: maps an array of points to booleans, which are true up to some point and false from there on.
        low: points at which the search starts, any shape.
        high: points, >= ``low``, at which the condition is false or counts as false.

    Returns:
        ``low`` where the condition is false already there. Elsewhere the upper end of a bracket that
        bisection has narrowed to neighbouring floats (or to 2^-60 of its width): a point at which the
        condition was evaluated and is false, or ``high`` itself.
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    high = np.where(holds(low), high, low)
    for _ in range(60):
        middle = low + (high - low) / 2
        true = holds(middle)
        low, high = np.where(true, middle, low), np.where(true, high, middle)
    return high


def crossing(height: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Return, element by element, an upper bound on the point at which a falling function crosses 0.

    The method is that of Chandrupatla (1997): inverse quadratic interpolation where the last three points
    allow it, and bisection elsewhere, of logarithms while the ends of a bracket are far apart.

    Args:
        height: maps an array of points to heights, which may be -inf. They are above 0 up to some point, and
            at most 0 from there on.
        low: points at which the search starts, any shape.
        high: points, >= ``low``, at which the height is at most 0 or counts as such.

    Returns:
        ``low`` where the height is at most 0 already there. Elsewhere the upper end of a bracket whose width
        is 2^-40 of it: a point at which the height was evaluated and is at most 0, or ``high`` itself.
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    above, below = height(low), height(high)
    high = np.where(above > 0, high, low)
    # scipy's find_root is the same method with plain bisection: where the crossing of a bracket from 0 to 1
    # lies at 1e-100, it evaluates the function 341 times, and this 121 times
    third, at_third = high.copy(), np.full(low.shape, -np.inf)
    newest_is_low = np.ones(low.shape, dtype=bool)
    for _ in range(_CROSSING_STEPS):
        width = high - low
        open_ = width > _CROSSING_WIDTH * high
        if not open_.any():
            break
        point, value = np.where(newest_is_low, low, high), np.where(newest_is_low, above, below)
        other, at_other = np.where(newest_is_low, high, low), np.where(newest_is_low, below, above)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            place, share = (point - other) / (third - other), (value - at_other) / (at_third - at_other)
            smooth = (share**2 < place) & ((1 - share) ** 2 < 1 - place)
            step = value / (at_other - value) * (at_third / (at_other - at_third))
            step += (
                (third - point)
                / (other - point)
                * (value / (at_third - value))
                * (at_other / (at_third - at_other))
            )
            guess = point + step * (other - point)
        halved = np.where(
            high > _APART * low, np.sqrt(np.maximum(low, high / _APART**2) * high), low + width / 2
        )
        guess = np.where(smooth & np.isfinite(guess), guess, halved)
        # never at an end, where the height is known
        least = np.minimum(_CROSSING_WIDTH / 4 * high, width / 2)
        guess = np.where(open_, np.clip(guess, low + least, high - least), high)
        found = height(guess)
        true = found > 0
        stays = true == newest_is_low
        third = np.where(stays, point, other)
        at_third = np.where(stays, value, at_other)
        low, above = np.where(true, guess, low), np.where(true, found, above)
        high, below = np.where(true, high, guess), np.where(true, below, found)
        newest_is_low = true
    return high
