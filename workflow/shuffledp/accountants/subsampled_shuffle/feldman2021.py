"""Amplification by shuffling in closed form (feldman2021), by subsampling, and strong composition."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from shuffledp.accountants.registry import Columns
from shuffledp.accountants.subsampled_shuffle.system import register
from shuffledp.approximate_dp.composition import advanced, kairouz2015, remaining_delta, subsample
from shuffledp.approximate_dp.feldman2021 import feldman2021
from shuffledp.checks import FloatArray

_GRID = 401
_ZOOMS = 5
_LARGEST_LOGIT = 32.0  # the share then differs from 1 by 1e-14


def _without_amplification(n: int, k: int, eps0: float) -> float:
    """Return epsilon of one round without amplification by shuffling: eps0-DP, subsampled."""
    return float(subsample(eps=eps0, delta=0.0, gamma=k / n).eps)


def _at_share(
    share: FloatArray, n: int, k: int, eps0: float, rounds: FloatArray, delta: float
) -> tuple[FloatArray, FloatArray]:
    """Return epsilon of T rounds and delta of one shuffle, if the shuffles use ``share`` of delta."""
    sampled_delta = -np.expm1(share * np.log1p(-delta) / rounds)
    shuffle_delta = sampled_delta * (n / k)
    usable = (shuffle_delta > 0) & (shuffle_delta < 1)  # for very many rounds it is below the least double
    shuffled = feldman2021(n=k, eps0=eps0, delta=np.where(usable, shuffle_delta, 0.5))
    sampled = subsample(eps=shuffled.eps, delta=0.0, gamma=k / n)
    epsilon = kairouz2015(eps=sampled.eps, delta=sampled_delta, rounds=rounds, total_delta=delta)
    return np.where(usable & shuffled.applicable, epsilon, np.inf), shuffle_delta


def _best_split(
    n: int, k: int, eps0: float, rounds: FloatArray, delta: float
) -> tuple[FloatArray, FloatArray]:
    """Minimise epsilon over the split of delta, on a grid of shares that zooms in on the best.

    The closed form holds for deltas of one shuffle above 4 exp(-k e^-eps0 / 16), hence above some share.
    """
    every = np.arange(rounds.size)
    least_delta = 4 * math.exp(-k * math.exp(-eps0) / 16) * (1 + 1e-9)
    if least_delta * (k / n) >= 1:
        return np.full(rounds.size, np.inf), np.zeros(rounds.size)
    allowed = -math.log1p(-delta)
    # capped before the division, which overflows where the rounds need far more than delta allows
    share = np.minimum(rounds * -math.log1p(-least_delta * (k / n)), allowed) / allowed
    low = np.maximum(special.logit(share), -_LARGEST_LOGIT)
    low, high = np.minimum(low, _LARGEST_LOGIT), np.full(rounds.size, _LARGEST_LOGIT)
    for _ in range(_ZOOMS):
        logit = np.linspace(low, high, _GRID, axis=1)
        epsilon, shuffle_delta = _at_share(special.expit(logit), n, k, eps0, rounds[:, None], delta)
        best = np.argmin(epsilon, axis=1)
        low, high = logit[every, np.maximum(best - 1, 0)], logit[every, np.minimum(best + 1, _GRID - 1)]
    return epsilon[every, best], shuffle_delta[every, best]


def columns(n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    """Return an upper bound on epsilon of T subsampled shuffles for every T, by the closed form at the best
    split of delta."""
    plain = _no_amplification(n=n, k=k, eps0=eps0, rounds=rounds, delta=delta)["epsilon"]
    epsilon, shuffle_delta = np.full(rounds.shape, np.inf), np.zeros(rounds.shape)
    some = rounds > 0
    if some.any():
        epsilon[some], shuffle_delta[some] = _best_split(n, k, eps0, rounds[some], delta)
    amplified = epsilon < plain
    shuffle_delta = np.where(amplified, shuffle_delta, 0.0)
    left = remaining_delta(delta=shuffle_delta * (k / n), rounds=rounds, total_delta=delta)
    return {
        "epsilon": np.minimum(epsilon, plain),
        "amplified": amplified.astype(np.float64),
        "shuffle_delta": shuffle_delta,
        "composition_delta": np.asarray(left),
    }


@register(
    name="feldman2021-strong",
    citation="feldman2021, ullman2017, kairouz2015",
    theorem="Theorem 3.1 of feldman2021, Theorem 3.4 of kairouz2015",
    kind="upper",
    label="feldman2021 + subsampling + strong composition",
    needs=("eps0-LDP",),
    note=(
        "The split of delta between the rounds and their composition is optimised and reported; where the "
        "condition of the closed form fails for every split, shuffling does not amplify."
    ),
)
def _strong(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return columns(n, k, eps0, rounds, delta)


@register(
    name="feldman2021-strong-noamp",
    citation="feldman2021, ullman2017, kairouz2015",
    theorem="Theorem 3.4 of kairouz2015",
    kind="upper",
    label="no amplification by shuffling + strong composition",
    needs=("eps0-LDP",),
    note=(
        "This is what girgis2021 plots for feldman2021 where its condition fails: a round is eps0-DP, and "
        "the composition has all of delta."
    ),
)
def _no_amplification(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    one = _without_amplification(n, k, eps0)
    return {"epsilon": np.asarray(kairouz2015(eps=one, delta=0.0, rounds=rounds, total_delta=delta))}


@register(
    name="feldman2021-advanced-noamp",
    citation="feldman2021, ullman2017",
    theorem="Theorem III.3 of Dwork, Rothblum and Vadhan (2010)",
    kind="upper",
    label="no amplification by shuffling + advanced composition",
    needs=("eps0-LDP",),
    note="As feldman2021-strong-noamp, with T eps (e^eps - 1) as linear term, the older composition theorem.",
)
def _advanced(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    one = _without_amplification(n, k, eps0)
    return {"epsilon": np.asarray(advanced(eps=one, delta=0.0, rounds=rounds, total_delta=delta))}
