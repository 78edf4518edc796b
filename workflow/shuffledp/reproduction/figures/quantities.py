"""Quantities of check-in protocols along one variable, several panels in a row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field

from shuffledp.records import tables
from shuffledp.reproduction.figures import words
from shuffledp.reproduction.figures.kind import PaperFigure
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.numbers import short
from shuffledp.reproduction.figures.style import (
    LEGEND_ROW,
    NARROWEST,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    STRIP,
    STRIP_COLOR,
    legend_shape,
    line,
    plain_ticks,
    style,
)
from shuffledp.reproduction.sections.axes import Axis, check_limit, points
from shuffledp.reproduction.sections.captions import Caption
from shuffledp.reproduction.sections.context import Context
from shuffledp.reproduction.sections.model import LEFT_OUT, By, OneOf, Points, Section, Words
from shuffledp.reproduction.studies import quantities
from shuffledp.reproduction.tables import QuantityCurve
from shuffledp.variables import SEEDS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Largest values for quantities that are simulated, which are those with "runs".
_MOST = {"runs": 1e6, "n": 1e8, "slots": 1e8, "seed": SEEDS.most}
_MOST_NUMBERS = 1e12  # largest number of random numbers, of which some 10^7 are drawn per second


Given = Annotated[
    float,
    Field(
        description="Value of a variable; at most 1e6 runs, since each is a simulation, and 1e8 clients and "
        "slots, since as many numbers are kept; all runs of a curve draw at most 1e12 numbers."
    ),
]


class AxisSection(Axis):
    """What varies along the x axis, and its points."""

    variable: str
    """What varies."""
    points: Points
    """Number of points, equally spaced on a logarithmic axis; values of n and slots are rounded to whole
    numbers; at most 10 000, since each is computed, stored and drawn."""
    label: str
    """Words under the axis."""


class PanelSection(Section):
    """One panel."""

    title: str
    """Words above the panel."""
    x: AxisSection
    """What varies along the x axis, and its points."""
    y: str
    """Words beside the y axis."""
    y_scale: Annotated[str, OneOf(("log", "linear"))] = "log"
    """Scale of the y axis; log if absent."""
    fixed: Annotated[dict[str, Given], By("variable", free=True)]
    """What else the quantities take, by name; for drawn ones the number of runs and the seed."""
    curves: Annotated[Words, Field(min_length=1)]
    """Names of quantities in the registry of shuffledp.reproduction.studies.quantities."""
    ratio: Annotated[Words, Field(min_length=2, max_length=2)] = LEFT_OUT
    """Two of the curves: the ratio of the first to the second is drawn under the panel."""


class QuantitiesSection(Section):
    """One figure; it becomes <figures>/<paper>/<figure>.pdf and .png."""

    strip: str = "ratio"
    """Words beside the strips under the panels."""
    panels: Annotated[dict[str, PanelSection], By("panel"), Field(min_length=1)]
    """Panels, left to right."""


@dataclass(frozen=True)
class Quantities(PaperFigure):
    """One figure of quantities of check-in protocols."""

    holds = QuantitiesSection
    about = "Figures of other quantities of check-in protocols"
    place = 2
    details = """\
Curves, computed on the CPU in double precision{% if simulated %}; what is drawn has the runs and the seed named above{% else %} without randomness{% endif %}:

