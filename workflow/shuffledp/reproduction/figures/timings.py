"""The figure of times against the number of reports in a round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shuffledp.reproduction.figures.style import LINES, PANEL_HEIGHT, PANEL_WIDTH, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def draw_timings(table: pd.DataFrame) -> Figure:
    """Draw the seconds of a table of timings against ``at``, one line for each ``measured``.

    Args:
        table: with the columns measured, at and seconds; rows without ``at`` are left out.
    """
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(2 * PANEL_WIDTH, PANEL_HEIGHT + 0.9), layout="constrained")
        axis = figure.add_subplot()
        drawn = table.dropna(subset=["at"])
        for line, (measured, rows) in zip(
            LINES.values(), drawn.groupby("measured", sort=False), strict=False
        ):
            axis.plot(rows["at"], rows["seconds"], linestyle=line, marker=".", label=measured)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("reports in a round $k$")
        axis.set_ylabel("seconds")
        figure.legend(loc="outside lower center", ncols=2)
    return figure
