"""The table of brackets: certified bounds on epsilon, for panels whose cached curves have both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from shuffledp import rounding

HEADINGS = {
    "figure": "figure, panel",
    "system": "who sends what",
    "setting": "setting",
    "at": "at",
    "lower": "epsilon at least",
    "upper": "epsilon at most",
    "ratio": "ratio",
    "by": "by",
    "needs": "the upper bound needs",
}

Curve = tuple[str, str, pd.DataFrame]


def brackets(
    panels: Sequence[Mapping[str, Any]], *, read: Callable[[str], pd.DataFrame]
) -> list[dict[str, str]]:
    """Return the rows of the table: for each panel the tightest bounds at the first, a middle and the last
    point of its curves.

    Args:
        panels: for each its identification ("figure", "system", "setting"), the "variable" along x, and its
            "curves" of epsilon, all of one system and at the same points: kind ("lower" or "upper"), name
            and path; and, by name, what each accountant "needs".
        read: function of a path that returns the table, with columns for the variable and "epsilon".

    Returns:
        Dictionaries with the keys of ``HEADINGS``: the identification of the panel, "at" (the variable and
        its value), "lower" and "upper" (rounded outwards, so that they stay bounds), "ratio" (upper over
        lower, empty if the lower bound is 0), "by" (the accountants) and "needs" (what the upper one needs).

    Raises:
        ValueError: a panel lacks a side, or its curves are at different points.
    """
    rows = []
    for panel in panels:
        variable = panel["variable"]
        curves = [(kind, name, read(path)) for kind, name, path in panel["curves"]]
        points = _points(variable, curves)
        for index in sorted({0, len(points) // 2, len(points) - 1}):
            low, lower = max(_at(index, curves, "lower"))
            high, upper = min(_at(index, curves, "upper"))
            rows.append(
                {
                    **{key: panel[key] for key in ("figure", "system", "setting")},
                    "at": f"{variable} = {points[index]:g}",
                    "lower": rounding.shown(low, "lower"),
                    "upper": rounding.shown(high, "upper"),
                    "ratio": rounding.shown(high / low, "upper", digits=3) if low > 0 else "",
                    "by": f"{lower}, {upper}",
                    "needs": panel["needs"][upper],
                }
            )
    return rows


def _at(index: int, curves: Sequence[Curve], side: str) -> list[tuple[float, str]]:
    return [(float(table["epsilon"].iloc[index]), name) for kind, name, table in curves if kind == side]


def _points(variable: str, curves: Sequence[Curve]) -> list[float]:
    missing = {"lower", "upper"} - {kind for kind, _, _ in curves}
    if missing:
        raise ValueError(f"a bracket needs lower and upper bounds, got no {' and no '.join(sorted(missing))}")
    points = [table[variable].tolist() for _, _, table in curves]
    if any(one != points[0] for one in points):
        raise ValueError(f"curves of one bracket must be at the same points of {variable}, and are not")
    return points[0]
