"""Renyi DP curves as callables of the order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shuffledp.checks import FloatArray

# Maps an array of whole orders to the Renyi DP parameter at each.
RenyiCurve = Callable[[FloatArray], "float | FloatArray"]


def evaluate(rdp: RenyiCurve, orders: FloatArray) -> FloatArray:
    """Return the curve at ``orders``, and refuse values that no Renyi divergence can take."""
    values = np.broadcast_to(np.asarray(rdp(orders), dtype=np.float64), orders.shape)
    if np.isnan(values).any() or (values < 0).any():
        bad = float(orders[np.nonzero(~(values >= 0))[0][0]])
        raise ValueError(f"rdp must return numbers >= 0, and it does not at order {bad:g}")
    return values


def remembered(rdp: RenyiCurve) -> RenyiCurve:
    """Return a curve that asks ``rdp`` for each whole order once, in runs from order 2 upwards.

    ``wang2019_subsampled`` needs all orders up to some order, again for each of its own orders.
    """
    known = np.empty(0)

    def curve(orders: FloatArray) -> FloatArray:
        nonlocal known
        top = int(np.max(orders))
        if top > known.size + 1:
            new = evaluate(rdp, np.arange(known.size + 2, max(top, 2 * known.size) + 1, dtype=np.float64))
            known = np.concatenate([known, new])
        return known[np.asarray(orders, dtype=np.int64) - 2]

    return curve
