"""Clones and sampling taken together: the dominating pair of a round of k of n clients.

Neighbours differ by substitution of one record. Let e = exp(eps0). In a round without the client who differs,
each of the k reports is with probability 1/(e + 1) a clone of that client's report from the first record,
with the same probability a clone of that from the second, and otherwise it is revealed. Let D0 be the law of
N clones of which a are of the first kind: N ~ Bin(k, 2/(e + 1)), a ~ Bin(N, 1/2). Relative to D0 the round
has density

    (n - k + e a + (N - a))/n

if the client holds the first record, and the same with a and N - a exchanged if it holds the second: with
probability k/n the client takes the place of one of the k others, all of whom are equally likely.
``docs/theory/every_randomiser.md`` proves that this pair dominates a round of any eps0-LDP randomiser,
adaptively chosen ones included, in both directions of neighbours. In every case computed, its divergence is
below that of the pair of Lemma 7 of koskela2022, which does not use that a round without the client looks
like neither of the two. Two-symbol randomised response attains it if the reports that are no clones are
revealed. With k = n it is the clones pair of feldman2022.

Windows of balle2020, of m slots of which the client takes one at random with probability p0, have this pair
with k = m and (n - k)/k = (1 - p0)/p0.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.distributions.tilted_binomials import Bound, TiltedBinomials, binomial_blocks, rounded
from shuffledp.pld.outcomes import Outcomes, dominating
from shuffledp.profiles.clones import BOUNDS, COMPOSITION_WIDTH, PROFILE_WIDTH


@functools.lru_cache(maxsize=64)
def joint_pair(
    *,
    absent: float,
    k: int,
    eps0: float,
    bound: Bound,
    relative_width: float,
    nats: float = numerics.NEGLIGIBLE,
) -> TiltedBinomials:
    """Return the pair of a round of k reports, sampling included.

    Given N clones the density is g (1 +- b t), t = (2 a - N)/N, with g = (absent + (e + 1) N/2)/(absent + k)
    and g b = ((e - 1) N/2)/(absent + k), both linear in N. Values of N are merged into blocks. An upper bound
    takes the fewest coins of a block, since adding fair coins never raises the divergence, and splits the
    block over its two ends such that the means of g and g b are kept, which spreads them. A lower bound takes
    the most coins, and the means themselves.

    Args:
        absent: n - k, the number of clients who take no part in a round, any number >= 0.
        k: reports of a round, >= 1.
        eps0: local privacy parameter, > 0.
        bound: "upper", "lower" or "exact" (every N by itself).
        relative_width: width of a block over its values.
        nats: how far below the rest an outcome is left out; at most 600.
    """
    half_gap, log_p = math.expm1(eps0) / 2, math.log(2) - float(np.logaddexp(0.0, eps0))
    log_q = numerics.log_one_minus_exp(eps0) - math.log1p(math.exp(-eps0))  # of tanh(eps0/2)
    width = 0.0 if bound == "exact" else relative_width
    blocks = binomial_blocks(k, log_p, log_q, relative_width=width, nats=nats)
    low, high, means, weights = blocks.low, blocks.high, blocks.means, blocks.weights
    if bound == "lower":
        coins, values = high, means
    elif absent == 0:
        # the tilt is the same for every N, and the weight is linear in N
        coins, values = low, means
    else:
        wide = high > low
        up = np.where(wide, (means - low) / np.where(wide, high - low, 1.0), 0.0)
        coins = np.concatenate([low, low[wide]])
        values = np.concatenate([low, high[wide]])
        weights = np.concatenate([weights * (1 - up), weights[wide] * up[wide]])
    # g is absent + N + (e - 1) N/2 over its mean, and 1 - b is (absent + N)/g
    total = (absent + values) + half_gap * values
    some = total > 0  # if all take part, an outcome without clones has probability 0
    coins, values, weights, total = coins[some], values[some], weights[some], total[some]
    # below the window the density is at most its mean, 1; above it, at most a geometric series
    lost = blocks.lost
    if high[-1] < k:
        lost += 2 * math.exp(-nats) * float(total[-1]) / (absent + k)
    return TiltedBinomials(
        weights * total / (absent + k),
        coins,
        half_gap * values / total,
        (absent + values) / total,
        lost if bound == "upper" else 0.0,
        nats,
        bound,
    )


def joint_outcomes(*, absent: float, k: int, eps0: float, nats: float = numerics.NEGLIGIBLE) -> Outcomes:
    """Return the outcomes of the pair for numerical composition, an upper bound; see ``joint_pair``."""
    pair = joint_pair(
        absent=absent, k=k, eps0=eps0, bound="upper", relative_width=COMPOSITION_WIDTH, nats=nats
    )
    return dominating(pair, gamma=1.0)


def joint_clones(
    eps: ArrayLike, *, n: int, k: int, eps0: float, bound: Bound = "upper"
) -> float | FloatArray:
    """Return the privacy profile of a round of k of n clients with any eps0-LDP randomiser, sampled.

    Args:
        eps: real numbers of any sign, any shape.
        n: number of clients.
        k: reports of a round, drawn without replacement, 1 <= k <= n.
        eps0: local privacy parameter, >= 0.
        bound: "upper": an upper bound on the profile; "lower": a lower bound on the profile of the same pair
            (not on that of every mechanism); "exact": the profile, to rounding, with every number of clones
            listed.

    Returns:
        delta at each eps, of the shape of ``eps``.

    Raises:
        ValueError: an argument is out of range.
    """
    targets = checks.reals("eps", eps)
    (n, k), eps0 = checks.clients(n, k), checks.eps0(eps0)
    bound = checks.choice("bound", bound, BOUNDS)
    flat = targets.ravel()
    if eps0 == 0:
        return checks.like_input(-np.expm1(np.minimum(targets, 0.0)))
    pair = joint_pair(absent=float(n - k), k=k, eps0=eps0, bound=bound, relative_width=PROFILE_WIDTH)
    value, error = pair.hockey_stick(flat)
    error += pair.lost if bound == "upper" else 0.0
    return checks.like_input(rounded(value, error, bound).reshape(targets.shape))
