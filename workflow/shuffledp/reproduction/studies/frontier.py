"""The best accuracy for each epsilon over many experiments, by each of several accountants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shuffledp.checks import FloatArray
from shuffledp.reproduction.studies.over_seeds import accuracies


@dataclass(frozen=True)
class Cell:
    """One experiment of many.

    Attributes:
        eps0: local privacy parameter.
        k: clients per round.
        randomizer: its name.
        runs: a table a seed with the columns round and test_accuracy.
        curves: by accountant, a table with the columns rounds and epsilon, of the rounds of the runs.
    """

    eps0: float
    k: int
    randomizer: str
    runs: Sequence[pd.DataFrame]
    curves: Mapping[str, pd.DataFrame]


def undominated(epsilon: FloatArray, accuracy: FloatArray) -> NDArray[np.intp]:
    """Return which points no other beats, by ascending epsilon, and so by ascending accuracy.

    A point beats another if its epsilon is not larger, its accuracy not smaller, and one of the two differs.
    Of points that agree in both the first is taken. Points whose epsilon is not finite are left out.

    Args:
        epsilon: of shape (points,).
        accuracy: of the same shape.
    """
    order = np.lexsort((-accuracy, epsilon))
    order = order[np.isfinite(epsilon[order])]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(accuracy[order])[:-1]])[: order.size]
    return order[accuracy[order] > before]


def frontier(cells: Sequence[Cell], *, accountants: Sequence[str]) -> pd.DataFrame:
    """Return, by accountant, the points (epsilon, accuracy) that no other one beats (``undominated``).

    Args:
        cells: the experiments.
        accountants: by whose epsilon; each of them among the curves of each cell.

    Returns:
        Columns: accountant, epsilon (of the accountant's kind), accuracy (mean over seeds), deviation
        (standard deviation over seeds, with one degree of freedom less; 0 for one seed), eps0, k, randomizer
        and round; for each accountant by ascending epsilon. Of an accountant that has no finite epsilon
        anywhere, the most accurate point, whose epsilon is then infinite or nan.

    Raises:
        ValueError: the rounds of a curve are not those of the runs.
    """
    columns = ("epsilon", "accuracy", "deviation", "eps0", "k", "randomizer", "round")
    found = []
    for accountant in accountants:
        points = pd.concat([_points(cell, accountant) for cell in cells], ignore_index=True)
        best = undominated(points["epsilon"].to_numpy(), points["accuracy"].to_numpy())
        if not best.size:
            best = points["accuracy"].to_numpy().argmax(keepdims=True)
        found.append(points.iloc[best].assign(accountant=accountant))
    return pd.concat(found, ignore_index=True)[["accountant", *columns]]


def _points(cell: Cell, accountant: str) -> pd.DataFrame:
    rounds, mean, deviation = accuracies(cell.runs)
    curve = cell.curves[accountant]
    if not np.array_equal(curve["rounds"], rounds):
        raise ValueError(
            f"curves must be of the rounds of the runs: {accountant!r} is not, for eps0 = {cell.eps0:g}, "
            f"k = {cell.k}; compute it again"
        )
    return pd.DataFrame(
        {
            "epsilon": curve["epsilon"].to_numpy(dtype=np.float64),
            "accuracy": mean,
            "deviation": deviation,
            "eps0": cell.eps0,
            "k": cell.k,
            "randomizer": cell.randomizer,
            "round": rounds,
        }
    )
