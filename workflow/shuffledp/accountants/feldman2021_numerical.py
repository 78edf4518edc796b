"""Amplification by shuffling computed numerically (feldman2021), by subsampling, and strong composition.

What girgis2021 compares with in its figures 3 and 6: "the privacy amplification by shuffling numerically".
"""

from __future__ import annotations

import numpy as np

from shuffledp import numerics
from shuffledp.accountants.registry import Columns, register
from shuffledp.checks import FloatArray
from shuffledp.composition import kairouz2015, remaining_delta, subsample
from shuffledp.profiles.clones import clones

_SHARES = (1e-4, 0.999)  # of what delta allows in total, that the rounds may use
_PER_DECADE = 8


def _shuffle_epsilon(k: int, eps0: float, deltas: FloatArray) -> FloatArray:
    """Epsilon of one shuffle of k reports at each delta, rounded up."""

    def too_much(eps: FloatArray) -> FloatArray:
        return np.asarray(clones(eps, n=k, eps0=eps0, analysis="feldman2021")) > deltas

    return numerics.last_true(too_much, np.zeros(deltas.shape), np.full(deltas.shape, eps0))


@register(
    name="feldman2021-numerical-strong",
    citation="feldman2021, ullman2017, kairouz2015",
    theorem="Theorem 3.1 of feldman2021, numerically; Theorem 3.4 of kairouz2015",
    kind="upper",
    label="feldman2021, numerical + subsampling + strong composition",
    needs=("eps0-LDP",),
    note=(
        "One shuffle by the privacy profile of its clones, subsampled, composed; the split of delta between "
        "the rounds and their composition is the best of eight values a decade, and reported."
    ),
)
def _strong(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    counts = np.maximum(rounds, 1.0)
    usable = -np.log1p(-delta) * (n / k)
    low, high = _SHARES[0] * usable / counts.max(), min(_SHARES[1] * usable / counts.min(), 0.5)
    points = max(int(_PER_DECADE * np.log10(high / low)), 0) + 2
    shuffle_delta = np.geomspace(low, high, points)
    sampled = subsample(eps=_shuffle_epsilon(k, eps0, shuffle_delta), delta=shuffle_delta, gamma=k / n)
    epsilon = np.asarray(
        kairouz2015(eps=sampled.eps, delta=sampled.delta, rounds=rounds[:, None], total_delta=delta)
    )
    best = np.argmin(epsilon, axis=1)
    chosen = np.asarray(sampled.delta)[best]
    return {
        "epsilon": epsilon[np.arange(rounds.size), best],
        "shuffle_delta": shuffle_delta[best],
        "composition_delta": np.asarray(remaining_delta(delta=chosen, rounds=rounds, total_delta=delta)),
    }
