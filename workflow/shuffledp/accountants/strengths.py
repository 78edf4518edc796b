"""Accountants of balle2020: each of its bounds is evaluated in three strengths, one accountant for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shuffledp.accountants.registry import Columns, register
from shuffledp.checkin import balle2020
from shuffledp.checks import FloatArray

# By protocol, the theorem and the bound. They stand here and not beside their protocols, since the digest of
# a curve is that of the module which computes it.
BOUNDS: dict[str, tuple[str, Callable[..., float]]] = {
    "fixed-window": ("Theorem 3.2 (A.4)", balle2020.fixed_window),
    "sliding-window": ("Theorem 4.3 (A.4)", balle2020.sliding_window),
    "averaged-window": ("Theorem 4.1 (A.5, A.6)", balle2020.averaging),
    "shuffle": ("Theorem 5.1 (A.7)", balle2020.shuffling),
}

# By strength of balle2020: citation, words of the label, note.
STRENGTHS = {
    "closed_form": (
        "balle2020",
        "as printed",
        "The closed form; several rounds by the lemma behind it (A.2).",
    ),
    "sum": (
        "balle2020",
        "exact sum",
        "The sum that the proof starts from (equation 2), over epsilon of each slot.",
    ),
    "numerical": (
        "balle2020, kairouz2015",
        "numerical",
        "Randomised responses with epsilon of each slot, composed.",
    ),
}


def register_strengths(protocol: str, *, closed_form: str, sum: str, numerical: str) -> None:
    """Register the three strengths of a protocol's bound, of eps0-LDP reports.

    Args:
        protocol: a key of ``BOUNDS``.
        closed_form: name of the accountant of this strength.
        sum: name of the accountant of this strength.
        numerical: name of the accountant of this strength.
    """
    theorem, bound = BOUNDS[protocol]
    names = {"closed_form": closed_form, "sum": sum, "numerical": numerical}
    for strength, (citation, words, note) in STRENGTHS.items():

        def compute(*, rounds: FloatArray, delta: float, strength: str = strength, **setting: Any) -> Columns:
            found = [
                bound(**setting, delta=delta, rounds=int(count), strength=strength) if count else 0.0
                for count in rounds.tolist()
            ]
            return {"epsilon": np.array(found, dtype=np.float64)}

        register(
            name=names[strength],
            citation=citation,
            theorem=theorem,
            kind="upper",
            label=f"balle2020, {words}",
            needs=("eps0-LDP",),
            note=note,
            protocol=protocol,
        )(compute)
