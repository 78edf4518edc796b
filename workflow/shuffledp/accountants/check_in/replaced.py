"""Shuffled check-in of (eps0, delta0)-LDP reports, by eps0-LDP ones that they are near to."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shuffledp import numerics
from shuffledp.accountants.registry import Columns
from shuffledp.checks import FloatArray
from shuffledp.profiles.approximate import moved_check_in


def columns(
    pairs: Callable[[FloatArray, float, float], Columns],
    *,
    n: int,
    rate: float,
    eps0: float,
    delta0: float,
    rounds: FloatArray,
    delta: float,
) -> Columns:
    """Return an upper bound on epsilon of T rounds for every T, whose reports are replaced by eps0-LDP ones.

    Its inequality, delta of the pairs + T (p (1 + e^eps) + q (e^eps - 1 + 2 delta)) <= delta, with p and q of
    ``moved_check_in``, says that delta of the pairs and T (p + q) (1 + e^eps) are at most
    delta + 2 T q (1 - delta) together, which is what ``pairs`` solves.

    Args:
        pairs: function of numbers of rounds, a target and a total variation that returns epsilon of the
            eps0-LDP reports, as ``via_pld.upper_columns`` does.
        n: number of clients.
        rate: probability with which each checks in.
        eps0: local privacy parameter.
        delta0: its failure probability.
        rounds: numbers of rounds.
        delta: target.
    """
    taking_part, away = moved_check_in(n=n, rate=rate, eps0=eps0, delta0=delta0)

    def one(count: float) -> Columns:
        target = delta
        if away > 0:
            target = (delta + 2 * count * away * (1 - delta)) * (1 - 4 * numerics.EPSILON)
        if delta == 0 or target >= 1:
            return {"epsilon": np.full(1, np.inf if count else 0.0), "delta_error": np.zeros(1)}
        return pairs(np.full(1, count), target, taking_part + away)

    found = [one(count) for count in rounds.tolist()]
    return {
        name: np.concatenate([np.empty(0), *(row[name] for row in found)])
        for name in ("epsilon", "delta_error")
    }
