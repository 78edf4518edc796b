"""Renyi DP curves as callables of the order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shuffledp.checks import FloatArray

# Maps an array of whole orders to the Renyi DP parameter at each.
RenyiCurve = Callable[[FloatArray], "float | FloatArray"]


def evaluate(rdp: RenyiCurve, orders: FloatArray) -> FloatArray:
    """Return the curve at ``orders``, and refuse values that no Renyi divergence can take.

    Args:
        rdp: the curve.
        orders: numbers > 1, one-dimensional.

    Raises:
        ValueError: ``rdp`` is no function, or returns nan or a negative number.
    """
    if not callable(rdp):
        raise ValueError(
            f"rdp must be a function that maps an array of orders to Renyi DP parameters, got {rdp!r}; for "
            "one parameter at every order write lambda order: 0 * order + value"
        )
    values = np.broadcast_to(np.asarray(rdp(orders), dtype=np.float64), orders.shape)
    if np.isnan(values).any() or (values < 0).any():
        bad = float(orders[np.nonzero(~(values >= 0))[0][0]])
        raise ValueError(f"rdp must return numbers >= 0, and it does not at order {bad:g}")
    return values


def remembered(rdp: RenyiCurve) -> RenyiCurve:
    """Return a curve with the values of ``rdp`` that evaluates it at each order only once.

    ``wang2019_subsampled`` needs it: it evaluates a curve at many smaller orders, the same ones in each call.
    """
    known, values = np.empty(0), np.empty(0)

    def curve(orders: FloatArray) -> FloatArray:
        nonlocal known, values
        new = np.setdiff1d(orders, known)
        if new.size:
            place = np.searchsorted(known, new)
            known, values = np.insert(known, place, new), np.insert(values, place, evaluate(rdp, new))
        return values[np.searchsorted(known, orders)]

    return curve
