"""Epsilon of T rounds by converting a Renyi DP curve, for all accountants that do so."""

from __future__ import annotations

import numpy as np

from shuffledp.accountants.registry import Columns
from shuffledp.checks import FloatArray
from shuffledp.rdp.conversion import to_epsilon
from shuffledp.rdp.curve import RenyiCurve


def columns(rdp: RenyiCurve, *, rounds: FloatArray, delta: float, bound: str = "upper") -> Columns:
    """Return epsilon, its order and whether that order is at an edge of the search, for every T.

    Args:
        rdp: Renyi DP of one round as a function of the order.
        rounds: numbers of rounds.
        delta: target.
        bound: "upper" or "lower", the side to which epsilon is rounded.
    """
    found = to_epsilon(rdp, delta=delta, rounds=rounds, bound=bound)
    return {
        "epsilon": np.asarray(found.value),
        "order": np.asarray(found.order),
        "on_edge": np.asarray(found.on_edge, dtype=np.float64),
    }
