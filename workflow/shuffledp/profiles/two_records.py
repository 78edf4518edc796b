"""One shuffle of two-symbol randomised response, where clients hold one of two records: the worst data set.

Randomised response of two symbols sends the client's own with probability q = e/(e + 1), e = exp(eps0), and
the other one with p = 1/(e + 1). The number of reports of the second symbol is published. Let h of the n - 1
clients besides the one who differs hold the first record. The number of second symbols among their reports
has the law L of Bin(h, p) + Bin(n - 1 - h, q). Together with the report of the client who differs it has the
law P if that client holds the first record, and Q if it holds the second:

    P(m) = q L(m) + p L(m - 1),    Q(m) = p L(m) + q L(m - 1)

There are no other data sets and neighbours: exchanging the symbols exchanges P and Q, and h and n - 1 - h. So
the largest epsilon over h <= (n - 1)/2, in both directions, is that of the protocol. If clients send the
report of a record drawn at random, as for numbers inside an interval, the protocol is a mixture of these, and
the divergence is jointly convex.

This holds for one round. Over several rounds that are chosen one after the other, each may have another worst
data set.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes
from shuffledp.profiles.inversion import outcomes_epsilon

_KEPT = 1e-270  # smallest probability that is kept, so that products stay normal numbers
SMALLEST_DELTA = 1e-250


def worst_epsilon(*, n: int, eps0: float, delta: float) -> float:
    """Return epsilon of one shuffle of two-symbol randomised response, the largest over all data sets.

    Args:
        n: number of clients, all of whom report. The time grows like n^3; a thousand clients take seconds.
        eps0: local privacy parameter, > 0 and at most 300.
        delta: target, in [1e-250, 1).

    Returns:
        An upper bound, which exceeds the exact value by some 1e-11 relative.

    Raises:
        ValueError: an argument is out of range.
    """
    n, eps0 = checks.count("n", n), checks.positive("eps0", eps0)
    delta = checks.probability("delta", delta)
    if delta < SMALLEST_DELTA:
        raise ValueError(f"delta must be at least {SMALLEST_DELTA:g} for this bound, got {delta!r}")
    return max(
        outcomes_epsilon(pair, delta=delta, bound="upper")
        for held in range((n - 1) // 2 + 1)
        for pair in _pairs(n, eps0, held)
    )


def _pairs(n: int, eps0: float, held: int) -> list[Outcomes]:
    """Return the pairs of both directions, rounded up, where ``held`` others hold the first record."""
    log_p, log_q = -float(np.logaddexp(0.0, eps0)), -float(np.logaddexp(0.0, -eps0))
    law = np.convolve(_binomial(held, log_p, log_q), _binomial(n - 1 - held, log_q, log_p))
    p, q = math.exp(log_p), math.exp(log_q)
    here, before = np.append(law, 0.0), np.append(0.0, law)
    first, second = q * here + p * before, p * here + q * before
    kept = (first > _KEPT) & (second > _KEPT)
    # relative rounding errors of binomial probabilities, of sums of at most n products, and of exponents
    relative = numerics.EPSILON * (8 * (n + 8) + 16 * abs(math.log(_KEPT)))
    lost = 2 * (n + 1) * _KEPT
    loss = np.log1p((first - second)[kept] / second[kept])
    slack = 4 * relative
    return [
        Outcomes(first[kept] * (1 + relative), loss + slack, lost),
        Outcomes(second[kept] * (1 + relative), -loss + slack, lost),
    ]


def _binomial(trials: int, log_p: float, log_q: float) -> FloatArray:
    values = np.arange(trials + 1, dtype=np.float64)
    return np.exp(numerics.log_binomial_pmf(values, float(trials), log_p, log_q))
