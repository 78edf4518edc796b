"""Shuffled check-in of (eps0, delta0)-LDP reports, by eps0-LDP ones that they are near to."""

from __future__ import annotations

import numpy as np

from shuffledp import numerics
from shuffledp.accountants import via_kinds
from shuffledp.accountants.registry import Columns
from shuffledp.checks import FloatArray
from shuffledp.profiles.approximate import moved_check_in


def columns(
    n: int,
    rate: float,
    eps0: float,
    delta0: float,
    rounds: FloatArray,
    delta: float,
    *,
    tv: float | None = None,
) -> Columns:
    """Return an upper bound on epsilon of T rounds for every T, whose reports are replaced by eps0-LDP ones.

    Their total variation is at most that of the reports, ``tv``, where it is known (Theorem D with
    delta0 > 0, ``docs/theory/every_randomiser.md``). The inequality, delta of the pairs +
    T (p (1 + e^eps) + q (e^eps - 1 + 2 delta)) <= delta, with p and q of ``moved_check_in``, says that delta
    of the pairs and T (p + q) (1 + e^eps) are at most delta + 2 T q (1 - delta) together, which is what
    ``via_kinds.columns`` solves.
    """
    taking_part, away = moved_check_in(n=n, rate=rate, eps0=eps0, delta0=delta0)

    def one(count: float) -> Columns:
        target = delta
        if away > 0:
            target = (delta + 2 * count * away * (1 - delta)) * (1 - 4 * numerics.EPSILON)
        if delta == 0 or target >= 1:
            return {"epsilon": np.full(1, np.inf if count else 0.0), "delta_error": np.zeros(1)}
        return via_kinds.columns(n, rate, eps0, np.full(1, count), target, tv=tv, moved=taking_part + away)

    found = [one(count) for count in rounds.tolist()]
    return {
        name: np.concatenate([np.empty(0), *(row[name] for row in found)])
        for name in ("epsilon", "delta_error")
    }
