"""The shuffled k-ary randomised response and two adversaries: koskela2022, section 4.

Each of n clients answers truthfully with probability 1 - gamma, and otherwise with a symbol drawn uniformly
from all. Both adversaries know the data of all clients but one, and which of these clients answered at
random, so that they can remove the truthful answers. The strong one (balle2019, Theorem 3.1) also knows that
the remaining client answered truthfully; the weak one (Theorem 15) does not. Let N1 and N2 be the numbers of
remaining reports of the two symbols between which that client differs.

Strong: (N1 - 1, N2) ~ Multinomial(n - 1; gamma/k, gamma/k), and the loss is log(N1/N2), infinite where
N2 = 0. As in the paper, the probability gamma that the client answers at random, and reveals nothing, is not
used. Weak: with the number R = B + 1 of all remaining reports, B ~ Bin(n - 1, gamma), the loss is
log(((1 - gamma) N1 + gamma R/k) / ((1 - gamma) N2 + gamma R/k)), at most log(1 + (1 - gamma) k/gamma).

Given R and N = N1 + N2, both are tilted fair coins: N1 has density 1 +- b (N1 - N2)/N with
b = N/(N + 2 gamma R/((1 - gamma) k)), or b = 1 for the strong adversary. Exchanging the two symbols exchanges
P and Q, so one direction of neighbours serves for both.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.distributions.tilted_binomials import TiltedBinomials, binomial_blocks
from shuffledp.pld.outcomes import Outcomes, connect_the_dots, dominating
from shuffledp.profiles.clones import COMPOSITION_WIDTH

ADVERSARIES = ("strong", "weak")
DIVERGENCES = ("hockey_stick", "tail")

# Mean number of remaining reports up to which those of the strong adversary are not merged. Beyond it, a
# block of numbers counts as its smallest, which has the largest divergence.
_SINGLY = 30_000
_MOST_LAWS = 2**14  # largest number of laws given the random reports, in some 10 seconds
_MOST_PARTS, _MOST_OUTCOMES = 5_000_000, 8_000_000  # that are kept in memory
_LISTED = 2**19  # outcomes that are listed at a time, unless a part is larger
_MOST_LISTED = 2**26  # outcomes of the weak adversary that are listed in all, in some 10 seconds
# Steps of the grids of tilts, in log odds, that are tried for the weak adversary where there are too many.
_TILT_STEPS = (2e-3, 6e-3, 2e-2)
_PLACES = 2**20  # points of the grid of tilts on either side of 1/2
_PIECE = 2**18  # parts that are computed together
_FINE = 160  # steps of the lattice of ``krr_lattice`` in the root mean square of the losses
# A threshold that exceeds a whole number by this, relative to the number of coins, counts as the number.
_TIES = 64 * numerics.EPSILON


def krr(
    eps: ArrayLike,
    *,
    n: int,
    categories: int,
    gamma: float,
    adversary: str = "strong",
    divergence: str = "hockey_stick",
) -> float | FloatArray:
    """Return the privacy profile of one shuffle of k-ary randomised response, against one of two adversaries.

    Args:
        eps: real numbers of any sign, any shape.
        n: number of clients.
        categories: number k of symbols, >= 2.
        gamma: probability of an answer drawn uniformly, in (0, 1); the randomiser is eps0-LDP with
            e^eps0 = 1 + (1 - gamma) k/gamma.
        adversary: "strong" or "weak".
        divergence: "hockey_stick": E_P (1 - e^(eps - loss))_+, tight for the adversary; "tail":
            P(loss >= eps), which equations (4.2) and (C.8) of the paper equate with the former, but which is
            an upper bound on it.

    Returns:
        delta at each eps, of the shape of ``eps``, rounded up by less than 2e-11 times the tail form, and by
        some e^-60 for outcomes that are left out.

    Raises:
        ValueError: an argument is out of range, or the weak adversary's pair is too large to list (from n
            of some 1e5 on).
    """
    targets = checks.reals("eps", eps)
    divergence = checks.choice("divergence", divergence, DIVERGENCES)
    pair, largest = _pair(*_arguments(n, categories, gamma, adversary), numerics.NEGLIGIBLE)
    # beyond the largest finite loss nothing changes any more
    deltas = [_delta(pair, min(one, largest + 1.0), divergence) for one in targets.ravel().tolist()]
    return checks.like_input(np.array(deltas).reshape(targets.shape))


def krr_outcomes(
    *,
    n: int,
    categories: int,
    gamma: float,
    adversary: str = "strong",
    nats: float = numerics.NEGLIGIBLE,
) -> Outcomes:
    """Return the outcomes of one shuffle of k-ary randomised response.

    Args:
        n: number of clients.
        categories: number k of symbols, >= 2.
        gamma: probability of an answer drawn uniformly, in (0, 1).
        adversary: "strong" or "weak".
        nats: how far below the rest an outcome is left out; at most 600, where doubles are still exact.

    Returns:
        Masses under P and losses. ``infinite`` has the mass of infinite losses (N2 = 0, strong adversary) and
        a bound on the mass that is left out, some e^-nats.

    Raises:
        ValueError: an argument is out of range, or there are too many outcomes to list. They grow like n
            for the strong and like n^1.5 for the weak adversary, for whom n of some 1500 is the largest.
    """
    pair, _ = _pair(*_arguments(n, categories, gamma, adversary), nats)
    masses, losses, infinite, count = [], [], 0.0, 0
    for outcomes in _listed(pair):
        masses.append(outcomes.mass)
        losses.append(outcomes.loss)
        infinite += outcomes.infinite
        count += outcomes.mass.size
        if count > _MOST_OUTCOMES:
            raise ValueError(
                f"n must be smaller to list every outcome: n={n} has more than {_MOST_OUTCOMES} of them; "
                "krr_lattice has no such limit"
            )
    return Outcomes(np.concatenate(masses), np.concatenate(losses), infinite)


def krr_lattice(
    *,
    n: int,
    categories: int,
    gamma: float,
    adversary: str = "strong",
    nats: float = numerics.NEGLIGIBLE,
) -> Outcomes:
    """Return a pair that dominates one shuffle of k-ary randomised response, to be composed.

    Args:
        n: number of clients.
        categories: number k of symbols, >= 2.
        gamma: probability of an answer drawn uniformly, in (0, 1).
        adversary: "strong" or "weak".
        nats: how far below the rest an outcome is left out.

    Returns:
        As ``krr_outcomes``, but on a lattice (by connecting the dots), which needs little memory and is so
        fine that epsilon grows by less than 1e-4 relative. Where listing all outcomes of the weak adversary's
        pair would take minutes (from n of some 5,000 on), tilts are merged, and epsilon grows by up to 5e-3
        relative.

    Raises:
        ValueError: an argument is out of range, or the weak adversary's pair is too large to list (from n
            of some 1e5 on).
    """
    pair, _ = _pair(*_arguments(n, categories, gamma, adversary), nats)
    if adversary == "weak":  # the strong one's coins are in blocks, all with one tilt
        pair = _few_enough(pair, n)
    # a loss is 2 b t to first order, and the mean of t^2 is 1/N
    step = 2 * math.sqrt(float(pair.weights @ (pair.tilts**2 / np.maximum(pair.counts, 1.0)))) / _FINE
    index, mass, infinite = np.zeros(0), np.zeros(0), 0.0
    for outcomes in _listed(pair):
        # every chunk has the same lattice, so masses at equal points are added
        lattice = connect_the_dots(outcomes, step=step)
        index = np.concatenate([index, np.rint(lattice.loss / step)])
        index, inverse = np.unique(index, return_inverse=True)
        both = np.concatenate([mass, lattice.mass])
        mass = np.asarray(np.bincount(inverse, weights=both, minlength=index.size), dtype=np.float64)
        infinite += outcomes.infinite
    return Outcomes(mass, step * index, infinite)


def _few_enough(pair: TiltedBinomials, n: int) -> TiltedBinomials:
    """Return the pair or one with fewer tilts that dominates it, such that listing outcomes takes seconds.

    Raises:
        ValueError: there is none.
    """
    if _size(pair) <= _MOST_LISTED:
        return pair
    for step in _TILT_STEPS:
        fewer = _fewer_tilts(pair, step)
        if _size(fewer) <= _MOST_LISTED:
            return fewer
    raise ValueError(
        f"n must be smaller for the weak adversary: n={n} has more than {_MOST_LISTED} outcomes, which take "
        "minutes to list"
    )


def _size(pair: TiltedBinomials) -> float:
    """Return how many outcomes of a pair are listed."""
    return float(np.minimum(pair.counts + 1, 2 * pair.reach()).sum())


def _fewer_tilts(pair: TiltedBinomials, step: float) -> TiltedBinomials:
    """Return a pair with tilts on a grid; each tilt is split over two points such that its mean is kept.

    The densities 1 +- b t are linear in the tilt b, so that merging the two points gives the original pair,
    which is therefore dominated.

    Args:
        pair: the pair.
        step: distance of the grid in log(b/(1 - b)).
    """
    codes, weights = np.zeros(0, dtype=np.int64), np.zeros(0)
    for start in range(0, pair.counts.size, _PIECE):
        some = slice(start, start + _PIECE)
        moving = pair.tilts[some] > 0  # a tilt of 0 is the lowest point of the grid
        odds = np.log(np.where(moving, pair.tilts[some], 0.5) / np.where(moving, pair.gaps[some], 0.5))
        place = np.floor(odds / step)
        # the difference of two logistic functions as a sinh over two cosh, without cancellation
        ratio = np.exp(_log_cosh(step * (place + 1) / 2) - _log_cosh(odds / 2))
        up = np.clip(np.sinh((odds - step * place) / 2) / math.sinh(step / 2) * ratio, 0.0, 1.0)
        up[~moving], place[~moving] = 0.0, -_PLACES
        code = 2 * _PLACES * pair.counts[some].astype(np.int64) + (place.astype(np.int64) + _PLACES)
        parts = [weights, pair.weights[some] * (1 - up), pair.weights[some] * up]
        codes, inverse = np.unique(np.concatenate([codes, code, code + 1]), return_inverse=True)
        weights = np.asarray(np.bincount(inverse, weights=np.concatenate(parts)), dtype=np.float64)
    codes, weights = codes[weights > 0], weights[weights > 0]
    counts, places = np.divmod(codes, 2 * _PLACES)
    log_odds = step * (places - _PLACES)
    return replace(
        pair,
        weights=weights,
        counts=counts.astype(np.float64),
        tilts=special.expit(log_odds),
        gaps=special.expit(-log_odds),
    )


def _log_cosh(half: FloatArray) -> FloatArray:
    """Return log(2 cosh)."""
    return np.logaddexp(half, -half)


def _listed(pair: TiltedBinomials) -> Iterator[Outcomes]:
    """Yield the outcomes of a pair, some parts at a time; ``infinite`` has the mass that is left out, and
    that of infinite losses."""
    ends = np.cumsum(np.minimum(pair.counts + 1, 2 * pair.reach()))
    negligible = math.exp(-pair.nats) / ends[-1]
    start = 0
    while start < pair.counts.size:
        taken = ends[start - 1] if start else 0.0
        end = max(int(np.searchsorted(ends, taken + _LISTED)), start + 1)
        chunk = slice(start, end)
        part = replace(
            pair,
            weights=pair.weights[chunk],
            counts=pair.counts[chunk],
            tilts=pair.tilts[chunk],
            gaps=pair.gaps[chunk],
            lost=pair.lost if start == 0 else 0.0,
        )
        with np.errstate(divide="ignore"):
            listed = dominating(part, gamma=1.0)
        small = listed.mass < negligible
        without_end = listed.loss == np.inf
        infinite = listed.infinite + float(listed.mass[without_end].sum())
        infinite += negligible * float(small.sum())
        kept = ~small & ~without_end
        yield Outcomes(listed.mass[kept], listed.loss[kept], infinite)
        start = end


def _arguments(n: int, categories: int, gamma: float, adversary: str) -> tuple[int, int, float, str]:
    """Return the arguments, checked."""
    n, categories = checks.count("n", n), checks.count("categories", categories, at_least=2)
    gamma = checks.probability("gamma", gamma)
    return n, categories, gamma, checks.choice("adversary", adversary, ADVERSARIES)


def _pair(
    n: int, categories: int, gamma: float, adversary: str, nats: float
) -> tuple[TiltedBinomials, float]:
    """Return the pair and a bound on its finite losses."""
    if adversary == "strong":
        return _strong(n, categories, gamma, nats), math.log(n)
    # capped where e^loss overflows: delta at a smaller eps is an upper bound
    return _weak(n, categories, gamma, nats), min(math.log1p((1 - gamma) * (categories / gamma)), 700.0)


@functools.lru_cache(maxsize=8)
def _strong(n: int, categories: int, gamma: float, nats: float) -> TiltedBinomials:
    share = 2 * gamma / categories
    width = 0.0 if share * n <= _SINGLY else COMPOSITION_WIDTH
    blocks = binomial_blocks(n - 1, math.log(share), math.log1p(-share), relative_width=width, nats=nats)
    ones = np.ones(blocks.low.shape)
    return TiltedBinomials(blocks.weights, blocks.low + 1, ones, 0 * ones, blocks.lost, nats, "upper")


@functools.lru_cache(maxsize=2)
def _weak(n: int, categories: int, gamma: float, nats: float) -> TiltedBinomials:
    log_random, log_truthful = math.log(gamma), math.log1p(-gamma)
    random = binomial_blocks(n - 1, log_random, log_truthful, relative_width=0.0, nats=nats)
    share, negligible = 2 / categories, math.exp(-nats)
    own = 1 - gamma * (1 - share)  # probability that the client sends one of the two symbols
    weights, counts, excess, lost, size = [], [], [], random.lost, 0
    # about half of all pairs of numbers of reports are not negligible
    spread = 2 * math.sqrt(2 * nats * random.low[-1] * share * (1 - share))
    if random.low.size * spread / 2 > 2 * _MOST_PARTS or (categories > 2 and random.low.size > _MOST_LAWS):
        raise _too_many(n)
    for others, weight in zip(random.low.tolist(), random.weights.tolist(), strict=True):
        if weight < negligible / n:
            lost += weight
            continue
        if categories == 2:
            low, law = others, np.array([0.0, 1.0])
        else:
            blocks = binomial_blocks(
                int(others), math.log(share), math.log1p(-share), relative_width=0.0, nats=nats
            )
            low, law = blocks.low[0], np.append((1 - own) * blocks.weights, 0.0)
            law[1:] += own * blocks.weights
            # both ends of the window may have been cut off
            lost += weight * negligible * (float(low > 0) + float(blocks.high[-1] < others))
        law = weight * law
        kept = law > negligible / _MOST_PARTS
        lost += float(law[~kept].sum())
        weights.append(law[kept])
        counts.append((low + np.arange(law.size))[kept])
        # the tilt is N/(N + excess)
        excess.append(np.full(weights[-1].size, 2 * gamma * (others + 1) / ((1 - gamma) * categories)))
        size += weights[-1].size
        if size > _MOST_PARTS:
            raise _too_many(n)
    number, beyond = np.concatenate(counts), np.concatenate(excess)
    total = number + beyond
    tilts, gaps = number / total, beyond / total
    return TiltedBinomials(np.concatenate(weights), number, tilts, gaps, lost, nats, "upper")


def _too_many(n: int) -> ValueError:
    return ValueError(
        f"n must be smaller for the weak adversary: n={n} takes more than {_MOST_PARTS} pairs of numbers of "
        f"reports, or more than {_MOST_LAWS} laws of them"
    )


def _delta(pair: TiltedBinomials, eps: float, divergence: str) -> float:
    """Return the divergence at one eps, rounded up.

    N coins tilted by b are N - 1 fair ones and one that shows heads with probability (1 + b)/2, or (1 - b)/2
    under Q. So the probabilities of the outcomes with a loss of eps or more are binomial tails.
    """
    ratio, above, other = math.tanh(eps / 2), 0.0, 0.0
    for start in range(0, pair.counts.size, _PIECE):
        some = slice(start, start + _PIECE)
        counts, tilts, weights = pair.counts[some], pair.tilts[some], pair.weights[some]
        coins = np.maximum(counts - 1, 0.0)
        # without a distinguished message every loss is 0, which counts where eps <= 0
        reach = np.full(coins.shape, np.inf if ratio > 0 else -np.inf)
        np.divide(ratio, tilts, out=reach, where=tilts > 0)
        least = np.ceil(counts * (1 + np.clip(reach, -2.0, 2.0)) / 2 - _TIES * (counts + 1))
        least = np.where(counts > 0, least, np.where(reach > 0, 2.0, 0.0))
        more, less = _binomial_tails(np.clip(least, 0.0, coins + 2), coins)
        half = pair.gaps[some] / 2
        above += float(weights @ ((1 - half) * more + half * less))
        other += math.exp(eps) * float(weights @ (half * more + (1 - half) * less))
    if divergence == "tail":
        return min(above * (1 + numerics.OUTWARD) + pair.lost, 1.0)
    return min(max(above - other, 0.0) + numerics.OUTWARD * (above + other) + pair.lost, 1.0)


def _binomial_tails(least: FloatArray, coins: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the probabilities of ``least`` - 1 or more, and of ``least`` or more heads among fair coins."""
    # there are few distinct combinations, however many parts the pair has
    base = float(coins.max()) + 3
    code, inverse = np.unique(coins * base + least, return_inverse=True)
    coins, least = np.divmod(code, base)

    def tail(heads: FloatArray) -> FloatArray:
        inner = np.clip(heads, 1.0, np.maximum(coins, 1.0))
        some = special.betainc(inner, np.maximum(coins, 1.0) - inner + 1, 0.5)
        return np.where(heads <= 0, 1.0, np.where(heads > coins, 0.0, some))

    return tail(least - 1)[inverse], tail(least)[inverse]
