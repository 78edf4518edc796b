"""Amplification by shuffling computed numerically (feldman2021), by subsampling, and strong composition.

Figures 3 and 6 of girgis2021 compare with it as "the privacy amplification by shuffling numerically".
"""

from __future__ import annotations

import functools

import numpy as np

from shuffledp import numerics
from shuffledp.accountants import via_pld
from shuffledp.accountants.registry import Columns
from shuffledp.accountants.subsampled_shuffle.system import register
from shuffledp.approximate_dp.composition import kairouz2015, remaining_delta, subsample
from shuffledp.checks import FloatArray
from shuffledp.profiles.clones import clones
from shuffledp.profiles.inversion import to_epsilon
from shuffledp.profiles.subsampling import Profile

_SHARES = (1e-4, 0.999)  # least and largest share of what delta allows that the shuffles may use
_PER_DECADE = 32


def _profile(k: int, eps0: float) -> Profile:
    """Return the privacy profile of one shuffle of k reports."""
    return functools.partial(clones, n=k, eps0=eps0, analysis="feldman2021")


@functools.lru_cache(maxsize=16)
def _table(k: int, eps0: float) -> dict[int, float]:
    """Return a table, empty at first, of epsilon of one shuffle by the exponent of its delta."""
    return {}


def _shuffle_epsilon(k: int, eps0: float, exponents: list[int]) -> FloatArray:
    """Return epsilon of one shuffle of k reports at delta = 10^(exponent / _PER_DECADE), rounded up."""
    known = _table(k, eps0)
    missing = [exponent for exponent in exponents if exponent not in known]
    if missing:
        found = to_epsilon(_profile(k, eps0), delta=_delta(np.array(missing)), largest=eps0)
        known.update(zip(missing, np.asarray(found).tolist(), strict=True))
    return np.array([known[exponent] for exponent in exponents])


def _delta(exponents: FloatArray) -> FloatArray:
    return np.minimum(10.0 ** (exponents / _PER_DECADE), 0.5)


@register(
    name="feldman2021-numerical-strong",
    citation="feldman2021, ullman2017, kairouz2015",
    theorem="Theorem 3.1 of feldman2021, numerically; Theorem 3.4 of kairouz2015",
    kind="upper",
    label="feldman2021, numerical + subsampling + strong composition",
    needs=("eps0-LDP",),
    note=(
        "One shuffle by the privacy profile of its clones, subsampled, composed; the split of delta between "
        "the rounds and their composition is the best of 32 values a decade, and reported. A single round "
        "has all of delta, as nothing is composed."
    ),
)
def _strong(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    if eps0 > via_pld.LARGEST_EPS0:
        nothing = np.zeros(rounds.shape)
        return {"epsilon": nothing + np.inf, "shuffle_delta": nothing, "composition_delta": nothing}
    counts = np.maximum(rounds, 1.0)[:, None]
    # delta of one shuffle if the rounds used all of delta; powers of ten, so that no T depends on another
    usable = -np.log1p(-delta) * (n / k) / counts
    low, high = _SHARES[0] * usable, np.minimum(_SHARES[1] * usable, 0.5)
    exponents = np.arange(
        np.floor(_PER_DECADE * np.log10(low.min(initial=0.5))),
        np.ceil(_PER_DECADE * np.log10(high.max(initial=0.0) + 1e-300)) + 1,
    )
    shuffle_delta = _delta(exponents)
    alone = _shuffle_epsilon(k, eps0, exponents.astype(int).tolist())
    sampled = subsample(eps=alone, delta=shuffle_delta, gamma=k / n)
    composed = kairouz2015(eps=sampled.eps, delta=sampled.delta, rounds=rounds[:, None], total_delta=delta)
    epsilon = np.where((shuffle_delta >= low) & (shuffle_delta <= high), composed, np.inf)
    best = np.argmin(epsilon, axis=1) if exponents.size else np.zeros(0, dtype=np.int64)
    chosen = np.asarray(sampled.delta)[best]
    found = {
        "epsilon": np.where(rounds > 0, epsilon[np.arange(rounds.size), best], 0.0),
        "shuffle_delta": shuffle_delta[best],
        "composition_delta": np.asarray(remaining_delta(delta=chosen, rounds=rounds, total_delta=delta)),
    }
    single = rounds == 1
    if single.any():
        row = {name: np.asarray(value) for name, value in _one_round(n, k, eps0, delta).items()}
        found = {name: np.where(single, row[name], column) for name, column in found.items()}
    return found


def _one_round(n: int, k: int, eps0: float, delta: float) -> dict[str, float]:
    """Return the columns of a single round, which has all of delta, since nothing is composed."""
    shuffle_delta = min(delta * (n / k) * (1 - 4 * numerics.EPSILON), 0.5)
    alone = to_epsilon(_profile(k, eps0), delta=shuffle_delta, largest=eps0)
    one = subsample(eps=alone, delta=shuffle_delta, gamma=k / n)
    return {"epsilon": float(one.eps), "shuffle_delta": shuffle_delta, "composition_delta": 0.0}
