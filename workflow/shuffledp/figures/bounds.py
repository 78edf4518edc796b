"""Bounds on epsilon along one variable, several panels in a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
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


def draw_bounds(
    panels: Mapping[str, Mapping[str, pd.DataFrame]],
    *,
    variables: Mapping[str, str],
    styles: Mapping[str, Mapping[str, Any]],
) -> Figure:
    """Draw one panel for each entry of ``panels``, on logarithmic axes.

    Args:
        panels: tables of curves by panel and by accountant, with the columns of ``accountants.sweep``.
        variables: by panel, the column on the x axis.
        styles: by accountant: color, line and label.

    Returns:
        The figure, to be saved by ``figures.style.save``. Settings in titles come from the tables. Points
        where epsilon is 0 are left out, as a logarithmic axis must.
    """
    with style():
        figure = Figure(figsize=(PANEL_WIDTH * len(panels), PANEL_HEIGHT + 0.45), layout="constrained")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axis, (name, curves) in zip(axes, panels.items(), strict=True):
            variable = variables[name]
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
            axis.set_xlabel(_NAMES[variable])
            axis.set_title(f"({name}) {_setting(next(iter(curves.values())), variable)}")
        axes[0].set_ylabel(r"central privacy $\epsilon$")
        entries = {line.get_label(): line for axis in axes for line in axis.get_lines()}
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=2)
    return figure
