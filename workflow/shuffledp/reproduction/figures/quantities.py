"""Quantities of check-in protocols along one variable, several panels in a row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field

from shuffledp.records import tables
from shuffledp.reproduction.figures.kind import PaperFigure
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.numbers import short
from shuffledp.reproduction.figures.style import NARROWEST, PANEL_HEIGHT, PANEL_WIDTH, line, style
from shuffledp.reproduction.sections.axes import Axis, check_limit, points
from shuffledp.reproduction.sections.captions import Caption
from shuffledp.reproduction.sections.curves import Context
from shuffledp.reproduction.sections.model import By, Points, Section, Words
from shuffledp.reproduction.studies import quantities
from shuffledp.reproduction.tables import QuantityCurve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Of quantities that are drawn at random, as those of "runs" are.
_MOST = {"runs": 1e6, "n": 1e8, "slots": 1e8}


Given = Annotated[
    float,
    Field(
        description="Value of a variable; at most 1e6 runs, since each is a simulation, and 1e8 clients and "
        "slots, since as many numbers are kept."
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
    fixed: Annotated[dict[str, Given], By("variable", free=True)]
    """What else the quantities take, by name; for drawn ones the number of runs and the seed."""
    curves: Annotated[Words, Field(min_length=1)]
    """Names of quantities in the registry of shuffledp.reproduction.studies.quantities."""


class QuantitiesSection(Section):
    """One figure; it becomes <figures>/<paper>/<figure>.pdf and .png."""

    panels: Annotated[dict[str, PanelSection], By("panel"), Field(min_length=1)]
    """Panels, left to right."""


@dataclass(frozen=True)
class Quantities(PaperFigure):
    """One figure of quantities of check-in protocols."""

    holds = QuantitiesSection
    about = "Figures of other quantities of check-in protocols"
    place = 2
    template = """\
{% for panel in panels %}
- Panel {{ panel.name }}: {{ panel.y }} against {{ panel.variable }}, {{ panel.points }} points from {{ panel.from }} to {{ panel.to }}; {{ panel.fixed }}.
{% endfor %}

Curves:

{% for curve in curves %}
- {{ curve.label }} (``{{ curve.name }}``, {{ curve.kind }}): {{ curve.theorem }}.
{% endfor %}
"""  # noqa: E501  # a line of the page is a line here
    ending = """
Computed on the CPU in double precision; {% if simulated %}what is drawn has the runs and the seed named above{% else %}no randomness is involved{% endif %}.
"""  # noqa: E501  # a line of the page is a line here

    settings: QuantitiesSection
    looks: Mapping[str, Mapping[str, str]]
    curves: tuple[QuantityCurve, ...]

    @classmethod
    def resolve(
        cls, paper: str, name: str, settings: QuantitiesSection, caption: Caption, context: Context
    ) -> Self:
        """Return the figure, if each quantity is given what it takes."""
        curves: list[QuantityCurve] = []
        for label, panel in settings.panels.items():
            here = [cls.kind, paper, name, "panels", label]
            axis = panel.x
            values = points(axis, axis.variable, axis.points, context, [*here, "x"])
            for index, quantity in enumerate(panel.curves):
                fixed = _fixed(quantity, panel, values, context, here, index)
                curves.append(QuantityCurve(paper, name, label, quantity, axis.variable, values, fixed))
        names = dict.fromkeys(curve.quantity for curve in curves)
        looks = {one: context.look(one, quantities.get(one).label) for one in names}
        return cls(paper, name, settings, caption, looks, tuple(curves))

    @property
    def tables(self) -> tuple[QuantityCurve, ...]:
        """The tables of the figure, one a curve."""
        return self.curves

    def inputs(self, results: str) -> Sequence[str]:
        """Return the curves."""
        return tuple(curve.path(results) for curve in self.curves)

    def parameters(self, results: str) -> Mapping[str, Any]:
        """Return the axes and curves of each panel, and the looks of the curves."""
        panels: dict[str, Any] = {
            name: {
                "variable": panel.x.variable,
                "axes": [panel.x.label, panel.y],
                "title": panel.title,
                "curves": [],
            }
            for name, panel in self.settings.panels.items()
        }
        for curve in self.curves:
            panels[curve.panel]["curves"].append([curve.quantity, curve.path(results)])
        return {"panels": panels, "order": list(panels), "styles": self.looks}

    def in_caption(self, results: str) -> Mapping[str, Any]:
        """Return what varies and what is fixed, panel by panel, and the quantities."""
        panels = []
        for name, panel in self.settings.panels.items():
            curve = next(curve for curve in self.curves if curve.panel == name)
            panels.append(
                {
                    "name": name,
                    "y": panel.y,
                    "variable": curve.variable,
                    "from": short(curve.values[0]),
                    "to": short(curve.values[-1]),
                    "points": len(curve.values),
                    "fixed": ", ".join(f"{key} = {short(value)}" for key, value in panel.fixed.items()),
                }
            )
        return {
            "panels": panels,
            "curves": [quantities.get(name) for name in self.looks],
            "simulated": any(quantities.get(name).kind == "estimate" for name in self.looks),
        }


def _fixed(
    quantity: str,
    panel: PanelSection,
    values: Sequence[float],
    context: Context,
    here: Sequence[str],
    index: int,
) -> tuple[tuple[str, float], ...]:
    """Return what a quantity takes of the variables that its panel fixes."""
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
        check_limit(key, value, context, spot)
    return fixed


def draw(asked: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    panels = {
        name: {quantity: tables.read_table(path) for quantity, path in asked["panels"][name]["curves"]}
        for name in asked["order"]
    }
    return draw_quantities(
        panels,
        variables={name: panel["variable"] for name, panel in asked["panels"].items()},
        axes={name: tuple(panel["axes"]) for name, panel in asked["panels"].items()},
        titles={name: panel["title"] for name, panel in asked["panels"].items()},
        styles=asked["styles"],
    )


def draw_quantities(
    panels: Mapping[str, Mapping[str, pd.DataFrame]],
    *,
    variables: Mapping[str, str],
    axes: Mapping[str, tuple[str, str]],
    titles: Mapping[str, str],
    styles: Mapping[str, Mapping[str, Any]],
) -> Figure:
    """Draw one panel for each entry of ``panels``, on logarithmic axes.

    Args:
        panels: tables by panel and by quantity, with the columns of ``studies.quantities.evaluate``.
        variables: by panel, the column on the x axis.
        axes: by panel, the words under the x axis and beside the y axis.
        titles: by panel.
        styles: by quantity: color, line and label.

    Returns:
        The figure, to be saved by ``figures.style.save``. Estimates are points with bars of two standard
        errors, if the table has them. Values that are not positive and finite are left out, marked at the end
        of the axis, and counted in a warning.
    """
    from matplotlib.figure import Figure

    with style():
        width = max(PANEL_WIDTH * 1.3 * len(panels), NARROWEST)
        figure = Figure(figsize=(width, PANEL_HEIGHT + 0.7), layout="constrained")
        for index, (name, tables) in enumerate(panels.items()):
            axis = figure.add_subplot(1, len(panels), index + 1)
            panel = Panel(axis, name, log_x=True, log_y=True)
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
            label = f"({name}) " if len(panels) > 1 else ""
            axis.set_title(label + titles[name])
            axis.set_xlabel(axes[name][0])
            axis.set_ylabel(axes[name][1])
        entries: dict[str, Any] = {}
        for axis in figure.axes:
            entries |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=2)
    return figure
