"""Hiding among clones: the dominating pairs of feldman2022 and feldman2021, as privacy profiles.

feldman2022: "Stronger privacy amplification by shuffling for Renyi and approximate differential privacy"
(Theorem 3.1, as used by koskela2022, equation 3.1). feldman2021: "Hiding among the clones".
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.distributions.tilted_binomials import Bound, TiltedBinomials, binomial_blocks, rounded

ANALYSES = ("feldman2022", "feldman2021")
BOUNDS: tuple[Bound, ...] = ("upper", "lower", "exact")


# Relative widths of the blocks of clone numbers. Epsilon changes by a quarter of the width, and delta at
# 1e-12 by some 14 times the width.
PROFILE_WIDTH = 4e-5
COMPOSITION_WIDTH = 2e-4


@functools.lru_cache(maxsize=64)
def clones_pair(
    *,
    n: int,
    eps0: float,
    analysis: str,
    bound: Bound,
    relative_width: float,
    nats: float = numerics.NEGLIGIBLE,
) -> TiltedBinomials:
    """Return the pair that dominates the shuffle of n reports of any eps0-LDP randomiser.

    The number C of clones is binomial, of n - 1 trials, with success probability 2/(e^eps0 + 1)
    (feldman2022) or e^-eps0 (feldman2021). The C reports are fair coins, and the differing client's report
    makes N = C + 1, tilted by (e^eps0 - 1)/(e^eps0 + 1).

    Args:
        n: number of shuffled reports.
        eps0: local privacy parameter, >= 0.
        analysis: "feldman2022" or "feldman2021".
        bound: "upper" or "lower": values of C are merged into blocks at their safe end, and so are outcomes
            where there are millions; "exact": nothing is merged.
        relative_width: width of a block relative to its values.
        nats: how far below the rest an outcome is left out; at most 600, where doubles are still exact.

    Raises:
        ValueError: an argument is out of range.
    """
    n, eps0 = checks.count("n", n), checks.eps0(eps0)
    analysis = checks.choice("analysis", analysis, ANALYSES)
    bound = checks.choice("bound", bound, BOUNDS)
    tilt, gap = np.tanh(np.full(1, eps0 / 2)), 2 * special.expit(np.full(1, -eps0))
    if eps0 == 0:  # every report is a clone, and there is nothing to hide
        return TiltedBinomials(np.ones(1), np.full(1, float(n)), tilt, gap, 0.0, bound=bound)
    if analysis == "feldman2022":
        log_p = math.log(2) - float(np.logaddexp(0.0, eps0))
        log_q = numerics.log_one_minus_exp(eps0) - math.log1p(math.exp(-eps0))  # of tanh(eps0/2)
    else:
        log_p, log_q = -eps0, numerics.log_one_minus_exp(eps0)
    width = 0.0 if bound == "exact" else relative_width
    blocks = binomial_blocks(n - 1, log_p, log_q, relative_width=width, nats=nats)
    clones = blocks.high if bound == "lower" else blocks.low
    ones = np.ones(clones.shape)
    return TiltedBinomials(
        blocks.weights, clones + 1, tilt * ones, gap * ones, blocks.lost, nats, bound, eps0 * ones
    )


def clones(
    eps: ArrayLike, *, n: int, eps0: float, analysis: str = "feldman2022", bound: Bound = "upper"
) -> float | FloatArray:
    """Return the privacy profile of the clones pair: the hockey-stick divergence at e^eps.

    Args:
        eps: real numbers of any sign, any shape.
        n: number of shuffled reports.
        eps0: local privacy parameter, >= 0.
        analysis: "feldman2022" or "feldman2021".
        bound: "upper": an upper bound on the profile, in a time that grows like a power of n below 1/2;
            "lower": a lower bound on the profile of the same pair (not on that of every mechanism), less than
            1% away; "exact": the profile itself, to rounding, with every number of clones enumerated.

    Returns:
        delta at each eps, of the shape of ``eps``.

    Raises:
        ValueError: an argument is out of range.
    """
    targets = checks.reals("eps", eps)
    pair = clones_pair(n=n, eps0=eps0, analysis=analysis, bound=bound, relative_width=PROFILE_WIDTH)
    value, error = pair.hockey_stick(targets.ravel())
    error += pair.lost if bound == "upper" else 0.0
    return checks.like_input(rounded(value, error, bound).reshape(targets.shape))
