"""Averaged slots: the server averages over all clients who picked a slot, so that their number counts."""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks
from shuffledp.checkin.balle2020.strengths import (
    LARGEST_EPS0,
    OUTWARD,
    block_length,
    capped_expm1,
    checked,
    closed_form,
    composed,
    outward_log1p,
    pure,
)
from shuffledp.checks import FloatArray

_SHARES = np.geomspace(1e-6, 0.999999, 97)  # shares of delta that are tried for the loads; the best counts
_TOLERANCE = 1e-15  # of a rate
_MOST_LEVELS = 400  # of loads that are told apart


def bins_epsilons(*, loads: ArrayLike, eps0: float) -> FloatArray:
    """Return epsilon of each slot whose reports are averaged (proof of Theorem A.5).

    eps_i = log(1 + e^(2 eps0) (e^eps0 - 1) l_i/n), n the sum of the loads l_i.

    Args:
        loads: clients in each slot, whole numbers >= 0, one-dimensional, not all 0.
        eps0: local privacy parameter, >= 0.

    Returns:
        Of the shape of ``loads``; at most eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    values, eps0 = checks.counts("loads", loads), checks.eps0(eps0)
    if values.ndim != 1 or not values.sum() > 0:
        raise ValueError(f"loads must be one-dimensional and not all 0, got {loads!r}")
    share = math.exp(min(2 * eps0, 600.0)) * capped_expm1(min(eps0, 300.0)) * (values / values.sum())
    return np.minimum(outward_log1p(share), eps0)


def bins(*, loads: ArrayLike, eps0: float, delta: float, strength: str = "closed_form") -> float:
    """Return epsilon of averages over bins of known sizes: Theorem A.5.

    Args:
        loads: clients in each slot, whole numbers >= 0, one-dimensional.
        eps0: local privacy parameter, >= 0.
        delta: target, in (0, 1).
        strength: "closed_form", "sum" or "numerical".

    Returns:
        An upper bound, at most eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    epsilons = bins_epsilons(loads=loads, eps0=eps0)
    _, eps0, delta, strength = checked(1, eps0, delta, strength)
    values = np.asarray(loads, dtype=np.float64)
    if eps0 > LARGEST_EPS0:
        return eps0
    if strength == "closed_form":
        norm = float(np.linalg.norm(values)) / float(values.sum())
        return closed_form(math.exp(2 * eps0) * math.expm1(eps0) * norm, eps0, delta, 1)
    return composed(epsilons, eps0, delta, strength, 1)


def load_norm(*, n: int, slots: int, delta: float) -> float:
    """Return what the l_2 norm of the slots' loads stays below with probability 1 - delta: Lemma A.6.

    sqrt(n + n^2/m) + sqrt(n log(1/delta)).

    Args:
        n: clients, each in one of the slots.
        slots: m, their number.
        delta: in (0, 1).

    Raises:
        ValueError: an argument is out of range.
    """
    n, slots, delta = checks.count("n", n), checks.count("slots", slots), checks.probability("delta", delta)
    return math.sqrt(n + n**2 / slots) + math.sqrt(n * -math.log(delta))


