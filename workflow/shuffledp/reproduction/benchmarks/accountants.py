"""Timings of the accountants: over T, the order and k, and compared with plain enumeration."""

from __future__ import annotations

import functools
import importlib.util
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shuffledp import accountants, profiles, rdp
from shuffledp.pld.outcomes import dominating
from shuffledp.profiles.clones import clones_pair
from shuffledp.profiles.enumeration import enumerated_clones
from shuffledp.reproduction.benchmarks import peers

_REPEATS = 5
_EPS0, _DELTA, _SAMPLED, _ROUNDS = 2.0, 1e-8, 1e-3, 1e5
_LARGEST_ENUMERATED = 1e5

_LARGEST_OF_SCRIPT = 1e6  # clients: beyond, it takes many seconds

_SIGMA, _GAUSSIAN_DELTA = 2.0, 1e-6
_LARGEST_OF_PEER = 1e2  # clients: beyond, the other package takes minutes
_PEER = "PLD_accounting"


def _seconds(run: Callable[[], object]) -> float:
    """Return the median time over repeats, after one run that warms up."""
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
        Columns: measured (curve, order or k), name, at (k for curves, otherwise the order or k), seconds, and
        ratio: the seconds over those of the first row of the same measurement and name.
    """
    rounds = np.unique(np.geomspace(10, 1e5, 100).round())
    rows = []
    for name in accountants.names():
        for k in (1e3, 1e4):
            setting: dict[str, Any] = {"n": 1000 * k, "k": k, "eps0": 2, "rounds": rounds, "delta": 1e-8}
            seconds = _seconds(functools.partial(accountants.epsilon, name, **setting))
            rows.append(("curve", name, k, seconds))
    for order in 10.0 ** np.arange(2, 7):
        for bound in (rdp.girgis2021_upper, rdp.girgis2021_lower):
            seconds = _seconds(functools.partial(bound, order, n=10**6, k=1000, eps0=2))
            rows.append(("order", bound.__name__, order, seconds))
    for k in 10.0 ** np.arange(3, 10):
        for bound in (rdp.girgis2021_upper, rdp.girgis2021_lower):
            seconds = _seconds(functools.partial(bound, 100, n=1000 * int(k), k=int(k), eps0=2))
            rows.append(("k", bound.__name__, k, seconds))
    table = pd.DataFrame(rows, columns=["measured", "name", "at", "seconds"])
    first = table.groupby(["measured", "name"], sort=False)["seconds"].transform("first")
    return table.assign(ratio=table["seconds"] / first)


def _enumerated_epsilon(k: float) -> float:
    """Return epsilon of one round from all outcomes, whose listing takes longer than the search in them."""
    outcomes = dominating(enumerated_clones(n=int(k), eps0=_EPS0, tau=1e-12), gamma=1.0)
    order = np.argsort(outcomes.loss)
    mass, loss = outcomes.mass[order], outcomes.loss[order]

    def profile(eps: np.ndarray) -> np.ndarray:
        return np.array([mass @ np.maximum(-np.expm1(one - loss), 0.0) for one in eps])

    return float(profiles.to_epsilon(profile, delta=_DELTA, largest=_EPS0))


def _one_round(k: float) -> float:
    return float(
        profiles.to_epsilon(
            functools.partial(profiles.clones, n=int(k), eps0=_EPS0), delta=_DELTA, largest=_EPS0
        )
    )


def _composed(k: float, rounds: ArrayLike) -> object:
    return accountants.epsilon("clones-pld", n=k / _SAMPLED, k=k, eps0=_EPS0, rounds=rounds, delta=_DELTA)


def _cold(run: Callable[[], object]) -> Callable[[], object]:
    """Return a function that runs another one after clearing the cached pairs."""

    def fresh() -> object:
        clones_pair.cache_clear()
        return run()

    return fresh


def time_numerical_accounting() -> pd.DataFrame:
    """Time numerical accounting of the clones pair: one round, many rounds, and a curve.

    Returns:
        Columns: measured, at (the number k of reports), seconds, ratio and against; the ratio is the seconds
        over those of ``against`` at the same k. The last row, "peak memory", has megabytes in place of
        seconds.
    """
    rows: list[tuple[str, float, float, float, str]] = []
    for k in 10.0 ** np.arange(3, 10):
        one = _seconds(_cold(functools.partial(_one_round, k)))
        if k <= _LARGEST_ENUMERATED:
            plain = _seconds(functools.partial(_enumerated_epsilon, k))
            rows.append(("one round, every outcome", k, plain, plain / one, "one round"))
        rows.append(("one round", k, one, 1.0, "one round"))
    curve = np.unique(np.geomspace(10, _ROUNDS, 50).round())
    for k in 10.0 ** np.arange(3, 10):
        warm = _seconds(functools.partial(_composed, k, _ROUNDS))
        cold = _seconds(_cold(functools.partial(_composed, k, _ROUNDS)))
        whole = _seconds(functools.partial(_composed, k, curve))
        rows.append(("1e5 rounds", k, warm, 1.0, "1e5 rounds"))
        rows.append(("1e5 rounds, nothing kept", k, cold, cold / warm, "1e5 rounds"))
        rows.append(("curve of 50 values of T", k, whole, whole / warm, "1e5 rounds"))
    unit = 2**20 if sys.platform == "darwin" else 2**10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    rows.append(("peak memory", np.nan, peak, np.nan, ""))
    return pd.DataFrame(rows, columns=["measured", "at", "seconds", "ratio", "against"])


def time_one_round() -> pd.DataFrame:
    """Time epsilon of one round of all clients, in pairs with the script of the authors of feldman2021.

    Returns:
        Columns: measured (here or script), n, seconds, epsilon, and ratio: the median over pairs of the
        script's seconds over ours. Without the script, and where it takes too long, there are only our rows.
    """
    path = peers.script()
    theirs = peers.one_round(path) if path else None
    rows: list[tuple[str, float, float, float, float]] = []
    for n in 10.0 ** np.arange(3, 13):
        setting: dict[str, Any] = {"n": int(n), "eps0": _EPS0, "delta": _DELTA}
        found: dict[str, float] = {}

        def ours(setting: dict[str, Any] = setting, found: dict[str, float] = found) -> None:
            found["here"] = float(accountants.epsilon("shuffle-clones", rounds=1, **setting))

        def script(setting: dict[str, Any] = setting, found: dict[str, float] = found) -> None:
            assert theirs is not None  # it is called only if there is a script
            found["script"] = theirs(**setting)

        measured = {"here": _cold(ours)}
        if theirs and n <= _LARGEST_OF_SCRIPT:
            measured["script"] = script
        seconds = _in_turn(measured)
        for name, taken in seconds.items():
            ratio = float(np.median(taken / seconds["here"]))
            rows.append((name, n, float(np.median(taken)), found[name], ratio))
    return pd.DataFrame(rows, columns=["measured", "n", "seconds", "epsilon", "ratio"])


def _in_turn(runs: dict[str, Callable[[], object]]) -> dict[str, np.ndarray]:
    """Return the seconds of each run, measured in turn so that the machine's load is the same for all."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(_REPEATS):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {name: np.array(taken) for name, taken in times.items()}


