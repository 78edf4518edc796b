"""Test accuracy against the rounds, experiments beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from shuffledp.figures.style import LINES, NARROWEST, PANEL_HEIGHT, PANEL_WIDTH, style
from shuffledp.histories import accuracies

_BAND = 0.15  # opacity


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
        The figure. Lines are means over seeds, bands one standard deviation to either side.
    """
    with style():
        width = max(PANEL_WIDTH * len(panels), NARROWEST)
        figure = Figure(figsize=(width, PANEL_HEIGHT + 0.3), layout="constrained")
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, (name, lines) in zip(axes, panels.items(), strict=True):
            for look, runs in lines:
                rounds, mean, deviation = accuracies(runs)
                axis.plot(
                    rounds,
                    100 * mean,
                    color=look["color"],
                    linestyle=LINES[look["line"]],
                    label=look["label"],
                )
                axis.fill_between(
                    rounds,
                    100 * (mean - deviation),
                    100 * (mean + deviation),
                    color=look["color"],
                    alpha=_BAND,
                    linewidth=0,
                )
            axis.set_title((f"({name}) " if len(panels) > 1 else "") + titles[name])
            axis.set_xlabel("rounds")
            axis.legend(loc="lower right")
        axes[0].set_ylabel("test accuracy (%)")
    return figure
