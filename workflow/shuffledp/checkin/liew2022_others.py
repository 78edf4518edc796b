"""Bounds on the law of how many other clients report, for Theorem 5 of liew2022.

A bound lists numbers of reports with probabilities. What a round costs falls with the number of others who
report, so that each entry may stand for larger numbers too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from shuffledp import numerics
from shuffledp.checks import FloatArray
from shuffledp.distributions.tilted_binomials import binomial_blocks

# With this width blocks of several values occur only beyond 2222, where moments fall with k at all orders.
_WIDTH = 9e-4
_MOST_LISTED = 2**20  # largest number of reports that Lemma 5 may take one by one
_SHRINK = 0.95  # ratio of the ends of the ranges into which rare, small numbers of reports are merged


class Weights(NamedTuple):
    """A bound on the law of the number of others who report.

    Attributes:
        log_weight: logarithms of probabilities.
        low: the least number of others that each stands for.
    """

    log_weight: FloatArray
    low: FloatArray


# Maps the number of other clients and the rate to a bound on the law of how many of them report. The same
# parameter gives the same object, by which the moments are remembered.
Law = Callable[[int, float], Weights]


def _nobody(others: int, rate: float) -> Weights:
    return Weights(np.array([others * math.log1p(-rate)]), np.zeros(1))


def _joined(*parts: Weights) -> Weights:
    return Weights(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def somebody(weights: Weights) -> Weights:
    """Return a bound without the part in which nobody else reports."""
    some = weights.low > 0
    return Weights(weights.log_weight[some], weights.low[some])


def whole(others: int, rate: float) -> Weights:
    """Return the law in narrow blocks; rarer numbers below these are in ranges, weighted by their tails."""
    log_p, log_q = math.log(rate), math.log1p(-rate)
    blocks = binomial_blocks(others, log_p, log_q, relative_width=_WIDTH)
    with np.errstate(divide="ignore"):
        common = Weights(np.log(blocks.weights), blocks.low)
    first = int(blocks.low[0])
    if first == 0:
        return common
    edges = [first]
    while edges[-1] > 1:
        edges.append(max(1, min(edges[-1] - 1, int(_SHRINK * edges[-1]))))
    tops, low = np.array(edges[:-1], dtype=np.float64), np.array(edges[1:], dtype=np.float64)
    ratio = (tops - 1) / (others - tops + 2) * math.exp(log_q - log_p)
    log_below = numerics.log_binomial_pmf(tops - 1, others, log_p, log_q) - np.log1p(-ratio)
    return _joined(common, Weights(log_below, low), _nobody(others, rate))


@functools.lru_cache(maxsize=8)
def by_lemma_4(slack: float) -> Law:
    """Return the law of Lemma 4: one other report with a small probability, or (1 - slack) times the mean."""

    def law(others: int, rate: float) -> Weights:
        mean = others * rate
        few = Weights(
            np.array([-(slack**2) * mean / 2, 0.0]), np.array([1.0, math.floor((1 - slack) * mean) + 1.0])
        )
        return _joined(_nobody(others, rate), few)

    return law


@functools.lru_cache(maxsize=8)
def by_lemma_4_printed(slack: float) -> Law:
    """Return the law of Lemma 4 as printed, without the part in which nobody else reports."""

    def law(others: int, rate: float) -> Weights:
        mean = others * rate
        return Weights(np.array([-(slack**2) * mean / 2, 0.0]), np.array([1.0, (1 - slack) * mean + 1]))

    return law


@functools.lru_cache(maxsize=8)
def by_lemma_5(cut: int) -> Law:
    """Return the law of Lemma 5: numbers up to ``cut`` one by one, and larger ones as the next.

    The law refuses to list too many, with a ValueError.
    """

    def law(others: int, rate: float) -> Weights:
        if min(cut, others) > _MOST_LISTED:
            raise ValueError(
                f"n must be smaller: numbers of reports up to the cut are listed, {min(cut, others)}, and at "
                f"most {_MOST_LISTED} are supported; Theorem 5 summed has no such limit"
            )
        mean, k = others * rate, np.arange(1.0, min(cut, others) + 1)
        log_pmf = numerics.log_binomial_pmf(k, others, math.log(rate), math.log1p(-rate))
        parts = [_nobody(others, rate), Weights(log_pmf, k)]
        if cut < others:
            slack = cut / mean - 1
            parts.append(Weights(np.array([-(slack**2) * mean / (2 + slack)]), np.array([cut + 1.0])))
        return _joined(*parts)

    return law
