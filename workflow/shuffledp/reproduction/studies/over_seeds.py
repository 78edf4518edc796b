"""Means and deviations over the tables of training runs, one table for each seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray


class Accuracies(NamedTuple):
    """Test accuracy over seeds; arrays with one entry for each epoch.

    Attributes:
        rounds: number of rounds until then.
        mean: over seeds.
        deviation: standard deviation over seeds, with one degree of freedom less; 0 for one seed.
    """

    rounds: NDArray[np.float64]
    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]


def accuracies(histories: Sequence[pd.DataFrame]) -> Accuracies:
    """Return the accuracies of an experiment's runs.

    Args:
        histories: one table for each seed, with the columns round and test_accuracy.

    Raises:
        ValueError: there is no history, or the histories differ in their rounds.
    """
    if not histories:
        raise ValueError("histories must hold one table a seed, got none")
    rounds = histories[0]["round"].to_numpy(dtype=np.float64)
    if any(not np.array_equal(history["round"], rounds) for history in histories):
        raise ValueError("histories must be of the same rounds; train the seeds with one setting")
    accuracy = np.stack([history["test_accuracy"].to_numpy(dtype=np.float64) for history in histories])
    several = len(histories) > 1
    deviation = accuracy.std(axis=0, ddof=1) if several else np.zeros(rounds.shape)
    return Accuracies(rounds, accuracy.mean(axis=0), deviation)
