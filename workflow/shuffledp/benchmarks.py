"""How long the accountants take: a curve of 100 values of T, and the growth with the order and with k."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from shuffledp import accountants, rdp

_REPEATS = 5


def _seconds(run: Callable[[], object]) -> float:
    """Return the median over repeats, after one run that warms up."""
    run()
    times = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def time_accountants() -> pd.DataFrame:
    """Time every accountant and the bounds behind them.

    Returns:
        Columns: measured (curve, order or k), name, at (k for curves, else the order or k), seconds, and
        ratio, the seconds over those of the first row of the same measurement and name.
    """
    rounds = np.unique(np.geomspace(10, 1e5, 100).round())
    rows = []
    for name in accountants.names():
        for k in (1e3, 1e4):
            seconds = _seconds(
                lambda name=name, k=k: accountants.epsilon(
                    name, n=1000 * k, k=k, eps0=2, rounds=rounds, delta=1e-8
                )
            )
            rows.append(("curve", name, k, seconds))
    for order in 10.0 ** np.arange(2, 7):
        for bound in (rdp.girgis2021_upper, rdp.girgis2021_lower):
            seconds = _seconds(lambda bound=bound, order=order: bound(order, n=1e6, k=1e3, eps0=2))
            rows.append(("order", bound.__name__, order, seconds))
    for k in 10.0 ** np.arange(3, 10):
        for bound in (rdp.girgis2021_upper, rdp.girgis2021_lower):
            seconds = _seconds(lambda bound=bound, k=k: bound(100, n=1000 * k, k=k, eps0=2))
            rows.append(("k", bound.__name__, k, seconds))
    table = pd.DataFrame(rows, columns=["measured", "name", "at", "seconds"])
    first = table.groupby(["measured", "name"], sort=False)["seconds"].transform("first")
    return table.assign(ratio=table["seconds"] / first)
