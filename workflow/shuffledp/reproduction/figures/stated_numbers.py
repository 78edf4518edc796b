"""Numbers that a paper states about curves of bounds: their section of the configuration, and their marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from shuffledp.accountants.systems import dependent_variable
from shuffledp.reproduction.curve import Curve
from shuffledp.reproduction.figures.style import mark_stated, stated_key
from shuffledp.reproduction.sections.context import Context
from shuffledp.reproduction.sections.model import LEFT_OUT, Section

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


class StatedNumber(Section):
    """A number that the paper states, a value of a curve or how many times another curve it is."""

    panel: str
    """Panel in which it is drawn."""
    curve: str
    """Curve that it is about, in whose colour it is drawn."""
    at: Annotated[float, Field(gt=0)]
    """Where it is along the x axis, one of the panel's points."""
    value: Annotated[float, Field(gt=0)] = LEFT_OUT
    """Epsilon or delta as stated."""
    times: Annotated[float, Field(gt=0)] = LEFT_OUT
    """How many times the curve named by over it is."""
    over: str = LEFT_OUT
    """Another curve of the panel, of which times is."""


def check(one: StatedNumber, curves: Sequence[Curve], context: Context, at: Sequence[str]) -> None:
    """Refuse a stated number whose curve or point the panel does not have.

    Args:
        one: the stated number.
        curves: of the figure.
        context: of the configuration.
        at: key of the stated number.

    Raises:
        ValueError: naming the key, its line and the remedy.
    """
    panels = dict.fromkeys(curve.panel for curve in curves)
    of_panel = {curve.accountant: curve for curve in curves if curve.panel == one.panel and curve.plotted}
    if one.panel not in panels:
        raise context.fault(
            f"panel of what the paper states must be one of the figure's ({', '.join(panels)}), got "
            f"{one.panel!r}",
            [*at, "panel"],
        )
    for key, named in (("curve", one.curve), ("over", one.over)):
        if named is not None and named not in of_panel:
            raise context.fault(
                f"{key} of what the paper states must be drawn in panel {one.panel!r} "
                f"({', '.join(of_panel)}), got {named!r}",
                [*at, key],
            )
    if (one.value is None) == (one.times is None) or (one.times is None) != (one.over is None):
        raise context.fault("what the paper states must be a value, or times and over; give one of both", at)
    if one.over is not None and one.at not in of_panel[one.over].values:
        raise context.fault(
            f"at must be a point of panel {one.panel!r}, such as its last, "
            f"{of_panel[one.over].values[-1]:g}, got {one.at:g}",
            [*at, "at"],
        )


def draw(
    axis: Axes, one: Mapping[str, Any], curves: Mapping[str, pd.DataFrame], variable: str, color: str
) -> None:
    """Mark a stated number; if it is a ratio, with a line from the curve that it is a multiple of."""
    x = one["at"]
    if "value" in one:
        mark_stated(axis, x, one["value"], color=color)
        return
    table = curves[one["over"]]
    foot = float(table.loc[table[variable] == x, dependent_variable(variable)].iloc[0])
    y = one["times"] * foot
    if not np.isfinite(y) or y <= 0:  # the curve is not drawn there
        return
    axis.plot([x, x], [foot, y], color=color, linewidth=0.7, label="_stated")
    mark_stated(axis, x, y, color=color)
    # beside the end of the axis, where no curve is
    look: dict[str, Any] = {"textcoords": "offset points", "va": "center", "color": color, "fontsize": 7}
    axis.annotate(f"{one['times']:g}\N{MULTIPLICATION SIGN}", (x, y), xytext=(5, 0), **look)


def key(stated: Sequence[Mapping[str, Any]]) -> Line2D:
    """Return the entry of the legend for the crosses."""
    return stated_key(
        "stated in the paper, as so many times the curve at the foot of the line"
        if any("times" in one for one in stated)
        else "stated in the paper for the curve of that colour"
    )
