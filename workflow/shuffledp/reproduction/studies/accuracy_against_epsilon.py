"""Accuracy against epsilon: the accuracy of runs after every epoch, and epsilon of the rounds until then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from shuffledp.accountants import registry
from shuffledp.checks import FloatArray
from shuffledp.reproduction.studies.over_seeds import accuracies


def privacy_utility(
    histories: Sequence[pd.DataFrame],
    *,
    names: Sequence[str],
    delta: float,
    rounds_of_one: int = 1,
    **setting: float,
) -> dict[str, FloatArray]:
    """Join the accuracies of several seeds with epsilon by several accountants.

    Args:
        histories: one table for each seed, with the columns epoch, round and test_accuracy, all of the same
            epochs.
        names: of the accountants.
        delta: target.
        rounds_of_one: number of rounds of training that an accountant counts as one, such as those of a
            window; a window that has begun counts as a whole one.
        setting: the variables of their systems, such as n, k and eps0 of the subsampled shuffle; each
            accountant takes its own.

    Returns:
        One row for each epoch, with the columns epoch, round, seeds (their number), accuracy (mean over
        seeds), deviation (standard deviation over seeds, with one degree of freedom less; 0 for one seed),
        and for each accountant, by its name, epsilon after that round, which errs to the side of its kind;
        inf where its theorem has no bound, though the guarantees of single rounds add up to one.

    Raises:
        ValueError: there is no history, the histories differ in their epochs, or an argument is out of range.
    """
    rounds, mean, deviation = accuracies(histories)
    counted = np.ceil(rounds / rounds_of_one)
    return {
        "epoch": histories[0]["epoch"].to_numpy(dtype=np.float64),
        "round": rounds,
        "seeds": np.full(rounds.shape, float(len(histories))),
        "accuracy": mean,
        "deviation": deviation,
        **{name: _epsilon(name, counted, delta, setting) for name in names},
    }


def _epsilon(name: str, rounds: FloatArray, delta: float, setting: Mapping[str, float]) -> FloatArray:
    entry = registry.get(name)
    own = {variable: setting[variable] for variable in entry.system.variables if variable in setting}
    found = entry.details(rounds=rounds, delta=delta, **own)
    # what rounds add up to is no bound of a theorem that has none there
    return np.where(np.isinf(found["theorem_epsilon"]), np.inf, found["epsilon"])