{% for curve in curves %}
- {{ curve.label }}: {{ curve.kind }}; {{ curve.theorem }} ({{ curve.names }})
{% endfor %}
"""  # noqa: E501  # a line of the page is a line here

    settings: QuantitiesSection
    looks: Mapping[str, Mapping[str, str]]
    curves: tuple[QuantityCurve, ...]

    @classmethod
    def resolve(
        cls, paper: str, name: str, settings: QuantitiesSection, caption: Caption, context: Context
    ) -> Self:
        """Return the figure, if each quantity has the variables that it takes."""
        curves: list[QuantityCurve] = []
        for label, panel in settings.panels.items():
            here = [cls.kind, paper, name, "panels", label]
            axis = panel.x
            values = points(axis, axis.variable, axis.points, context, [*here, "x"])
            if panel.ratio and not set(panel.ratio) <= set(panel.curves):
                names = ", ".join(panel.ratio)
                raise context.fault(f"ratio must name curves of the panel, got {names}", [*here, "ratio"])
            for index, quantity in enumerate(panel.curves):
                fixed = _fixed(quantity, panel, values, context, here, index)
                curves.append(QuantityCurve(paper, name, label, quantity, axis.variable, values, fixed))
        names_drawn = dict.fromkeys(curve.quantity for curve in curves)
        looks = {one: context.look(one, quantities.get(one).label) for one in names_drawn}
        return cls(paper, name, settings, caption, looks, tuple(curves))

    @property
    def tables(self) -> tuple[QuantityCurve, ...]:
        """The tables of the figure, one for each curve."""
        return self.curves

    def parameters(self, results: str) -> Mapping[str, Any]:
        """Return the axes and curves of each panel, and the looks of the curves."""
        panels: dict[str, Any] = {
            name: {
                "variable": panel.x.variable,
                "axes": [panel.x.label, panel.y],
                "title": panel.title,
                "y_scale": panel.y_scale,
                "ratio": panel.ratio,
                "curves": [],
            }
            for name, panel in self.settings.panels.items()
        }
        for curve in self.curves:
            panels[curve.panel]["curves"].append([curve.quantity, curve.path(results)])
        return {
            "panels": panels,
            "order": list(panels),
            "styles": self.looks,
            "strip": self.settings.strip,
        }

    def in_caption(self, results: str) -> Mapping[str, Any]:
        """Return the varying and the fixed variables of each panel, and the quantities."""
        facts = {}
        for name, panel in self.settings.panels.items():
            curve = next(curve for curve in self.curves if curve.panel == name)
            axis = (
                f"{words.plain(panel.y)} against {curve.variable} ({len(curve.values)} points from "
                f"{short(curve.values[0])} to {short(curve.values[-1])})"
            )
            facts[name] = [axis, *(f"{key} = {short(value)}" for key, value in panel.fixed.items())]
        entries = [quantities.get(name) for name in self.looks]
        alike: dict[tuple[str, str, str], list[str]] = {}
        for entry in entries:
            told = words.plain(self.looks[entry.name]["label"]), entry.kind, entry.theorem
            alike.setdefault(told, []).append(f"``{entry.name}``")
        return {
            "setting": words.by_part(facts),
            "curves": [
                {"label": label, "kind": kind, "theorem": theorem, "names": ", ".join(names)}
                for (label, kind, theorem), names in alike.items()
            ],
            "simulated": any(entry.kind == "estimate" for entry in entries),
        }


def _fixed(
    quantity: str,
    panel: PanelSection,
    values: Sequence[float],
    context: Context,
    here: Sequence[str],
    index: int,
) -> tuple[tuple[str, float], ...]:
    """Return those of the panel's fixed variables that a quantity takes."""
    place, variable = [*here, "curves", str(index)], panel.x.variable
    try:
        entry = quantities.get(quantity)
    except ValueError as error:
        raise context.fault(str(error), place) from None
    context.check_style(quantity, place)
    missing = [key for key in entry.variables if key not in (*panel.fixed, variable)]
    if missing or variable not in entry.variables:
        raise context.fault(
            f"{quantity!r} takes {', '.join(entry.variables)}; let one of them vary and fix the others", place
        )
    fixed = tuple((key, panel.fixed[key]) for key in entry.variables if key != variable)
    for key, value in (*fixed, (variable, max(values))):
        spot = [*here, "x", "to"] if key == variable else [*here, "fixed", key]
        if "runs" in entry.variables and value > _MOST.get(key, math.inf):
            raise context.fault(
                f"{key} must be at most {_MOST[key]:g}, since {quantity!r} is drawn by simulation, got "
                f"{value:g}",
                spot,
            )
        if key in ("runs", "seed") and (value != int(value) or value < (0 if key == "seed" else 2)):
            least = 0 if key == "seed" else 2
            raise context.fault(f"{key} must be a whole number >= {least}, got {value:g}", spot)
        check_limit(key, value, context, spot)
    if "runs" in entry.variables:
        given = {**dict(fixed), variable: max(values)}
        numbers = given["runs"] * max(given["n"], given["slots"]) * len(values)
        if numbers > _MOST_NUMBERS:
            raise context.fault(
                f"runs must be fewer, or n, slots or points smaller: {quantity!r} would draw {numbers:g} "
                f"numbers, of which at most {_MOST_NUMBERS:g} are supported, some 10^7 a second",
                [*here, "fixed", "runs"],
            )
    return fixed


