"""What claims read off a table of accuracy against epsilon."""

from __future__ import annotations

import pandas as pd

from shuffledp import rounding

Stated = tuple[float, float]  # mean and standard deviation, in per cent


def accuracy_at(table: pd.DataFrame, accountant: str, epsilon: float) -> Stated | None:
    """Return mean and deviation of accuracy, in per cent, after the last epoch within epsilon; None if there
    is no such epoch."""
    within = table[table[accountant] <= epsilon]
    if within.empty:
        return None
    row = within.iloc[-1]
    return 100 * float(row.accuracy), 100 * float(row.deviation)


def reaching(table: pd.DataFrame, accountant: str, stated: Stated) -> float:
    """Return epsilon of the first epoch with that mean accuracy, or of the last if it is close; else nan."""
    reached = table[100 * table.accuracy >= stated[0]]
    if len(reached):
        return float(reached.iloc[0][accountant])
    last = table.iloc[-1]
    return float(last[accountant]) if stated[0] - 100 * last.accuracy <= stated[1] else float("nan")


def shown(epsilon: float) -> str:
    """Return an epsilon with two decimals, rounded up."""
    return rounding.shown(epsilon, "upper", places=2)


def share_of_gap(first: Stated, second: Stated, new: Stated, old: Stated) -> float:
    """Return the ratio of our gap between two accuracies to the stated gap."""
    return (first[0] - second[0]) / (new[0] - old[0])
