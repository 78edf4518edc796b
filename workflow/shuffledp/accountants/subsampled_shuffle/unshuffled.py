"""The accountant of reports that nobody shuffles: the privacy that remains without a shuffler."""

from __future__ import annotations

import numpy as np

from shuffledp.accountants.registry import Columns
from shuffledp.accountants.subsampled_shuffle.system import register
from shuffledp.approximate_dp.composition import kairouz2015, subsample
from shuffledp.checks import FloatArray


@register(
    name="unshuffled-strong",
    citation="ullman2017, kairouz2015",
    theorem="Theorem 3.3 of kairouz2015",
    kind="upper",
    label="subsampling + optimal composition, no shuffler",
    needs=("eps0-LDP",),
    note=(
        "The reports of a secret sample without a shuffler: eps0-DP, subsampled, and composed by the "
        "optimal composition theorem. The reference for what shuffling buys."
    ),
)
def _strong(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    one = subsample(eps=eps0, delta=0.0, gamma=k / n).eps
    return {
        "epsilon": np.asarray(
            kairouz2015(eps=one, delta=0.0, rounds=rounds, total_delta=delta, method="optimal")
        )
    }
