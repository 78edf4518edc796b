"""Randomisers that may fail: every bound for (eps0, delta0)-LDP reports."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy

from shuffledp import checks, numerics

# Shares of delta that are tried for the composition, from the largest on; the rest pays for a randomiser that
# fails. The first share that leaves enough for that is taken.
_FAILURE_SHARES = np.concatenate([1 - np.geomspace(1e-9, 0.5, 24), np.geomspace(0.3, 1e-6, 12)])


def with_failure(
    bound: Callable[..., float], *, steps: int, eps0: float, delta0: float, delta: float, **setting: object
) -> float:
    """Return epsilon of a bound for (eps0, delta0)-LDP randomisers (Lemma A.3 and Theorems A.4, A.5, A.7).

    The randomiser is within total variation delta1 of one that is 8 eps0-DP, if
    delta0 <= (1 - e^-eps0) delta1/(4 e^eps0 (2 + log(2/delta1)/log(1/(1 - e^(-5 eps0))))). So the bound holds
    at 8 eps0, with delta + steps (e^eps + 1) delta1 in place of its delta.

    Args:
        bound: ``fixed_window``, ``repeated_fixed_window``, ``sliding_window``, ``averaging``, ``bins`` or
            ``shuffling``.
        steps: how many reports are replaced: m times the rounds, n for ``repeated_fixed_window``, or n times
            the rounds for ``shuffling``, ``bins`` and ``averaging`` (the paper prints m there too).
        eps0: local privacy parameter, > 0.
        delta0: its failure probability, in [0, 1).
        delta: target in all, in (0, 1).
        setting: the other arguments of ``bound``.

    Returns:
        An upper bound; inf where delta0 is too large for the target.

    Raises:
        ValueError: an argument is out of range.
    """
    steps, eps0 = checks.count("steps", steps), checks.eps0(eps0)
    delta0 = checks.probability("delta0", delta0, zero=True)
    delta = checks.probability("delta", delta)
    if eps0 == 0:
        raise ValueError("eps0 must be > 0 for the reduction to pure DP, got 0")
    if delta0 == 0:
        return bound(eps0=eps0, delta=delta, **setting)
    delta1 = _total_variation(eps0, delta0)
    if 2 * steps * delta1 > delta:
        return math.inf
    # the larger the share of delta, the smaller epsilon
    for share in _FAILURE_SHARES.tolist():
        found = bound(eps0=8 * eps0, delta=share * delta, **setting)
        if share * delta + steps * (math.exp(min(found, 700.0)) + 1) * delta1 <= delta:
            return found
    return math.inf


def _total_variation(eps0: float, delta0: float) -> float:
    """Return the smallest delta1 for which Lemma A.3 admits this delta0, or inf if there is none below 1."""
    rate = -numerics.log_one_minus_exp(5 * eps0)
    if rate == 0:  # below what doubles hold, as is any delta0 that the lemma takes
        return math.inf

    def allowed(log_delta1: float) -> float:
        growth = 2 + (math.log(2) - log_delta1) / rate
        return -math.expm1(-eps0) * math.exp(log_delta1 - eps0) / (4 * growth) - delta0

    if allowed(0.0) < 0:
        return math.inf
    if allowed(-700.0) >= 0:
        return math.exp(-700.0)
    root = scipy.optimize.brentq(allowed, -700.0, 0.0, xtol=1e-12)
    return math.exp(root + 1e-9)
