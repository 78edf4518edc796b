"""Excess risk against the rounds, beside the bound of Theorem 3 of girgis2021, and what the rounds cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from shuffledp.convergence import girgis2021_convergence
from shuffledp.records import tables
from shuffledp.reproduction.figures.captions import power_of_ten
from shuffledp.reproduction.figures.left_out import Panel
from shuffledp.reproduction.figures.style import PANEL_HEIGHT, PANEL_WIDTH, style

_BOUND, _RUNS = "#c84f00", "#004c9c"


def draw(asked: Mapping[str, Any]) -> Figure:
    """Draw a figure from the tables that the parameters of its product name."""
    runs = [tables.read_table(path, needs=("round", "excess_risk")) for path in asked["runs"]]
    return draw_convergence(runs, theorem=asked["theorem"])


def draw_convergence(runs: Sequence[pd.DataFrame], *, theorem: Mapping[str, Any]) -> Figure:
    """Draw both parts of the theorem beside each other.

    Args:
        runs: a table a seed, with the columns round and excess_risk, all of the same rounds.
        theorem: what ``theory.girgis2021_convergence`` takes beside the rounds.

    Returns:
        The figure, to be saved by ``figures.style.save``. The line is the mean over seeds, the band from the
        smallest to the largest. Points that an axis cannot show are left out, marked at its end, and counted
        in a warning.

    Raises:
        ValueError: the runs have different rounds.
    """
    rounds = runs[0]["round"].to_numpy()
    if any(not np.array_equal(table["round"], rounds) for table in runs):
        raise ValueError("runs must have the same rounds; train the seeds with one configuration")
    excess = np.stack([table["excess_risk"].to_numpy() for table in runs])
    stated = girgis2021_convergence(rounds, **theorem)
    with style():
        figure = Figure(figsize=(2.6 * PANEL_WIDTH, PANEL_HEIGHT + 0.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        panel = Panel(left, "a", log_x=True, log_y=True)
        risk, epsilon = np.asarray(stated.excess_risk), np.asarray(stated.epsilon)
        shown = panel.keep("Theorem 3", rounds, risk, color=_BOUND)
        left.plot(
            rounds[shown],
            risk[shown],
            color=_BOUND,
            linestyle="--",
            label="Theorem 3, bound",
        )
        shown = panel.keep("mean of the runs", rounds, excess.mean(0), color=_RUNS)
        some, excess = rounds[shown], excess[:, shown]
        left.plot(some, excess.mean(0), color=_RUNS, label=f"mean of {len(runs)} runs, smallest to largest")
        left.fill_between(some, excess.min(0), excess.max(0), color=_RUNS, alpha=0.3, linewidth=0)
        panel.finish()
        left.set_ylabel(r"excess risk $F(\theta_T) - F(\theta^*)$")
        left.set_title(
            rf"(a) $d = {theorem['dimension']}$, $L = {theorem['lipschitz']:g}$, "
            rf"$D = {theorem['diameter']:g}$"
        )
        panel = Panel(right, "b", log_x=True, log_y=False)
        shown = panel.keep("Theorem 1", rounds, epsilon, color=_RUNS)
        right.plot(rounds[shown], epsilon[shown], color=_RUNS, label="Theorem 1, privacy")
        panel.finish()
        right.set_ylabel(r"central privacy $\epsilon$")
        right.set_title(
            rf"(b) $n = {power_of_ten(theorem['n'])}$, $k = {power_of_ten(theorem['k'])}$, "
            rf"$\epsilon_0 = {theorem['eps0']:g}$, $\delta = {power_of_ten(theorem['delta'])}$"
        )
        for axis in (left, right):
            axis.set_xlabel("rounds $T$")
        left.legend(loc="center right")
    return figure
