"""Test accuracy against epsilon, mean and standard deviation over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from shuffledp.records import tables
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.style import (
    LEGEND_ROW,
    NARROWEST,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    draw_over_seeds,
    style,
)

_CROSS = "x"


def draw(asked: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    return draw_accuracy(
        {name: tables.read_table(path) for name, path in asked["panels"]},
        titles=asked["titles"],
        curves=dict(asked["curves"]),
        x_scale=asked["x_scale"],
        x_limit=asked["x_limit"],
        stated=asked["stated"],
    )


def draw_accuracy(
    panels: Mapping[str, pd.DataFrame],
    *,
    titles: Mapping[str, str],
    curves: Mapping[str, Mapping[str, Any]],
    x_scale: str = "linear",
    x_limit: float | None = None,
    stated: Sequence[Mapping[str, Any]] = (),
) -> Figure:
    """Draw one panel for each experiment: accuracy against epsilon by each accountant.

    Args:
        panels: tables of ``utility.privacy_utility`` by panel.
        titles: by panel.
        curves: by accountant: color, line and label.
        x_scale: "linear" or "log".
        x_limit: largest epsilon shown; None for all.
        stated: points that the paper states: panel, curve, epsilon, accuracy in percent, and its deviation
            where the paper gives one.

    Returns:
        The figure; for lines and bands see ``style.draw_over_seeds``. Points where
        epsilon is infinite, nan or, on a logarithmic axis, 0 are left out, marked at the end of the axis, and
        counted in a warning.
    """
    with style():
        width = max(PANEL_WIDTH * len(panels), NARROWEST)
        height = PANEL_HEIGHT + 0.6 + LEGEND_ROW * (len(curves) + bool(stated))
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, (name, table) in zip(axes, panels.items(), strict=True):
            percent, spread = 100 * table["accuracy"], 100 * table["deviation"]
            panel = Panel(axis, name, log_x=x_scale == "log", log_y=False)
            for accountant, look in curves.items():
                shown = panel.keep(accountant, table[accountant], percent, color=look["color"])
                own = table[accountant][shown], percent[shown], spread[shown]
                draw_over_seeds(axis, *own, look, seeds=int(table["seeds"].iloc[0]))
            for point in stated:
                if point["panel"] == name:
                    _mark(axis, point, curves[point["curve"]])
            panel.finish()
            if x_limit is not None:
                axis.set_xlim(0 if x_scale == "linear" else None, x_limit)
            label = f"({name}) " if len(panels) > 1 else ""
            axis.set_title(label + titles[name])
            axis.set_xlabel(r"central privacy $\epsilon$")
        axes[0].set_ylabel("test accuracy (%)")
        entries: dict[str, Any] = {}
        for axis in axes:
            entries |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
        if stated:
            cross = Line2D(
                [], [], linestyle="none", marker=_CROSS, color="#444444", label="stated in the paper"
            )
            entries[str(cross.get_label())] = cross
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=1)
    return figure


def _mark(axis: Axes, point: Mapping[str, Any], look: Mapping[str, Any]) -> None:
    axis.errorbar(
        [point["epsilon"]],
        [point["accuracy"]],
        yerr=point.get("deviation"),
        fmt=_CROSS,
        color=look["color"],
        markersize=5,
        capsize=2,
        zorder=3,
    )
