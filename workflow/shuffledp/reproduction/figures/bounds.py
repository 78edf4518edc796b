"""Bounds on epsilon along one variable, or on delta along epsilon, several panels in a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from shuffledp.accountants.systems import answer
from shuffledp.accountants.systems import variables as all_variables
from shuffledp.records import tables
from shuffledp.reproduction.figures.captions import power_of_ten
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.style import (
    LEGEND_ROW,
    NARROWEST,
    PANEL_HEIGHT,
    PANEL_WIDTH,
    line,
    style,
)
from shuffledp.variables import VARIABLES


def _setting(tables: Iterable[pd.DataFrame], variable: str) -> str:
    """Return what is fixed in a panel, from the columns of its tables."""
    columns = {name: table[name].iloc[0] for table in tables for name in all_variables() if name in table}
    fixed = {
        name: float(columns[name])
        for name in all_variables()
        if name in columns and name not in (variable, answer(variable))
    }
    words = [f"${VARIABLES[name].tex} = {power_of_ten(value)}$" for name, value in fixed.items()]
    if "n" in fixed and "k" in fixed:
        words[1] += rf" ($\gamma = {power_of_ten(fixed['k'] / fixed['n'])}$)"
    return ", ".join(words[:2]) + "\n" + ", ".join(words[2:])


_COLUMNS = 3  # panels in a row, at most
_SHORT = 46  # letters of a label of which two fit beside each other under three panels
_ABOVE_ONE = 0.2  # of the strip of a ratio that is 1 everywhere
_RATIO, _RELATIVE = 0.75, 1.2  # inches, of a strip
_DECADE = 10.0  # values that span less are drawn on a linear axis, whose ticks can be read


def draw(asked: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    panels = {
        name: {accountant: tables.read_table(path) for accountant, path in asked["panels"][name]["curves"]}
        for name in asked["order"]
    }
    return draw_bounds(
        panels,
        variables={name: panel["variable"] for name, panel in asked["panels"].items()},
        styles=asked["styles"],
        titles={name: panel["title"] for name, panel in asked["panels"].items()},
        ratio=asked["ratio"],
        relative=asked["relative"],
    )


def draw_bounds(
    panels: Mapping[str, Mapping[str, pd.DataFrame]],
    *,
    variables: Mapping[str, str],
    styles: Mapping[str, Mapping[str, Any]],
    titles: Mapping[str, str] | None = None,
    ratio: Sequence[str] | None = None,
    relative: str | None = None,
) -> Figure:
    """Draw one panel for each entry of ``panels``, on logarithmic axes.

    Epsilon along x is linear, and so is what spans less than a decade along y.

    Args:
        panels: tables of curves by panel and by accountant, with the columns of ``accountants.sweep``.
        variables: by panel, the column on the x axis.
        styles: by accountant: color, line and label.
        titles: by panel, words above its setting; none if empty.
        ratio: accountants; that of the first over the largest of the others is drawn in a strip under each
            panel.
        relative: an accountant; the ratio of every other curve to its is drawn there instead.

    Returns:
        The figure, to be saved by ``figures.style.save``. Settings in titles come from the tables. Points
        where epsilon (or delta) is 0, infinite or nan are left out, marked at the end of the axis, and
        counted in a warning.
    """
    columns = 2 if len(panels) == 4 else min(len(panels), _COLUMNS)
    width = max(PANEL_WIDTH * columns, NARROWEST)
    rows = -(-len(panels) // columns)
    strip = _RATIO if ratio else _RELATIVE if relative else 0.0
    heights = [PANEL_HEIGHT, strip] * rows if strip else [1] * rows
    with style():
        labels = {styles[accountant]["label"] for curves in panels.values() for accountant in curves}
        short = max(map(len, labels)) <= _SHORT
        legend_columns = 2 if columns == _COLUMNS and short else 1
        legend_rows = -(-len(labels) // legend_columns)
        height = rows * (PANEL_HEIGHT + strip) + 0.15 + LEGEND_ROW * legend_rows
        figure = Figure(figsize=(width, height), layout="constrained")
        grid = figure.add_gridspec(len(heights), columns, height_ratios=heights)
        axes = []
        for index, (name, curves) in enumerate(panels.items()):
            row, column = divmod(index, columns)
            axis = figure.add_subplot(grid[row * (2 if strip else 1), column])
            axes.append(axis)
            variable = variables[name]
            _draw_panel(axis, name, curves, variable, styles)
            label = f"({name}) " if len(panels) > 1 else ""
            words = (titles or {}).get(name, "")
            axis.set_title(label + (f"{words}\n" if words else "") + _setting(curves.values(), variable))
            lowest = axis
            if strip:
                lowest = figure.add_subplot(grid[row * 2 + 1, column], sharex=axis)
                if ratio:
                    _draw_ratio(lowest, name, curves, variable, ratio)
                elif relative:
                    _draw_relative(lowest, name, curves, variable, styles, relative)
                axis.tick_params(labelbottom=False)
            lowest.set_xlabel(VARIABLES[variable].label)
            if column == 0:
                axis.set_ylabel(VARIABLES[answer(variable)].label)
                if strip:
                    lowest.set_ylabel("ratio")
        entries = {str(drawn.get_label()): drawn for axis in axes for drawn in axis.get_lines()}
        figure.legend(
            entries.values(),
            entries.keys(),
            loc="outside lower center",
            ncols=legend_columns,
        )
    return figure


def _draw_panel(
    axis: Axes,
    name: str,
    curves: Mapping[str, pd.DataFrame],
    variable: str,
    styles: Mapping[str, Mapping[str, Any]],
) -> None:
    column = answer(variable)
    panel = Panel(axis, name, log_x=variable != "epsilon", log_y=True)
    for accountant, table in curves.items():
        look = styles[accountant]
        shown = table[panel.keep(accountant, table[variable], table[column], color=look["color"])]
        axis.plot(shown[variable], shown[column], **line(look))
    panel.finish()
    drawn = np.concatenate([curve.get_ydata() for curve in axis.get_lines()])
    if drawn.size and drawn.max() < _DECADE * drawn.min():
        axis.set_yscale("linear")
    _plain_ticks(axis, variable)


def _plain_ticks(axis: Axes, variable: str) -> None:
    """Label an axis of eps0 at 1, 2 and 5: of its few decades powers of ten would be one label or two."""
    if variable == "eps0":
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())


def _draw_relative(
    axis: Axes,
    name: str,
    curves: Mapping[str, pd.DataFrame],
    variable: str,
    styles: Mapping[str, Mapping[str, Any]],
    relative: str,
) -> None:
    column = answer(variable)
    panel = Panel(axis, f"{name}, ratio", log_x=variable != "epsilon", log_y=False)
    for accountant, table in curves.items():
        if accountant != relative:
            look, over = styles[accountant], table[column] / curves[relative][column]
            shown = panel.keep(f"{accountant} over {relative}", table[variable], over, color=look["color"])
            axis.plot(table[variable][shown], over[shown], **line(look))
    panel.finish()
    _plain_ticks(axis, variable)


def _draw_ratio(
    axis: Axes, name: str, curves: Mapping[str, pd.DataFrame], variable: str, ratio: Sequence[str]
) -> None:
    column = answer(variable)
    upper = curves[ratio[0]]
    over = upper[column] / np.max([curves[other][column] for other in ratio[1:]], axis=0)
    panel = Panel(axis, f"{name}, ratio", log_x=variable != "epsilon", log_y=False)
    shown = panel.keep(" over ".join(ratio), upper[variable], over, color="#444444")
    axis.plot(upper[variable][shown], over[shown], color="#444444")
    panel.finish()
    _plain_ticks(axis, variable)
    values = np.asarray(axis.get_lines()[0].get_ydata()).tolist()
    highest = max(values, default=1.0)
    axis.set_ylim(min([1.0, *values]), highest + (0.2 * abs(highest - 1) or _ABOVE_ONE))