def averaging(
    *, n: int, slots: int, eps0: float, delta: float, strength: str = "closed_form", rounds: int = 1
) -> float:
    """Return epsilon of check-ins whose slots are averaged: Theorem 4.1.

    The loads are random; a part of delta, the best of a grid, covers those that are worse than the bound
    accounts for.

    Args:
        n: clients.
        slots: m, their number.
        eps0: local privacy parameter, >= 0.
        delta: target in all, in (0, 1).
        strength: "closed_form": Theorem A.5 at the norm of Lemma A.6; "sum": the sum of equation (2) at the
            worst loads of that norm, which are equal ones, since both of its terms are concave in the squares
            of the loads; "numerical": composition at loads that dominate the true ones: for every t, at most
            so many slots hold t clients or more as Chernoff's bound allows (it holds for loads, which are
            negatively associated).
        rounds: how often the whole protocol is run; each run may have worse loads with its share of delta.

    Returns:
        An upper bound, at most rounds * eps0.

    Raises:
        ValueError: an argument is out of range.
    """
    n = checks.count("n", n)
    slots, eps0, delta, strength = checked(slots, eps0, delta, strength)
    rounds = checks.count("rounds", rounds)
    best = pure(eps0, rounds)
    if eps0 > LARGEST_EPS0:
        return best
    if strength == "numerical":
        return min(_averaged_numerically(n, slots, eps0, delta, share, rounds) for share in (0.5, 0.1, 0.02))
    for share in _SHARES:
        norm = load_norm(n=n, slots=slots, delta=share * delta / rounds)
        rest = (1 - share) * delta
        if strength == "closed_form":
            grown = math.exp(2 * eps0) * math.expm1(eps0) * norm / n
            best = min(best, closed_form(grown, eps0, rest, rounds))
        else:
            equal = math.exp(2 * eps0) * math.expm1(eps0) * norm / math.sqrt(slots) / n
            each = min(math.log1p(equal) * OUTWARD, eps0)
            steps = rounds * slots
            found = steps * each * math.tanh(each / 2) + each * math.sqrt(2 * steps * -math.log(rest))
            best = min(best, found * OUTWARD)
    return best


def _averaged_numerically(n: int, slots: int, eps0: float, delta: float, share: float, rounds: int) -> float:
    """Return epsilon at loads that the true ones exceed with probability share * delta in all runs."""
    loads, counts = dominating_loads(n=n, slots=slots, delta=share * delta / rounds)
    growth = math.exp(2 * eps0) * math.expm1(eps0) / n
    length = block_length(slots)
    repeats = np.ceil(counts / length).astype(np.int64)
    epsilons = np.repeat(np.minimum(outward_log1p(growth * loads), eps0), repeats)
    return composed(epsilons, eps0, (1 - share) * delta, "numerical", rounds, length)


def dominating_loads(*, n: int, slots: int, delta: float) -> tuple[FloatArray, FloatArray]:
    """Return loads, and numbers of slots with them, that exceed the true loads but for probability delta.

    For every t the number of slots with t clients or more is at most what Chernoff's bound gives for m
    independent events of the binomial probability of t, at delta divided by the number of t.

    Args:
        n: clients, each in one of the slots.
        slots: m, their number.
        delta: in (0, 1).

    Raises:
        ValueError: an argument is out of range.
    """
    n, slots, delta = checks.count("n", n), checks.count("slots", slots), checks.probability("delta", delta)
    mean = n / slots
    reach = math.log(2 * slots * (n + 1)) - math.log(delta)
    highest = min(n, math.ceil(mean + math.sqrt(2 * mean * reach) + reach))
    lowest = max(0, math.floor(mean - math.sqrt(2 * mean * reach)))
    size = highest - lowest
    levels = lowest + 1 + np.unique(np.linspace(0, size - 1, min(size, _MOST_LEVELS)).round())
    probabilities = special.betainc(levels, n - levels + 1, 1 / slots)
    allowed = np.array([_chernoff_quantile(slots, float(p), delta / levels.size) for p in probabilities])
    allowed = np.minimum.accumulate(allowed)
    # a slot below a level is counted at the level's lower end, that is the level before it less one client
    beyond = np.append(allowed, 0.0)
    tops = np.append(levels - 1, float(highest if allowed[-1] == 0 else n))
    return tops, np.append(slots - beyond[0], beyond[:-1] - beyond[1:])


def _chernoff_quantile(trials: int, probability: float, delta: float) -> float:
    """Return what the successes of so many trials exceed with probability delta at most, by Chernoff."""
    if probability >= 1:
        return float(trials)
    target = -math.log(delta) / trials

    def excess(rate: float) -> float:
        return (
            float(special.rel_entr(rate, probability) + special.rel_entr(1 - rate, 1 - probability)) - target
        )

    if trials * probability == 0:
        return 0.0
    if excess(1.0) <= 0:
        return float(trials)
    # a rate of 1e-15 is found from 1 in more steps than usual, and known to the tolerance
    rate = float(scipy.optimize.brentq(excess, probability, 1.0, xtol=_TOLERANCE, maxiter=1000))
    return float(min(math.floor(trials * rate + max(1e-6, 2 * _TOLERANCE * trials)), trials))
