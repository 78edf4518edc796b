"""Mixtures of linearly tilted fair binomials: the law of the reports that hide one client among clones.

Suppose that N reports carry one of two distinguished messages, and that a of these carry the first. In the
pairs (P, Q) of the shuffle model that are used here, the law of a has a density with respect to the number of
heads among N fair coins: 1 + b t under P and 1 - b t under Q, where t = (2a - N)/N, and the tilt b in [0, 1]
may depend on N. So a pair is a list of parts (weight, N, b), and each part is symmetric: exchanging P and Q
mirrors a.

Adding a fair coin is post-processing, and leaves the tilt as it is. Hence the divergence of a part falls when
N grows at a fixed tilt, and it grows with the tilt. So consecutive values of N may be merged into one block
with an error on a known side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import special

from shuffledp import numerics
from shuffledp.checks import FloatArray

Bound = Literal["upper", "lower", "exact"]

_LOG_HALF = -math.log(2)
# Nats by which the window of heads among N coins is wider than that of the numbers N. So what it leaves out
# (by Hoeffding's inequality, times 1 + |x| <= e) is small beside e^-nats.
_WIDER = 11.0
_PIECE = 2**17  # pairs of a part and an eps, or values, that are held in memory at a time
# The most outcomes that are listed: of all parts together, but of each part at least so many if it has them.
_LISTED, _LISTED_OF_EACH = 2**20, 2**10
_MOST_VALUES = 2**22  # most values of a binomial number that are listed one by one
_LARGEST_EPS = 700.0  # beyond it e^eps may overflow, and the divergence at this eps is taken


@dataclass(frozen=True)
class TiltedBinomials:
    """A pair (P, Q) as a mixture; arrays of one length.

    Attributes:
        weights: probabilities of the parts.
        counts: numbers N of coins, whole numbers >= 0.
        tilts: tilts b in [0, 1].
        gaps: 1 - b, given besides the tilts since these lose its digits for large eps0.
        lost: upper bound on the probability of values of N that are in no part.
        nats: outcomes rarer than about e^-nats are left out when outcomes are listed.
        bound: "upper" or "lower": where millions of outcomes are listed, neighbours are merged, and the
            divergence errs to that side; "exact": they are not merged.
        largest_losses: log((1 + b)/(1 - b)) of the parts where they are known exactly; else they are computed
            from the tilts and gaps, and rounded to the side of the bound.
    """

    weights: FloatArray
    counts: FloatArray
    tilts: FloatArray
    gaps: FloatArray
    lost: float
    nats: float = numerics.NEGLIGIBLE
    bound: Bound = "exact"
    largest_losses: FloatArray | None = None

    def hockey_stick(self, eps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return H_{e^eps}(P||Q) at each of ``eps`` (one-dimensional), and a bound on its rounding error."""
        value, error = np.zeros(eps.shape), np.zeros(eps.shape)
        parts = min(self.counts.size, _PIECE)
        some = max(_PIECE // parts, 1)
        for first in range(0, eps.size, some):
            size = np.minimum(np.abs(eps[first : first + some]), _LARGEST_EPS)
            for start in range(0, self.counts.size, parts):
                found = self._piece(size, slice(start, start + parts))
                value[first : first + some] += found[0]
                error[first : first + some] += found[1]
        error += np.where(np.abs(eps) > _LARGEST_EPS, value, 0.0)  # it lies in [0, value] there
        mirrored = -np.expm1(np.minimum(eps, 0.0)) + np.exp(np.minimum(eps, 0.0)) * value
        negative = eps < 0
        mirrored_error = np.exp(np.minimum(eps, 0.0)) * error + 8 * numerics.EPSILON * mirrored
        return np.where(negative, mirrored, value), np.where(negative, mirrored_error, error)

    def _piece(self, eps: FloatArray, parts: slice) -> tuple[FloatArray, FloatArray]:
        """Return what parts add to the divergence at each eps >= 0, and to the bound on its rounding error.

        Let m be the least a for which P exceeds e^eps Q, L the largest loss, and pmf and Pr the law of N fair
        coins. A part contributes (1 + b)(1 - e^(eps - L)) m/N pmf(m) - (e^eps - 1) (Pr[a >= m] - m/N pmf(m)).
        For eps close to L both terms are tiny, and both keep their digits.
        """
        size = eps[:, None]
        n, weights, tilt = np.maximum(self.counts[parts], 1.0), self.weights[parts], self.tilts[parts]
        below = -np.expm1(np.minimum(size - self._largest_losses(parts), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            # 1 - tanh(eps/2)/b: P exceeds e^eps Q where the share of tails, 1 - a/N, is below half of it
            slack = np.where(tilt > 0, special.expit(-size) * below * (1 + tilt) / tilt, 0.0)
        reached = (slack > 0) & (self.counts[parts] >= 1)
        m = np.clip(n - np.ceil(n * np.minimum(slack, 1.0) / 2) + 1, 1, n)
        pmf = np.exp(numerics.log_binomial_pmf(m, n, _LOG_HALF, _LOG_HALF))
        beyond = np.where(m < n, special.betainc(m + 1, np.maximum(n - m, 1.0), 0.5), 0.0)
        first, growth = (1 + tilt) * below * (m / n * pmf), np.expm1(size)
        second = growth * ((n - m) / n * pmf + beyond)
        value = np.where(reached, np.maximum(first - second, 0.0), 0.0)
        # the arguments of the incomplete beta function are rounded, which moves m by up to an ulp of n
        distance = np.abs(2 * m - n)
        error = (64 + 4 * distance * distance / n) * (first + second)
        error += (2 * distance + 4 * np.sqrt(n)) * growth * beyond
        return value @ weights, (np.where(reached, error, 0.0) @ weights) * numerics.EPSILON

    def _largest_losses(self, parts: slice) -> FloatArray:
        """Return the largest losses log((1 + b)/(1 - b)) of parts, rounded to the side of ``bound``."""
        if self.largest_losses is not None:
            return self.largest_losses[parts]
        with np.errstate(divide="ignore"):
            losses = np.log1p(2 * self.tilts[parts] / self.gaps[parts])
        return losses * (1 + {"upper": 8, "exact": 0, "lower": -8}[self.bound] * numerics.EPSILON)

    def reach(self) -> FloatArray:
        """Return how far from N/2 the outcomes of each part are listed."""
        return np.sqrt(self.counts * (self.nats + _WIDER) / 2)

    def coins(self) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Return the outcomes as flat arrays: mass M under fair coins, x = b t and 1 - |x|; and what is lost.

        So P = M (1 + x) and Q = M (1 - x). The last number bounds the mass under P, or under Q, of all
        outcomes that are left out. Where there are millions of outcomes, neighbours form a cell. For a lower
        bound a cell is merged at its mean, which is post-processing. For an upper bound it is split over its
        ends so that its masses under P and Q stay, and the resulting pair dominates the original one.
        """
        n, reach = self.counts, self.reach()
        low, high = np.maximum(np.ceil(n / 2 - reach), 0.0), np.minimum(np.floor(n / 2 + reach), n)
        width = np.ones(n.shape)
        if self.bound != "exact":
            width = np.ceil((high - low + 1) / max(_LISTED // n.size, _LISTED_OF_EACH))
        cells = np.ceil((high - low + 1) / width).astype(np.int64)
        part = np.repeat(np.arange(n.size), cells)
        first = width[part] * (np.arange(part.size) - np.repeat(np.cumsum(cells) - cells, cells)) + low[part]
        last = np.minimum(first + width[part] - 1, high[part])

        def log_pmf(a: FloatArray, some: slice) -> FloatArray:
            return numerics.log_binomial_pmf(a, n[part[some], None], _LOG_HALF, _LOG_HALF)

        # the largest slope of the log masses, which is at the ends of the window
        slope = 4 * float(np.max(reach / np.maximum(n, 1.0)))
        group = numerics.group_size(slope)
        coin, within = numerics.cell_sums(log_pmf, first, last, group=group)
        coin = np.exp(coin, out=coin)
        coin *= (self.weights / np.bincount(part, weights=coin))[part]
        if (width > 1).any() and self.bound == "upper":
            share = within / np.maximum(last - first, 1.0)
            coin = np.concatenate([coin * (1 - share), coin * share])
            a, part = np.concatenate([first, last]), np.concatenate([part, part])
        else:
            a = first + within
        t = (2 * a - n[part]) / np.maximum(n[part], 1.0)
        far = np.minimum(a, n[part] - a) * 2 / np.maximum(n[part], 1.0)  # 1 - |t|
        lost = self.lost + (2 * math.exp(1 - self.nats - _WIDER) if (low > 0).any() else 0.0)
        return coin, self.tilts[part] * t, far + np.abs(t) * self.gaps[part], lost


class Blocks(NamedTuple):
    """A binomial law in blocks of consecutive values; arrays of one length.

    Attributes:
        weights: probabilities of the blocks, scaled to a sum of 1, so that what lies outside of them is
            spread over them.
        low: smallest value of each block.
        high: largest value of each block.
        means: mean of the values within each block.
        lost: bound on the probability of what lies below the first block.
    """

    weights: FloatArray
    low: FloatArray
    high: FloatArray
    means: FloatArray
    lost: float


def binomial_blocks(
    trials: int, log_p: float, log_q: float, *, relative_width: float, nats: float = numerics.NEGLIGIBLE
) -> Blocks:
    """Return a binomial law in blocks at most ``relative_width`` of their values wide (0: single values).

    Values less probable than e^-nats times the most probable one are left out. Where there are millions of
    values, a group of neighbours within a block is summed by the series around its middle.

    Args:
        trials: a whole number >= 0.
        log_p: log of the probability of a success.
        log_q: log of that of a failure.
        relative_width: largest width of a block over its values, >= 0.
        nats: how far below the most probable value a value is left out, > 0.

    Raises:
        ValueError: there are too many blocks, as when single values are asked for.
    """
    if trials == 0:
        return Blocks(np.ones(1), np.zeros(1), np.zeros(1), np.zeros(1), 0.0)

    def log_pmf(c: FloatArray) -> FloatArray:
        return numerics.log_binomial_pmf(c, trials, log_p, log_q)

    first, last = numerics.concave_window(log_pmf, 0, trials, nats=nats)
    width, size = max(1, int(relative_width * first)), last - first + 1
    slope = math.sqrt(2 * nats / trials) * math.exp(-(log_p + log_q) / 2)  # at the ends of the window
    group = min(numerics.group_size(slope), width)
    width -= width % group
    if size // width > _MOST_VALUES:
        raise ValueError(
            f"n must be smaller where each value of a binomial law is listed: at most {_MOST_VALUES}, and "
            f"{trials} trials have {size}; other accountants merge them"
        )
    starts = np.arange(0, size, width)
    # a block may extend over several pieces, so the pieces are summed by block afterwards
    edges = np.unique(np.concatenate([starts, np.arange(0, size, _PIECE * group)]))
    mass, moment = [], []
    for start in range(0, size, _PIECE * group):
        offset = np.arange(start, min(start + _PIECE * group, size), group)
        place: FloatArray = (offset % width).astype(np.float64)
        if group > 1:
            counts = np.minimum(size - offset, group).astype(np.float64)
            middle = (first + offset) + (counts - 1) / 2
            logs, more, shift = numerics.group_sums(log_pmf, middle, counts)
            pmf = np.exp(logs) * counts * (1 + more)
            place = place + (counts - 1) / 2 + shift
        else:
            pmf = np.exp(log_pmf((first + offset).astype(np.float64)))
        inner = edges[slice(*np.searchsorted(edges, [start, start + _PIECE * group]))] - start
        mass.append(np.add.reduceat(pmf, inner // group))
        moment.append(np.add.reduceat(pmf * place, inner // group))
    whole = np.searchsorted(edges, starts)
    weights = np.add.reduceat(np.concatenate(mass), whole)
    low, high = (first + starts).astype(np.float64), np.minimum(first + starts + width - 1.0, last)
    with np.errstate(invalid="ignore"):
        means = low + np.add.reduceat(np.concatenate(moment), whole) / weights
    means = np.where(weights > 0, means, low)
    return Blocks(weights / weights.sum(), low, high, means, math.exp(-nats) if first > 0 else 0.0)


def rounded(value: FloatArray, error: FloatArray, bound: Bound) -> FloatArray:
    """Move a divergence outward by its rounding error, within [0, 1]."""
    if bound == "upper":
        value = value * (1 + numerics.OUTWARD) + error
    elif bound == "lower":
        value = value * (1 - numerics.OUTWARD) - error
    return np.clip(value, 0.0, 1.0)
