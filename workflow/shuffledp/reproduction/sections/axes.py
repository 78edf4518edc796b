"""The x axis of a panel: its ends, its points, and whether these are in range."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from shuffledp.reproduction.sections.context import Context
from shuffledp.reproduction.sections.model import Section
from shuffledp.variables import VARIABLES, beyond

Positive = Annotated[float, Field(gt=0)]

_DIGITS = 12  # of points with equal ratios


class Axis(Section):
    """From where to where something varies."""

    first: Positive = Field(alias="from")
    """First value."""
    last: Positive = Field(alias="to")
    """Last value, within the limits of what varies."""

    def check(self, context: Context, at: Sequence[str]) -> None:
        """Make sure that the axis has a length.

        Args:
            context: of the configuration.
            at: key of the axis.

        Raises:
            ValueError: its end is not above its beginning.
        """
        if self.first >= self.last:
            key = at[-1]
            raise context.fault(
                f"{key}.from must be less than {key}.to, got {self.first:g} and {self.last:g}", [*at, "from"]
            )


def points(axis: Axis, variable: str, count: int, context: Context, at: Sequence[str]) -> tuple[float, ...]:
    """Return the values along an axis: evenly spaced for epsilon, otherwise with equal ratios, and rounded to
    whole numbers for variables that are whole, and to 12 digits for others.

    Raises:
        ValueError: the axis has no length, or would have to begin at 0.
    """
    axis.check(context, at)
    if variable == "epsilon":
        values = np.linspace(axis.first, axis.last, count)
    else:
        # The last bits of a power depend on the processor, and with them whether a product is up to date.
        powers = np.geomspace(axis.first, axis.last, count)
        values = np.array([float(f"{power:.{_DIGITS}g}") for power in powers])
    values[0], values[-1] = axis.first, axis.last
    if variable in VARIABLES and VARIABLES[variable].whole:
        values = np.unique(values.round())
        if values[0] < 1:
            raise context.fault(
                f"{variable} along x is rounded to whole numbers and must start at 1 or more, got "
                f"{axis.first:g}",
                [*at, "from"],
            )
    return tuple(values.tolist())


def check_limit(variable: str, value: float, context: Context, at: Sequence[str]) -> None:
    """Make sure that a variable's value lies within its limit.

    Raises:
        ValueError: it does not; the message has the reason.
    """
    words = beyond(variable, value)
    if words:
        raise context.fault(f"{variable} {words}", at)


def check_range(
    given: Mapping[str, float],
    variable: str,
    values: Sequence[float],
    context: Context,
    at: Sequence[str],
) -> None:
    """Make sure that the values that a panel fixes and varies are in range, alone and together.

    Args:
        given: the fixed values by name.
        variable: the variable along x.
        values: of that variable.
        context: of the configuration.
        at: key of the panel.

    Raises:
        ValueError: a value is out of its range, or a round has more clients than there are.
    """
    for value in (min(values), max(values)):
        check_limit(variable, value, context, [*at, "x"])
    smallest, largest = {variable: min(values), **given}, {variable: max(values), **given}
    if "k" in largest and "n" in smallest and largest["k"] > smallest["n"]:
        raise context.fault(
            f"k must be at most n, got k up to {largest['k']:g} and n from {smallest['n']:g}; draw fewer "
            f"clients per round or start x higher",
            [*at, "k"],
        )
    ends = VARIABLES[variable].range
    if ends.most < math.inf and max(values) not in ends:
        words = f"stay below {ends.most:g}" if ends.without_most else f"be at most {ends.most:g}"
        raise context.fault(f"{variable} must {words} along x", [*at, "x"])
