"""Readings of the baseline of girgis2021, whose delta of each shuffle the paper does not state."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import pandas as pd

from shuffledp.approximate_dp.composition import advanced, kairouz2015, subsample
from shuffledp.profiles.clones import clones
from shuffledp.profiles.inversion import to_epsilon
from shuffledp.reproduction.ledger.accuracy_table import Stated, accuracy_at, reaching, share_of_gap, shown
from shuffledp.reproduction.ledger.claims import ALMOST, GAP, number

NEW = "girgis2021-upper"  # Theorem 1, to which the baseline is compared
_FITTED = "fitted"
_FIXED = tuple(10.0**-power for power in range(8, 15))  # deltas of a shuffle that are tried
_NEARLY = 1e-10  # one of them, which is reported: with Theorem 3.4 of kairouz2015 it misses by little
_COMPOSITIONS = {"Theorem 3.4 of kairouz2015": kairouz2015, "advanced composition": advanced}


@functools.lru_cache(maxsize=16)
def _alone(k: int, eps0: float, delta: float) -> float:
    profile = functools.partial(clones, n=k, eps0=eps0, analysis="feldman2021")
    return float(np.asarray(to_epsilon(profile, delta=delta, largest=eps0)))


def with_fixed_delta(
    table: pd.DataFrame, shuffle_delta: float, composition: str, *, part: float = 1.0
) -> pd.DataFrame:
    """Return the table with epsilon of the baseline at a fixed delta of each shuffle, for a part of delta.

    Args:
        table: of accuracy against epsilon.
        shuffle_delta: of each shuffle.
        composition: theorem of composition, a key of ``_COMPOSITIONS``.
        part: share of delta that the rounds together may take.
    """
    n, k = int(table.n.iloc[0]), int(table.k.iloc[0])
    alone = _alone(k, float(table.eps0.iloc[0]), shuffle_delta)
    sampled = subsample(eps=alone, delta=shuffle_delta, gamma=k / n)
    epsilon = _COMPOSITIONS[composition](
        eps=sampled.eps,
        delta=sampled.delta,  # type: ignore[arg-type]
        rounds=table["round"].to_numpy(),
        total_delta=part * float(table.delta.iloc[0]),
    )
    return table.assign(**{_FITTED: epsilon})


class _Reading(NamedTuple):
    """A reading of the baseline: its two numbers of a figure in words, and whether both fit."""

    words: str
    fits: bool


Accuracies = tuple[float, Stated, Stated]  # an epsilon; accuracies by Theorem 1 and the baseline
Epsilons = tuple[Stated, float, float]  # an accuracy, and the epsilons that it takes, likewise


def _read(table: pd.DataFrame, accuracy: Accuracies, epsilon: Epsilons) -> _Reading:
    """Judge a reading of the baseline by the rules of G6b and G7b: the gap to Theorem 1, and epsilon."""
    (at, *stated), (wanted, _, taken) = accuracy, epsilon
    first, second = accuracy_at(table, NEW, at), accuracy_at(table, _FITTED, at)
    reached = reaching(table, _FITTED, wanted)
    off = reached / taken - 1
    if first is None or second is None:
        return _Reading(f"no epoch within {at:g}, epsilon {shown(reached)} ({100 * off:+.1f}%)", fits=False)
    accurate = GAP[0] <= share_of_gap(first, second, *stated) <= GAP[1]
    words = (
        f"a gap of {first[0] - second[0]:+.1f} points ({second[0]:.1f}% at {at:g}) and epsilon "
        f"{shown(reached)} ({100 * off:+.1f}%)"
    )
    return _Reading(words, accurate and abs(off) <= ALMOST)


def fitted(table: pd.DataFrame, accuracy: Accuracies, epsilon: Epsilons) -> str:
    """Return in words which fixed delta of a shuffle gives both of the baseline's numbers of a figure."""
    tried = [
        (f"{number(delta)} with {composition}", with_fixed_delta(table, delta, composition))
        for composition in _COMPOSITIONS
        for delta in _FIXED
    ]
    found = [(name, _read(read, accuracy, epsilon)) for name, read in tried]
    fitting = [f"{name}: {reading.words}" for name, reading in found if reading.fits]
    words = (
        f"of {len(found)} readings with a fixed delta of each shuffle, {number(_FIXED[0])} to "
        f"{number(_FIXED[-1])}, and either composition theorem, {len(fitting) or 'none'} "
        f"{'gives' if len(fitting) < 2 else 'give'} both of the baseline's numbers of this figure by the "
        f'rules "gap" and "epsilon"'
    )
    return f"{words}, {'; '.join(fitting)}" if fitting else words


def nearly(table: pd.DataFrame, accuracy: Accuracies, epsilon: Epsilons) -> str:
    """Return in words the results of a reading that misses epsilon by little, at all and at half of delta."""
    composition = next(iter(_COMPOSITIONS))
    whole, half = (
        _read(with_fixed_delta(table, _NEARLY, composition, part=part), accuracy, epsilon)
        for part in (1.0, 0.5)
    )
    said = "it does" if half.fits else "it does not"
    return (
        f"{number(_NEARLY)} with {composition} {'does' if whole.fits else 'does not'}: {whole.words}, as all "
        f"that the shuffles leave of delta is for their composition; at half of delta {said}: {half.words}"
    )
