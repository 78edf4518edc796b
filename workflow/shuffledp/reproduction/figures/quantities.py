"""Quantities of check-in protocols along one variable, several panels in a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from shuffledp.records import tables
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.style import NARROWEST, PANEL_HEIGHT, PANEL_WIDTH, line, style


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
        panels: tables by panel and by quantity, with the columns of ``checkin.quantities.sweep``.
        variables: by panel, the column on the x axis.
        axes: by panel, the words under the x axis and beside the y axis.
        titles: by panel.
        styles: by quantity: color, line and label.

    Returns:
        The figure, to be saved by ``figures.style.save``. Estimates are points with bars of two standard
        errors, if the table has them. Values that are not positive and finite are left out, marked at the end
        of the axis, and counted in a warning.
    """
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
