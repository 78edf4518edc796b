"""The best test accuracy for each epsilon, over a grid of experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from shuffledp.records import tables
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.style import LEGEND_ROW, PANEL_HEIGHT, PANEL_WIDTH, line, style

_MARKERS = ("o", "^", "s", "D")
_SIZE = 3.2
_TWO_DECADES = 100.0  # epsilons that span less have ticks between powers of ten, which have room there


def draw(asked: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    return draw_frontier(
        tables.read_table(asked["table"]),
        curves=dict(asked["curves"]),
        randomizers=asked["randomizers"],
    )


def draw_frontier(
    table: pd.DataFrame, *, curves: Mapping[str, Mapping[str, Any]], randomizers: Sequence[str]
) -> Figure:
    """Draw a step line an accountant, and at each step a marker for the randomiser that reached it.

    Args:
        table: of ``frontier.frontier``.
        curves: by accountant: color, line and label.
        randomizers: those of the grid, four at most.

    Returns:
        The figure, to be saved by ``figures.style.save``. Points where epsilon is 0 or infinite are left out,
        marked at the end of the axis, and counted in a warning.
    """
    markers = dict(zip(randomizers, _MARKERS, strict=False))
    with style():
        height = 1.4 * PANEL_HEIGHT + 0.3 + LEGEND_ROW * len(curves)
        figure = Figure(figsize=(2 * PANEL_WIDTH, height), layout="constrained")
        axis = figure.add_subplot()
        panel = Panel(axis, "", log_x=True, log_y=False)
        for accountant, look in curves.items():
            points = table[table["accountant"] == accountant]
            shown = panel.keep(accountant, points["epsilon"], 100 * points["accuracy"], color=look["color"])
            points = points[shown]
            x, y = points["epsilon"], 100 * points["accuracy"]
            axis.step(x, y, where="post", linewidth=1, **line(look))
            for randomizer, marker in markers.items():
                own = points["randomizer"] == randomizer
                axis.plot(
                    x[own],
                    y[own],
                    linestyle="none",
                    marker=marker,
                    markersize=_SIZE,
                    color=look["color"],
                    markeredgewidth=0,
                )
        panel.finish()
        shown = table.loc[(table["epsilon"] > 0) & np.isfinite(table["epsilon"]), "epsilon"]
        if len(shown):
            narrow = shown.max() < _TWO_DECADES * shown.min()
            axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if narrow else (1,)))
            axis.xaxis.set_major_formatter("{x:g}")
            axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel(r"central privacy $\epsilon$")
        axis.set_ylabel("test accuracy (%)")
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=1)
        keys = [
            Line2D([], [], linestyle="none", marker=marker, markersize=_SIZE, color="#444444", label=name)
            for name, marker in markers.items()
        ]
        figure.legend(handles=keys, loc="outside upper center", ncols=len(keys), handlelength=1)
    return figure
