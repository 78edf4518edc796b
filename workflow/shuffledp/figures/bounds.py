"""Bounds on epsilon along one variable, several panels in a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from shuffledp.accountants.variables import VARIABLES
from shuffledp.figures.style import PANEL_HEIGHT, PANEL_WIDTH, power_of_ten, style

_SYMBOLS = {"n": "n", "k": "k", "eps0": r"\epsilon_0", "rounds": "T", "delta": r"\delta"}
_NAMES = {
    "n": "clients $n$",
    "k": "clients per round $k$",
    "eps0": r"local privacy $\epsilon_0$",
    "rounds": "rounds $T$",
    "delta": r"$\delta$",
}


def _setting(table: pd.DataFrame, variable: str) -> str:
    """Return what is fixed in a panel, from the columns of one of its tables."""
    fixed = {name: float(table[name].iloc[0]) for name in VARIABLES if name != variable}
    words = [f"${_SYMBOLS[name]} = {power_of_ten(value)}$" for name, value in fixed.items()]
    if "n" in fixed and "k" in fixed:
        words[1] += rf" ($\gamma = {power_of_ten(fixed['k'] / fixed['n'])}$)"
    return ", ".join(words[:2]) + "\n" + ", ".join(words[2:])


_COLUMNS = 3  # panels in a row


def draw_bounds(
    panels: Mapping[str, Mapping[str, pd.DataFrame]],
    *,
    variables: Mapping[str, str],
    styles: Mapping[str, Mapping[str, Any]],
    ratio: tuple[str, str] | None = None,
) -> Figure:
    """Draw one panel for each entry of ``panels``, three in a row, on logarithmic axes.

    Args:
        panels: tables of curves by panel and by accountant, with the columns of ``accountants.sweep``.
        variables: by panel, the column on the x axis.
        styles: by accountant: color, line and label.
        ratio: two accountants whose ratio, first over second, is drawn in a strip under each panel.

    Returns:
        The figure, to be saved by ``figures.style.save``. Settings in titles come from the tables. Points
        where epsilon is 0 are left out, as a logarithmic axis must.
    """
    columns = min(len(panels), _COLUMNS)
    rows = -(-len(panels) // columns)
    heights = [3, 1] * rows if ratio else [1] * rows
    with style():
        height = rows * (PANEL_HEIGHT + (0.75 if ratio else 0.0)) + 0.45
        figure = Figure(figsize=(PANEL_WIDTH * columns, height), layout="constrained")
        grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
        axes = []
        for index, (name, curves) in enumerate(panels.items()):
            row, column = divmod(index, columns)
            axis = figure.add_subplot(grid[row * (2 if ratio else 1), column])
            axes.append(axis)
            variable = variables[name]
            _draw_panel(axis, curves, variable, styles)
            axis.set_title(f"({name}) {_setting(next(iter(curves.values())), variable)}")
            lowest = axis
            if ratio:
                lowest = figure.add_subplot(grid[row * 2 + 1, column], sharex=axis)
                _draw_ratio(lowest, curves, variable, ratio)
                axis.tick_params(labelbottom=False)
            lowest.set_xlabel(_NAMES[variable])
            if column == 0:
                axis.set_ylabel(r"central privacy $\epsilon$")
                if ratio:
                    lowest.set_ylabel("ratio")
        entries = {line.get_label(): line for axis in axes for line in axis.get_lines()}
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=2)
    return figure


def _draw_panel(
    axis: Axes, curves: Mapping[str, pd.DataFrame], variable: str, styles: Mapping[str, Mapping[str, Any]]
) -> None:
    for accountant, table in curves.items():
        look = styles[accountant]
        positive = table[table["epsilon"] > 0]
        axis.plot(
            positive[variable],
            positive["epsilon"],
            color=look["color"],
            linestyle=look["line"],
            label=look["label"],
        )
    axis.set_xscale("log")
    axis.set_yscale("log")


def _draw_ratio(
    axis: Axes, curves: Mapping[str, pd.DataFrame], variable: str, ratio: tuple[str, str]
) -> None:
    upper, lower = curves[ratio[0]], curves[ratio[1]]
    both = (lower["epsilon"] > 0).to_numpy()
    axis.plot(upper[variable][both], (upper["epsilon"] / lower["epsilon"])[both], color="#444444")
    values = axis.get_lines()[0].get_ydata()
    axis.set_ylim(min(1.0, *values), max(1.3, *(1.05 * value for value in values)))
