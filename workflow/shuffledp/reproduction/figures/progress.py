"""Test accuracy against the rounds, experiments beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from shuffledp.records import tables
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.style import NARROWEST, PANEL_HEIGHT, PANEL_WIDTH, draw_over_seeds, style
from shuffledp.reproduction.studies.over_seeds import accuracies


def draw(asked: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    panels: dict[str, list[Any]] = {name: [] for name in asked["titles"]}
    for panel, look, paths in asked["lines"]:
        runs = [tables.read_table(path, needs=("round", "test_accuracy")) for path in paths]
        panels[panel].append((look, runs))
    return draw_progress(panels, titles=asked["titles"])


def draw_progress(
    panels: Mapping[str, Sequence[tuple[Mapping[str, Any], Sequence[pd.DataFrame]]]],
    *,
    titles: Mapping[str, str],
) -> Figure:
    """Draw one panel for each comparison: accuracy against rounds of each experiment.

    Args:
        panels: by panel its lines: looks (color, line, label), and the runs, a table a seed.
        titles: by panel.

    Returns:
        The figure; for lines and bands see ``style.draw_over_seeds``. Points that are
        infinite or nan are left out, marked at the end of the axis, and counted in a warning.
    """
    with style():
        width = max(PANEL_WIDTH * len(panels), NARROWEST)
        figure = Figure(figsize=(width, PANEL_HEIGHT + 0.3), layout="constrained")
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, (name, lines) in zip(axes, panels.items(), strict=True):
            panel = Panel(axis, name, log_x=False, log_y=False)
            for look, runs in lines:
                rounds, mean, deviation = accuracies(runs)
                shown = panel.keep(look["label"], rounds, mean, color=look["color"])
                own = rounds[shown], 100 * mean[shown], 100 * deviation[shown]
                draw_over_seeds(axis, *own, look, seeds=len(runs))
            panel.finish()
            axis.set_title((f"({name}) " if len(panels) > 1 else "") + titles[name])
            axis.set_xlabel("rounds")
            axis.legend(loc="lower right")
        axes[0].set_ylabel("test accuracy (%)")
    return figure
