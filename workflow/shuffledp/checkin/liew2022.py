"""Shuffled check-in, after the supplement of liew2022 ("Shuffled check-in").

Each of n clients takes part independently with the probability ``rate``. The number K ~ Bin(n, rate) of
reports is public and, given K = k, the reports are those of a uniform subset. So a round is a mixture over k
of subsampled shuffles with k of n clients, and its moment E (P/Q)^lambda is the mean of theirs.

Neighbours differ in one client's record.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray, IntArray
from shuffledp.distributions.tilted_binomials import Blocks, binomial_blocks
from shuffledp.distributions.two_symbols import TwoSymbols
from shuffledp.pld.outcomes import Lattice, Outcomes, connect_the_dots, dominating, merge_to_lattice
from shuffledp.profiles.clones import clones_pair
from shuffledp.profiles.randomized_response import many_symbols_pair
from shuffledp.rdp.girgis2021 import log_mixed_moment_excess, log_moment_excess

# Numbers of reports within this relative distance of each other count as the worst of them for either bound.
_MOMENT_WIDTH, _LOSS_WIDTH = 0.001, 0.006
_PAIR_WIDTH = 1e-3  # the same for numbers of clones
_RARE = 1e-10  # probability of the rare numbers of reports on either side of the common ones
_FINE = 80  # lattice points of the first rounding in the root mean square of the losses
_FEW = 2**11  # number of outcomes of a block up to which they are not rounded
_CUTS = 200  # how many numbers of reports are tried as the cut of the printed bound's sum


def _check_ins(n: int, rate: float, width: float) -> Blocks:
    """Return the law of the number of reports in blocks, but for numbers of probability below e^-60."""
    return binomial_blocks(n, math.log(rate), math.log1p(-rate), relative_width=width)


def _checked(n: object, rate: object, eps0: object) -> tuple[int, float, float]:
    return checks.count("n", n), checks.probability("rate", rate), checks.eps0(eps0)


def liew2022_upper(order: ArrayLike, *, n: int, rate: float, eps0: float) -> float | FloatArray:
    """Return Renyi DP of shuffled check-in: Theorem 1 of girgis2021, mixed over the number of reports.

    Theorem 2 of liew2022 bounds this mixture; here it is evaluated, with the sampling rate k/n for k
    reports.

    Args:
        order: Renyi orders lambda, whole numbers >= 2, any shape.
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        eps0: local privacy parameter, >= 0.

    Returns:
        An upper bound, rounded up.

    Raises:
        ValueError: an argument is out of range, or an order is not a whole number >= 2.
    """
    orders = checks.integer_orders(order)
    n, rate, eps0 = _checked(n, rate, eps0)
    if eps0 == 0:
        return checks.like_input(np.zeros_like(orders))
    flat = orders.ravel()
    blocks = _check_ins(n, rate, _MOMENT_WIDTH)
    some = (blocks.high > 0) & (blocks.weights > 0)  # a round without reports has no loss
    mixed = log_mixed_moment_excess(
        flat,
        log_weights=np.log(blocks.weights[some]),
        k=np.maximum(blocks.low[some], 1.0),
        log_gammas=np.log(blocks.high[some] / n),
        eps0=eps0,
    )
    # for the numbers of reports that are left out, a round counts as eps0-DP
    log_sum = np.logaddexp(mixed, math.log(2) - numerics.NEGLIGIBLE + (flat - 1) * eps0)
    value = np.logaddexp(0.0, log_sum) / (flat - 1) * (1 + numerics.OUTWARD)
    return checks.like_input(value.reshape(orders.shape))


def liew2022_printed(order: ArrayLike, *, n: int, rate: float, eps0: float) -> float | FloatArray:
    """Return Renyi DP of shuffled check-in as printed: Theorem 2 (equations 7 and 18), at its best Delta.

    It is f(1) e^(-Delta^2 n rate/2) + f((1 - Delta) n rate + 1), where f(k) is Theorem 1's moment, less 1,
    for k reports, with its sampling rate kept at ``rate`` whatever k is. In the second-order term e^(-eps0/k)
    is read as e^(-eps0)/k.

    Args:
        order: Renyi orders lambda, whole numbers >= 2, any shape.
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        eps0: local privacy parameter, >= 0.

    Returns:
        The printed value, an estimate: given k reports a client is among them with probability k/n, not
        ``rate``, and at a sampling rate of k/n f does not decrease, as the proof needs.

    Raises:
        ValueError: an argument is out of range, or an order is not a whole number >= 2.
    """
    orders = checks.integer_orders(order)
    n, rate, eps0 = _checked(n, rate, eps0)
    if eps0 == 0:
        return checks.like_input(np.zeros_like(orders))
    flat, mean = orders.ravel(), n * rate
    alone = log_moment_excess(flat, k=1, log_gamma=math.log(rate), eps0=eps0)
    cuts = np.unique(np.linspace(0, math.floor(mean), _CUTS).round())
    growth = -((1 - cuts / mean) ** 2) * mean / 2

    def rest(orders: FloatArray, index: IntArray) -> FloatArray:
        """Return the second term of each order, each at its own cut."""
        values = np.empty(orders.shape)
        for one in np.unique(index).tolist():
            some, k = index == one, int(cuts[one]) + 1
            values[some] = log_moment_excess(orders[some], k=k, log_gamma=math.log(rate), eps0=eps0)
        return values

    # the first term grows with the cut and the second falls, so the best cut is near where they cross
    below, crossed = np.full(flat.shape, -1), np.full(flat.shape, cuts.size)
    while (apart := crossed - below > 1).any():
        middle = (below[apart] + crossed[apart]) // 2
        falls = alone[apart] + growth[middle] < rest(flat[apart], middle)
        below[apart] = np.where(falls, middle, below[apart])
        crossed[apart] = np.where(falls, crossed[apart], middle)
    best = np.full(flat.shape, np.inf)
    for step in (-1, 1):
        index = below if step < 0 else crossed
        active = np.nonzero((index >= 0) & (index < cuts.size))[0]
        while active.size:
            first, second = alone[active] + growth[index[active]], rest(flat[active], index[active])
            best[active] = np.minimum(best[active], np.logaddexp(first, second))
            # further on, the larger of the two terms is larger still
            active = active[(second if step < 0 else first) <= best[active]]
            index = index + step
            active = active[(index[active] >= 0) & (index[active] < cuts.size)]
    value = np.logaddexp(0.0, best) / (flat - 1)
    return checks.like_input(value.reshape(orders.shape))


# cached since the search for the best order evaluates one curve some dozens of times
@functools.lru_cache(maxsize=1)
def _mixed_two_symbols(n: int, rate: float, eps0: float) -> list[tuple[float, TwoSymbols]]:
    """Return weights and the mechanisms of Theorem 3, which callers copy, since they keep state."""
    blocks = _check_ins(n, rate, _MOMENT_WIDTH)
    return [
        (weight, TwoSymbols(n * high / low, int(high), eps0))
        for weight, low, high in zip(
            *(one.tolist() for one in (blocks.weights, blocks.low, blocks.high)), strict=True
        )
        if low > 0 and weight > 0
    ]


def liew2022_lower(order: ArrayLike, *, n: int, rate: float, eps0: float) -> float | FloatArray:
    """Return the Renyi divergence of one concrete shuffled check-in: Theorem 3, with its moments evaluated.

    The randomiser is two-symbol randomised response, and all other clients hold 0 (girgis2021, Theorem 2);
    the moments are mixed over the number of reports.

    Args:
        order: Renyi orders, real numbers > 1, any shape.
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        eps0: local privacy parameter, >= 0.

    Returns:
        A lower bound, rounded down, on the Renyi DP parameter that any theorem about eps0-LDP randomisers
        can state; no lower bound on epsilon itself.

    Raises:
        ValueError: an argument is out of range.
    """
    orders = checks.real_orders(order)
    n, rate, eps0 = _checked(n, rate, eps0)
    if eps0 == 0:
        return checks.like_input(np.zeros_like(orders))
    flat = orders.ravel()
    parts = [np.full(flat.shape, -np.inf)]
    for weight, first in _mixed_two_symbols(n, rate, eps0):
        ones = copy.copy(first)
        excess = np.array([ones.log_excess(lam) for lam in flat.tolist()])
        parts.append(math.log(weight) + excess)
    log_sum = special.logsumexp(parts, axis=0)
    inward = 1 - numerics.OUTWARD - 16 * numerics.EPSILON * math.sqrt(n)
    value = np.logaddexp(0.0, log_sum) / (flat - 1) * inward
    return checks.like_input(value.reshape(orders.shape))


def liew2022_lower_printed(order: ArrayLike, *, n: int, rate: float, eps0: float) -> float | FloatArray:
    """Return the printed lower bound on the Renyi divergence: Theorem 3 (equation 8, C.3), at its best Delta.

    (1 - e^(-Delta^2 n rate/(2 + Delta))) C(lambda, 2) rate^2 (e^eps0 - 1)^2/((1 + Delta) n rate e^eps0) is
    added to 1.

    Args:
        order: Renyi orders, whole numbers >= 2, any shape.
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        eps0: local privacy parameter, >= 0.

    Returns:
        The printed value, an estimate: like the upper bound it keeps the sampling rate fixed.

    Raises:
        ValueError: an argument is out of range, or an order is not a whole number >= 2.
    """
    orders = checks.integer_orders(order)
    n, rate, eps0 = _checked(n, rate, eps0)
    mean = n * rate
    slack = np.geomspace(1e-4, 1e4, 4001)
    kept = float(np.max(-np.expm1(-(slack**2) * mean / (2 + slack)) / (1 + slack)))
    square = rate**2 * math.expm1(eps0) ** 2 * math.exp(-eps0) / mean * kept
    value = np.log1p(orders * (orders - 1) / 2 * square) / (orders - 1)
    return checks.like_input(value)


def most_check_ins(*, n: int, rate: float, delta: float) -> int:
    """Return the smallest number that the number of reports of a round exceeds with probability at most
    delta.

    Args:
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        delta: in (0, 1).

    Raises:
        ValueError: an argument is out of range.
    """
    n, rate = checks.count("n", n), checks.probability("rate", rate)
    delta = checks.probability("delta", delta)
    over, most = -1, n  # ``over`` is exceeded too often, ``most`` never
    while most - over > 1:
        middle = (over + most) // 2
        # P(K > j) as an incomplete beta function; scipy.stats would take half of a short job to import
        if special.betainc(middle + 1, n - middle, rate) > delta:
            over = middle
        else:
            most = middle
    return most


def check_in_outcomes(*, n: int, rate: float, eps0: float, analysis: str = "feldman2022") -> Outcomes:
    """Return a pair that dominates a round of shuffled check-in: clones, mixed over the number of reports.

    Args:
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        eps0: local privacy parameter, > 0.
        analysis: of the clones, "feldman2022" or "feldman2021".

    Returns:
        Masses and losses for an upper bound: a block counts as its fewest clones and its largest sample, and
        losses are rounded by connecting the dots on a fine lattice.
    """

    def given(low: float, high: float) -> Outcomes:
        pair = clones_pair(
            n=max(int(low), 1),
            eps0=eps0,
            analysis=analysis,
            bound="upper",
            relative_width=_PAIR_WIDTH,
        )
        return dominating(pair, gamma=high / n)

    blocks = [(weight, low, high, high > 0) for weight, low, high in _loss_blocks(n, rate)]
    left_out = 2 * math.exp(-numerics.NEGLIGIBLE)
    return _mixed(blocks, given, rounded=connect_the_dots, infinite=left_out)


def check_in_lower_outcomes(*, n: int, rate: float, eps0: float) -> Outcomes:
    """Return a pair that a round of shuffled check-in dominates: three-symbol randomised response, mixed.

    Args:
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        eps0: local privacy parameter, > 0.

    Returns:
        Masses and losses for a lower bound: a block counts as its most reports and its smallest sample, which
        are post-processing of the others; rare numbers of reports count as revealing nothing; and losses are
        merged on a fine lattice.
    """

    def given(low: float, high: float) -> Outcomes:
        pair = many_symbols_pair(n=n * high / low, k=int(high), eps0=eps0, categories=3)
        return replace(dominating(pair, gamma=1.0), infinite=0.0)

    blocks = [(weight, low, high, low > 0 and weight > _RARE) for weight, low, high in _loss_blocks(n, rate)]
    return _mixed(blocks, given, rounded=merge_to_lattice, infinite=0.0)


def check_in_two_symbols_outcomes(*, n: int, rate: float, eps0: float) -> list[Outcomes]:
    """Return pairs that a round of shuffled check-in dominates, in either direction of neighbours: two-symbol
    randomised response, all others holding 0, mixed over the number of reports.

    Args:
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        eps0: local privacy parameter, > 0.

    Returns:
        Masses and losses for a lower bound, as for ``check_in_lower_outcomes``. A block of numbers of reports
        counts as its smallest sample and its most reports, which are fewer reports with some of a known law
        added.
    """
    blocks = [(weight, low, high, low > 0 and weight > _RARE) for weight, low, high in _loss_blocks(n, rate)]

    def forward(low: float, high: float) -> Outcomes:
        mass, loss = TwoSymbols(n * high / low, int(high), eps0).losses()
        return Outcomes(mass * np.exp(loss), loss)

    def reverse(low: float, high: float) -> Outcomes:
        mass, loss = TwoSymbols(n * high / low, int(high), eps0).losses()
        return Outcomes(mass, -loss)

    return [_mixed(blocks, given, rounded=merge_to_lattice, infinite=0.0) for given in (forward, reverse)]


def _mixed(
    blocks: list[tuple[float, float, float, bool]],
    given: Callable[[float, float], Outcomes],
    *,
    rounded: Callable[..., Lattice],
    infinite: float,
) -> Outcomes:
    """Return the outcomes of a mixture over blocks, which are rounded to a lattice where a block has many.

    Args:
        blocks: weight, smallest and largest number of reports of each, and whether its reports count; if not,
            its loss is 0. The heaviest block comes first.
        given: function of the smallest and the largest number that returns the outcomes of a block.
        rounded: ``connect_the_dots`` or ``merge_to_lattice``.
        infinite: probability of infinite loss besides that of the blocks.
    """
    masses, losses, step = [], [], None
    for weight, low, high, tells in blocks:
        if not tells:
            masses.append(np.array([weight]))
            losses.append(np.zeros(1))
            continue
        outcomes = given(low, high)
        if outcomes.loss.size > _FEW:
            step = step or _fine_step(outcomes)
            lattice = rounded(outcomes, step=step)
            outcomes = Outcomes(lattice.mass, lattice.loss, lattice.infinite)
        masses.append(weight * outcomes.mass)
        losses.append(outcomes.loss)
        infinite += weight * outcomes.infinite
    return Outcomes(np.concatenate(masses), np.concatenate(losses), infinite)


def _loss_blocks(n: int, rate: float) -> list[tuple[float, float, float]]:
    """Return weight, smallest and largest number of reports of each block, the heaviest first.

    Rare numbers of reports make one block on either side.
    """
    each = _check_ins(n, rate, _LOSS_WIDTH / 1000)  # single numbers up to some 1e5 reports
    below = np.cumsum(each.weights)
    common = np.nonzero((below > _RARE) & (1 - below + each.weights > _RARE))[0]
    first, last = int(common[0]), int(common[-1])
    width = max(1, round(_LOSS_WIDTH * n * rate / (each.high[0] - each.low[0] + 1)))
    edges = [0, *range(first, last + 1, width), last + 1, each.weights.size]
    blocks = [
        (float(each.weights[start:end].sum()), float(each.low[start]), float(each.high[end - 1]))
        for start, end in itertools.pairwise(edges)
        if end > start
    ]
    return sorted((block for block in blocks if block[0] > 0), reverse=True)


def _fine_step(outcomes: Outcomes) -> float:
    moving = outcomes.loss != 0
    if not moving.any():
        return 1.0
    share = float(outcomes.mass[moving].sum())
    return math.sqrt(float(outcomes.mass @ outcomes.loss**2) / share) / _FINE