def _timed_once(run: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """Return the seconds of one run, and by how much its upper bound exceeds its lower one, relatively."""
    start = time.perf_counter()
    lower, upper = run()
    return time.perf_counter() - start, upper / lower - 1


def _pair_bounds(n: int) -> tuple[float, float]:
    lower, upper = (
        profiles.shuffled_gaussian_epsilon(_GAUSSIAN_DELTA, n=n, sigma=_SIGMA, bound=bound)
        for bound in ("lower", "upper")
    )
    return lower, upper


def _peer_bounds(n: int) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that numba is missing
        package = importlib.import_module(_PEER)
        upper, lower = package.gaussian_allocation_epsilon_range(
            delta=_GAUSSIAN_DELTA, sigma=_SIGMA, num_steps=n
        )
    return lower, upper


def time_shuffled_gaussian() -> pd.DataFrame:
    """Time the bracket of epsilon for the shuffled Gaussian, and the package pld-accounting if installed.

    Returns:
        Columns: measured (here or pld-accounting), n, seconds, width (upper over lower bound, minus 1), and
        ratio: the other package's seconds over ours at the same n.
    """
    _pair_bounds(2)  # warms up
    rows: list[tuple[str, int, float, float, float]] = []
    for n in (7, 100, 1000, 10**4, 10**5, 10**6):
        ours, width = _timed_once(functools.partial(_pair_bounds, n))
        rows.append(("here", n, ours, width, 1.0))
        if n <= _LARGEST_OF_PEER and importlib.util.find_spec(_PEER):
            theirs, width = _timed_once(functools.partial(_peer_bounds, n))
            rows.append(("pld-accounting", n, theirs, width, theirs / ours))
    return pd.DataFrame(rows, columns=["measured", "n", "seconds", "width", "ratio"])
