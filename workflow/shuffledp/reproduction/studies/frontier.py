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
        runs: one table for each seed, with the columns round and test_accuracy.
        curves: by accountant, a table with the columns rounds and epsilon, at the rounds of the runs.
    """

    eps0: float
    k: int
    randomizer: str
    runs: Sequence[pd.DataFrame]
    curves: Mapping[str, pd.DataFrame]


def undominated(epsilon: FloatArray, accuracy: FloatArray) -> NDArray[np.intp]:
    """Return the indices of the points that no other point beats, by ascending epsilon (and accuracy).

    A point beats another if its epsilon is not larger, its accuracy is not smaller, and one of the two
    differs. Of points that are equal in both, the first is returned. Points whose epsilon is not finite are
    left out.

    Args:
        epsilon: of shape (points,).
        accuracy: of the same shape.
    """
    order = np.lexsort((-accuracy, epsilon))
    order = order[np.isfinite(epsilon[order])]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(accuracy[order])[:-1]])[: order.size]
    return order[accuracy[order] > before]


def frontier(cells: Sequence[Cell], *, accountants: Sequence[str]) -> pd.DataFrame:
    """Return, for each accountant, the points (epsilon, accuracy) that no other one beats (``undominated``).

    Args:
        cells: the experiments.
        accountants: whose epsilon is used; each cell must have their curves.

    Returns:
        Columns: accountant, epsilon (which errs to the side of the accountant's kind), accuracy (mean over
        seeds), deviation (standard deviation over seeds, with one degree of freedom less; 0 for one seed),
        eps0, k, randomizer and round; for each accountant by ascending epsilon. An accountant without any
        finite epsilon has its most accurate point, whose epsilon is infinite or nan.

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
