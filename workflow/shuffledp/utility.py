"""Accuracy against epsilon: what a run reached after every epoch, and what it had cost by then."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from shuffledp.accountants import registry
from shuffledp.checks import FloatArray


def privacy_utility(
    histories: Sequence[pd.DataFrame],
    *,
    names: Sequence[str],
    n: int,
    k: int,
    eps0: float,
    delta: float,
) -> dict[str, FloatArray]:
    """Join the accuracies of several seeds with epsilon by several accountants.

    Args:
        histories: one table a seed with the columns epoch, round and test_accuracy, all of the same epochs.
        names: accountants of the subsampled shuffle.
        n: number of clients.
        k: clients per round.
        eps0: local privacy parameter.
        delta: target.

    Returns:
        Columns, one row an epoch: epoch, round, seeds (how many), accuracy (mean over seeds), deviation
        (standard deviation over seeds, with one degree of freedom less; 0 for one seed), and by the name of
        each accountant epsilon after that round, of the accountant's kind.

    Raises:
        ValueError: there is no history, the histories differ in their epochs, or an argument is out of range.
    """
    if not histories:
        raise ValueError("histories must hold one table a seed, got none")
    epochs, rounds = (histories[0][column].to_numpy(dtype=np.float64) for column in ("epoch", "round"))
    if any(not np.array_equal(history["round"], rounds) for history in histories):
        raise ValueError("histories must be of the same rounds; train the seeds with one setting")
    accuracy = np.stack([history["test_accuracy"].to_numpy(dtype=np.float64) for history in histories])
    several = len(histories) > 1
    return {
        "epoch": epochs,
        "round": rounds,
        "seeds": np.full(rounds.shape, float(len(histories))),
        "accuracy": accuracy.mean(axis=0),
        "deviation": accuracy.std(axis=0, ddof=1) if several else np.zeros(rounds.shape),
        **{
            name: np.asarray(registry.epsilon(name, n=n, k=k, eps0=eps0, rounds=rounds, delta=delta))
            for name in names
        },
    }
