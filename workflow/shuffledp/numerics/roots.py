"""Where monotone functions cross, many at once: ends of brackets, on the side that is asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shuffledp.checks import BoolArray, FloatArray

_CROSSING_WIDTH = 2.0**-40  # of a bracket over its upper end
_CROSSING_STEPS = 150  # enough for bisections alone


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

    Regula falsi with the Illinois weights, and a bisection every third step, so that it is quick on smooth
    functions and never slow.

    Args:
        height: maps an array of points to heights, -inf allowed; above 0 up to some point, not from there on.
        low: where the search starts, any shape.
        high: points at which the height is not above 0, or may be taken not to be; >= ``low``.

    Returns:
        ``low`` where the height is not above 0 already there, else the upper end of a bracket narrowed to
        2^-40 of itself: a point where the height was seen not to be above 0, or ``high`` itself.
    """
    low, high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    above, below = height(low), height(high)
    high = np.where(above > 0, high, low)
    raised = np.zeros(low.shape, dtype=bool)  # whether the lower end was the last to move
    for step in range(_CROSSING_STEPS):
        width = high - low
        if not (width > _CROSSING_WIDTH * high).any():
            break
        with np.errstate(invalid="ignore", divide="ignore"):
            share = above / (above - below)
        bisected = ~np.isfinite(share) | (step % 3 == 2)
        share = np.where(bisected, 0.5, np.clip(share, 0.0, 1.0))
        middle = low + share * width
        # never at an end, which would teach nothing
        least = _CROSSING_WIDTH / 4 * high
        middle = np.where(width > 2 * least, np.clip(middle, low + least, high - least), high)
        found = height(middle)
        true = found > 0
        low, high = np.where(true, middle, low), np.where(true, high, middle)
        # an end that stays twice weighs half
        again = (true == raised) & (step > 0)
        above = np.where(true, found, np.where(again, above / 2, above))
        below = np.where(true, np.where(again, below / 2, below), found)
        raised = true
    return high
