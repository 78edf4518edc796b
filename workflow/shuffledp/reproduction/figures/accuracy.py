"""Test accuracy against epsilon, mean and standard deviation over seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from shuffledp.records import tables
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.style import (
    LEGEND_ROW,
    NARROWEST,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    draw_band,
    style,
)


def draw(asked: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    return draw_accuracy(
        {name: tables.read_table(path) for name, path in asked["panels"]},
        titles=asked["titles"],
        curves=dict(asked["curves"]),
        x_scale=asked["x_scale"],
        x_limit=asked["x_limit"],
    )


def draw_accuracy(
    panels: Mapping[str, pd.DataFrame],
    *,
    titles: Mapping[str, str],
    curves: Mapping[str, Mapping[str, Any]],
    x_scale: str = "linear",
    x_limit: float | None = None,
) -> Figure:
    """Draw one panel for each experiment: accuracy against epsilon by each accountant.

    Args:
        panels: tables of ``utility.privacy_utility`` by panel.
        titles: by panel.
        curves: by accountant: color, line and label.
        x_scale: "linear" or "log".
        x_limit: largest epsilon shown; None for all.

    Returns:
        The figure. Lines are means over seeds, bands one standard deviation to either side. Points where
        epsilon is infinite, nan or, on a logarithmic axis, 0 are left out, marked at the end of the axis, and
        counted in a warning.
    """
    with style():
        width = max(PANEL_WIDTH * len(panels), NARROWEST)
        height = PANEL_HEIGHT + 0.3 + LEGEND_ROW * len(curves)
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, (name, table) in zip(axes, panels.items(), strict=True):
            percent, spread = 100 * table["accuracy"], 100 * table["deviation"]
            panel = Panel(axis, name, log_x=x_scale == "log", log_y=False)
            for accountant, look in curves.items():
                shown = panel.keep(accountant, table[accountant], percent, color=look["color"])
                draw_band(axis, table[accountant][shown], percent[shown], spread[shown], look)
            panel.finish()
            if x_limit is not None:
                axis.set_xlim(0 if x_scale == "linear" else None, x_limit)
            label = f"({name}) " if len(panels) > 1 else ""
            axis.set_title(label + titles[name])
            axis.set_xlabel(r"central privacy $\epsilon$")
        axes[0].set_ylabel("test accuracy (%)")
        entries = {line.get_label(): line for axis in axes for line in axis.get_lines()}
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=1)
    return figure