def draw(parameters: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    panels = {
        name: {quantity: tables.read_table(path) for quantity, path in parameters["panels"][name]["curves"]}
        for name in parameters["order"]
    }
    return draw_quantities(
        panels,
        variables={name: panel["variable"] for name, panel in parameters["panels"].items()},
        axes={name: tuple(panel["axes"]) for name, panel in parameters["panels"].items()},
        titles={name: panel["title"] for name, panel in parameters["panels"].items()},
        styles=parameters["styles"],
        y_scales={name: panel["y_scale"] for name, panel in parameters["panels"].items()},
        ratios={name: panel["ratio"] for name, panel in parameters["panels"].items() if panel["ratio"]},
        strip_label=parameters["strip"],
    )


def draw_quantities(
    panels: Mapping[str, Mapping[str, pd.DataFrame]],
    *,
    variables: Mapping[str, str],
    axes: Mapping[str, tuple[str, str]],
    titles: Mapping[str, str],
    styles: Mapping[str, Mapping[str, Any]],
    y_scales: Mapping[str, str] | None = None,
    ratios: Mapping[str, Sequence[str]] | None = None,
    strip_label: str = "ratio",
) -> Figure:
    """Draw one panel for each entry of ``panels``, along a logarithmic axis.

    Args:
        panels: tables by panel and by quantity, with the columns of ``studies.quantities.evaluate``.
        variables: by panel, the column on the x axis.
        axes: by panel, the words under the x axis and beside the y axis.
        titles: by panel.
        styles: by quantity: color, line and label.
        y_scales: by panel, "log" or "linear"; "log" for panels that are not named.
        ratios: by panel, two of its quantities: the ratio of the first to the second is drawn in a strip
            under the panel; panels that are not named have no strip.
        strip_label: words beside the strips.

    Returns:
        The figure, to be saved by ``figures.style.save``. Estimates are points with bars of two standard
        errors, if the table has them. Values that are not positive and finite are left out, marked at the end
        of the axis, and counted in a warning.
    """
    from matplotlib.figure import Figure

    with style():
        width, strip = max(PANEL_WIDTH * 1.3 * len(panels), NARROWEST), STRIP if ratios else 0.0
        columns, rows = legend_shape({look["label"] for look in styles.values()}, width=width)
        height = PANEL_HEIGHT + strip + 0.4 + LEGEND_ROW * rows
        figure = Figure(figsize=(width, height), layout="constrained")
        heights = [PANEL_HEIGHT, strip] if ratios else [PANEL_HEIGHT]
        grid = figure.add_gridspec(len(heights), len(panels), height_ratios=heights)
        drawn = []
        for index, (name, tables) in enumerate(panels.items()):
            two = (ratios or {}).get(name)
            axis = figure.add_subplot(grid[0, index] if two else grid[:, index])
            drawn.append(axis)
            log_y = (y_scales or {}).get(name, "log") == "log"
            panel = Panel(axis, name, log_x=True, log_y=log_y)
            for quantity, table in tables.items():
                look, x = styles[quantity], variables[name]
                shown = table[panel.keep(quantity, table[x], table["value"], color=look["color"])]
                if look["line"] == "points":
                    error = 2 * shown["error"] if "error" in shown else None
                    points = {"color": look["color"], "label": look["label"], "markersize": 3, "capsize": 2}
                    axis.errorbar(shown[x], shown["value"], yerr=error, fmt="o", **points)
                else:
                    axis.plot(shown[x], shown["value"], **line(look))
            panel.finish()
            if log_y and axis.get_ylim()[1] < _PLAIN * axis.get_ylim()[0]:
                plain_ticks(axis.yaxis)
            label = f"({name}) " if len(panels) > 1 else ""
            axis.set_title(label + titles[name])
            axis.set_ylabel(axes[name][1])
            lowest = axis
            if two:
                lowest = figure.add_subplot(grid[1, index], sharex=axis)
                _draw_ratio(lowest, name, tables, variables[name], two)
                lowest.set_ylabel(strip_label)
                axis.tick_params(labelbottom=False)
            lowest.set_xlabel(axes[name][0])
        entries: dict[str, Any] = {}
        for axis in drawn:
            entries |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns)
    return figure


_PLAIN = 100.0  # values along y whose ratio is smaller have plain numbers at ticks


def _draw_ratio(
    axis: Axes, name: str, tables: Mapping[str, pd.DataFrame], variable: str, two: Sequence[str]
) -> None:
    first, second = (tables[quantity] for quantity in two)
    x, over = first[variable], first["value"] / second["value"]
    panel = Panel(axis, f"{name}, ratio", log_x=True, log_y=False)
    shown = panel.keep(" over ".join(two), x, over, color=STRIP_COLOR)
    axis.plot(x[shown], over[shown], color=STRIP_COLOR)
    panel.finish()
    axis.ticklabel_format(axis="y", useOffset=False)
