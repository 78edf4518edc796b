"""Shuffled check-in by Renyi DP of any eps0-LDP randomiser: the two conversions of liew2022, Table 1.

Both start from the clones that hide a report in a shuffle (in the table: A, "Hiding among the clones"; here
in the numerical form of feldman2022), mix over the public number K ~ Bin(n, rate) of reports, and end in
Renyi DP. They differ in the place where the privacy profile becomes a Renyi divergence. (eps0, delta0)-LDP
randomisers have no finite Renyi DP: they may disclose everything with probability ``disclosure``, which
counts in delta, and the Renyi DP is that of the remaining case.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checkin.liew2022 import check_in_outcomes
from shuffledp.checks import FloatArray
from shuffledp.distributions.tilted_binomials import binomial_blocks
from shuffledp.pld.outcomes import (
    Lattice,
    Outcomes,
    connect_the_dots,
    dominating,
    lattice_step,
    renyi_divergences,
)
from shuffledp.profiles import approximate
from shuffledp.profiles.clones import clones_pair
from shuffledp.rdp.curve import RenyiCurve, remembered
from shuffledp.rdp.wang2019 import wang2019_subsampled

# Numbers of reports within this relative distance of each other count as the worst of them.
_WIDTH = 0.05
_PAIR_WIDTH = 1e-3  # the same for numbers of clones


def _lattice(outcomes: Outcomes) -> Lattice:
    return connect_the_dots(outcomes, step=lattice_step(outcomes))


def disclosure(*, n: int, rate: float, eps0: float, delta0: float, analysis: str = "feldman2022") -> float:
    """Return the probability that a round of (eps0, delta0)-LDP reports discloses a client's record.

    With probability ``rate`` the client reports. The mean number of reports is then 1 + (n - 1) rate, and
    ``profiles.approximate.disclosure`` is linear in their number.

    Args:
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        eps0: local privacy parameter, >= 0.
        delta0: its failure probability, in [0, 1).
        analysis: "feldman2022" or "feldman2021", the clones pair that is meant.

    Returns:
        An upper bound.

    Raises:
        ValueError: an argument is out of range.
    """
    n, rate = checks.count("n", n), checks.probability("rate", rate)
    reports = 1 + (n - 1) * rate
    told = rate * approximate.disclosure(n=reports, eps0=eps0, delta0=delta0, analysis=analysis)
    # a product of two tiny numbers must not become 0
    return max(told, np.finfo(np.float64).tiny) if delta0 > 0 else told


class ShufflingConversion:
    """Table 1, "shuffling conversion": Renyi DP of the shuffle, then Theorem 9 of wang2019, mixed over K.

    Args:
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        eps0: local privacy parameter, > 0.

    Raises:
        ValueError: an argument is out of range.
    """

    def __init__(self, *, n: int, rate: float, eps0: float) -> None:
        n, rate = checks.count("n", n), checks.probability("rate", rate)
        self._eps0 = checks.positive("eps0", eps0)
        each = binomial_blocks(n, math.log(rate), math.log1p(-rate), relative_width=_WIDTH / 1000)
        edges = [0]
        while edges[-1] < each.weights.size:
            first = edges[-1]
            edges.append(
                max(first + 1, int(np.searchsorted(each.low, (1 + _WIDTH) * each.low[first], "right")))
            )
        self._blocks = [
            (
                math.log(weight),
                each.high[end - 1] / n,
                remembered(self._shuffle(max(int(each.low[start]), 1))),
            )
            for start, end in itertools.pairwise(edges)
            if (weight := float(each.weights[start:end].sum())) > 0 and each.high[end - 1] > 0
        ]

    def _shuffle(self, k: int) -> RenyiCurve:
        """Return the Renyi curve of the clones pair of k reports, which is computed at its first use."""

        @functools.cache
        def lattice() -> Lattice:
            pair = clones_pair(
                n=k, eps0=self._eps0, analysis="feldman2022", bound="upper", relative_width=_PAIR_WIDTH
            )
            return _lattice(dominating(pair, gamma=1.0))

        def curve(order: FloatArray) -> FloatArray:
            return renyi_divergences(lattice(), order, largest=self._eps0)

        return curve

    def __call__(self, order: ArrayLike) -> float | FloatArray:
        """Return the Renyi DP of a round.

        Args:
            order: Renyi orders lambda, whole numbers >= 2, any shape.

        Returns:
            An upper bound: each block of 5% counts as its fewest reports and its largest sample.

        Raises:
            ValueError: an order is not a whole number >= 2.
        """
        orders = checks.integer_orders(order)
        flat = orders.ravel()
        parts = [math.log(2) - numerics.NEGLIGIBLE + (flat - 1) * self._eps0]
        for log_weight, gamma, curve in self._blocks:
            each = wang2019_subsampled(flat, gamma=gamma, rdp=curve, eps_inf=self._eps0)
            with np.errstate(divide="ignore"):
                scaled = (flat - 1) * np.asarray(each)
                parts.append(log_weight + scaled + np.log(-np.expm1(-scaled)))
        log_sum = special.logsumexp(parts, axis=0)
        value = np.logaddexp(0.0, log_sum) / (flat - 1) * (1 + numerics.OUTWARD)
        return checks.like_input(value.reshape(orders.shape))


class SubsamplingConversion:
    """Table 1, "subsampled shuffling conversion": profiles subsampled and mixed over K, then Renyi DP.

    Args:
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        eps0: local privacy parameter, > 0.

    Raises:
        ValueError: an argument is out of range.
    """

    def __init__(self, *, n: int, rate: float, eps0: float) -> None:
        n, rate = checks.count("n", n), checks.probability("rate", rate)
        self._eps0 = checks.positive("eps0", eps0)
        self._lattice = _lattice(check_in_outcomes(n=n, rate=rate, eps0=self._eps0))

    def __call__(self, order: ArrayLike) -> float | FloatArray:
        """Return the Renyi DP of a round.

        Args:
            order: Renyi orders, real numbers > 1, any shape.

        Returns:
            An upper bound, rounded up.

        Raises:
            ValueError: an order is out of range.
        """
        orders = checks.real_orders(order)
        value = renyi_divergences(self._lattice, orders.ravel(), largest=self._eps0)
        return checks.like_input(value.reshape(orders.shape))
