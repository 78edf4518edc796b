"""Lower bounds that no accountant can beat: profiles of concrete randomisers, data sets and neighbours.

(a) Two-symbol randomised response; all others hold 0, and one client changes from 0 to 1 (the pair of
girgis2021, Theorem 2). (b) Randomised response over three or more symbols; all others hold the third symbol,
and one client changes from the first to the second.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.distributions.tilted_binomials import TiltedBinomials, binomial_blocks, rounded
from shuffledp.distributions.two_symbols import TwoSymbols

_WIDTH = 2e-4


@functools.lru_cache(maxsize=64)
def many_symbols_pair(*, n: int, k: int, eps0: float, categories: int) -> TiltedBinomials:
    """Return a pair that the subsampled shuffle of (b) dominates: k of n reports, three symbols or more.

    Given that N of the k reports carry the first or the second symbol, their split has density
    1 - gamma + gamma rho_N (1 +- b_N t) relative to k clients that all hold the third symbol, for whom N is
    Bin(k, 2p), p = 1/(e^eps0 + categories - 1). So the pair, with its subsampling, is a mixture of tilted
    binomials. Values of N are merged by adding fair coins up to the largest N of a block, which is
    post-processing.

    Args:
        n: number of clients.
        k: clients per round.
        eps0: local privacy parameter, > 0.
        categories: number of symbols, >= 3.
    """
    gamma, p = k / n, math.exp(-float(np.logaddexp(eps0, math.log(categories - 1))))
    # 1 - 2p: probability that a holder of the third symbol sends neither of the two
    others = -math.expm1(math.log(2 * p))
    log_others = numerics.log_one_minus_exp(-math.log(2 * p))
    blocks = binomial_blocks(k, math.log(2 * p), log_others, relative_width=_WIDTH)
    # density and tilt are linear in N (the tilt after multiplication by the density): their averages over a
    # block are their values at its mean
    growth = math.expm1(min(eps0, 700.0))
    first, second = blocks.means * others / 2, (categories - 2) * (k - blocks.means) * p
    total = (growth + 2) * first + second
    rho = total / (k * others)
    density = 1 - gamma + gamma * rho
    share = gamma * rho / density
    tilts = share * growth * first / total
    gaps = (1 - gamma) / density + share * (2 * first + second) / total
    return TiltedBinomials(blocks.weights * density, blocks.high, tilts, gaps, 0.0, bound="lower")


def randomized_response_lower(
    eps: ArrayLike, *, n: int, eps0: float, k: int | None = None, categories: int = 3
) -> float | FloatArray:
    """Return the privacy profile of one shuffled randomised response, below that of every valid analysis.

    Args:
        eps: real numbers of any sign, any shape.
        n: number of clients.
        eps0: local privacy parameter, >= 0.
        k: reports that are shuffled, drawn without replacement, 1 <= k <= n; all n if None.
        categories: number of symbols, >= 2. With 2, pair (a) of this module, in the direction of neighbours
            that is worse at each eps; with 3 or more, pair (b). Three are the best choice in most settings.

    Returns:
        delta at each eps, rounded down, of the shape of ``eps``.

    Raises:
        ValueError: an argument is out of range.
    """
    targets = checks.reals("eps", eps)
    (n, k), eps0 = checks.clients(n, n if k is None else k), checks.eps0(eps0)
    categories = checks.count("categories", categories, at_least=2)
    if eps0 == 0:
        return checks.like_input(np.zeros_like(targets))
    flat = targets.ravel()
    if categories > 2:
        pair = many_symbols_pair(n=n, k=k, eps0=eps0, categories=categories)
        value, error = pair.hockey_stick(flat)
    else:
        two = TwoSymbols(n, k, eps0)
        mass, loss = two.losses()
        # so that rounding of the losses adds nothing to the divergence next to the largest loss
        errors = two.loss_errors(loss)
        least, most = loss - errors, loss + errors
        forward = [mass @ (np.exp(least) * -np.expm1(np.minimum(one - least, 0.0))) for one in flat]
        reverse = [mass @ -np.expm1(np.minimum(one + most, 0.0)) for one in flat]
        value = np.maximum(forward, reverse)
        error = value * 16 * numerics.EPSILON * math.sqrt(k)
    return checks.like_input(rounded(value, error, "lower").reshape(targets.shape))
