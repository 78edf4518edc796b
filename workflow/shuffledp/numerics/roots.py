"""Where monotone functions cross, many at once: ends of brackets, on the side that is asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shuffledp.checks import BoolArray, FloatArray

_CROSSING_WIDTH = 2.0**-40  # of a bracket over its upper end
_CROSSING_STEPS = 150  # enough for bisections alone
_APART = 8.0  # ends of a bracket with a ratio beyond are of different sizes


def last_true(holds: Callable[[FloatArray], BoolArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Return, element by element, the end of the stretch from ``low`` on which a condition holds.

    Args:
        holds: maps an array of points to booleans; true up to some point and false from there on.
        low: where the search starts, any shape.
        high: points at which the condition is false, or may be taken to be; >= ``low``.

    Returns:
        ``low`` where the condition fails already there, else the upper end of a bracket that bisection has
        narrowed to neighbouring floats (or to 2^-60 of its width): a point where the condition was seen to
        fail, or ``high`` itself.
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    high = np.where(holds(low), high, low)
    for _ in range(60):
        middle = low + (high - low) / 2
        true = holds(middle)
        low, high = np.where(true, middle, low), np.where(true, high, middle)
    return high


def crossing(height: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Return, element by element, where a falling function crosses 0, from above.

    The method of Chandrupatla (1997): inverse quadratic interpolation where the last three points bear it,
    bisection elsewhere, of logarithms while the ends of a bracket are of different sizes.

    Args:
        height: maps an array of points to heights, which may be -inf; they are above 0 up to some point, and
            not above 0 from there on.
        low: where the search starts, any shape.
        high: points at which the height is not above 0, or may be taken not to be; >= ``low``.

    Returns:
        ``low`` where the height is not above 0 already there, else the upper end of a bracket narrowed to
        2^-40 of itself: a point where the height was seen not to be above 0, or ``high`` itself.
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
        # never at an end, which would teach nothing
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
