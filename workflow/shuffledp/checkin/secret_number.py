"""Distributed check-in with Gaussian noise and a secret number of reports: its privacy loss, from below.

The protocol is that of ``liew2022_distributed``, Theorem 5 of liew2022, with scalar records: the server
publishes the average of the reports, but not how many there were, and N(0, sigma^2) if there were none.
Neighbours are the records of n clients, and the same without one of them. All other records are equal here,
and count as 0; that of the client is 1, which is the largest distance. With b = Bin(n - 1, rate), p_k =
N(0, sigma^2/max(k, 1)) and q_k = N(1/(k + 1), sigma^2/(k + 1)), the laws of the average are

    without: sum_k b_k p_k,    with: sum_k b_k ((1 - rate) p_k + rate q_k).

This is one pair of data sets, so it bounds the privacy loss of every such protocol from below. For vectors of
dimension d the noise across the line through the records tells k to a relative sqrt(2/d) or so; then the
protocol loses nearly as much as with a public number, for which ``distributed`` has the losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checkin.distributed import Pair, cell_masses, outside
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes

_CELL = 0.03  # width of a cell, in standard deviations of the narrowest law
_MOST = 10**7  # largest number of cells over all numbers of reports
_AT_ONCE = 2**18
_LARGEST_LOSS, _LEAST = 300.0, 1e-290  # of outcomes whose ratios are computed
_ROUNDING = 2**14 * numerics.EPSILON  # of the mass of a cell, relative, several times over


def secret_number_losses(*, n: int, rate: float, sigma: float, nats: float = numerics.NEGLIGIBLE) -> Pair:
    """Return privacy losses of one round that are dominated by those of the two laws above.

    The average is rounded to a cell, which is post-processing. Numbers of reports that are left out count
    for the law in the denominator alone, in each cell with their whole probability.

    Args:
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        sigma: standard deviation of the noise of one report, > 0, over the largest distance of two records.
        nats: at least 1; numbers of reports, noise and losses that are rarer than some e^-nats may be left
            out.

    Returns:
        Masses and losses: ``added``, of the data set with the client, and ``removed``, of that without. They
        are lower bounds for a secret and for a public number of reports.

    Raises:
        ValueError: an argument is out of range, or there are too many cells to compute.
    """
    n, rate = checks.count("n", n), checks.probability("rate", rate)
    sigma, others = checks.positive("sigma", sigma), n - 1
    log_p, log_q = math.log(rate), math.log1p(-rate)

    def log_pmf(k: FloatArray) -> FloatArray:
        return numerics.log_binomial_pmf(k, others, log_p, log_q)

    first, last = _window(log_pmf, others, nats)
    edges = _edges(first, last, sigma=sigma, reach=-float(special.ndtri_exp(-nats)))
    if edges is None:
        raise ValueError(
            f"sigma must be larger, or rate or n smaller: the average is computed in cells for each of "
            f"{last - first + 1} numbers of reports, and {_MOST:g} cells in all are supported, got "
            f"sigma={sigma:g}, rate={rate:g}, n={n}"
        )
    without, with_client = np.zeros(edges.size - 1), np.zeros(edges.size - 1)
    step = max(1, _AT_ONCE // edges.size)
    for start in range(first, last + 1, step):
        k = np.arange(start, min(start + step, last + 1), dtype=np.float64)
        weight, more = np.exp(log_pmf(k)), np.sqrt(k + 1) / sigma
        without += weight @ cell_masses(edges * (np.sqrt(np.maximum(k, 1)) / sigma)[:, None])
        with_client += weight @ cell_masses((edges - 1 / (k[:, None] + 1)) * more[:, None])
    rest = outside(first, last, others, rate)
    return Pair(
        _losses(with_client, without, rate, rest, nats, with_over_without=True),
        _losses(with_client, without, rate, rest, nats, with_over_without=False),
    )


def _losses(
    with_client: FloatArray,
    without: FloatArray,
    rate: float,
    rest: float,
    nats: float,
    *,
    with_over_without: bool,
) -> Outcomes:
    """Return the losses of one direction, from the masses given that the client takes part or is not there.

    Masses of the denominator may be too large by ``rest``, and so count with it.
    """
    present = (1 - rate) * without + rate * with_client
    some = (present if with_over_without else without) > _LEAST
    with_client, without, present = with_client[some], without[some], present[some]
    floor = np.maximum(without, _LEAST)  # raises without alone, as a denominator
    # log of present over floor, with all digits where they are nearly equal
    loss = np.log1p(
        np.maximum(rate * (with_client - without) / floor + (without - floor) / floor, -1 + 2**-53)
    )
    uncertain = _ROUNDING * rate * (with_client + without) / present
    if with_over_without:
        return _likely(present, loss - np.log1p(rest / floor) - uncertain, nats)
    return _likely(without, -loss - np.log1p(rest / present) - uncertain, nats)


def _likely(mass: FloatArray, loss: FloatArray, nats: float) -> Outcomes:
    """Return the outcomes without the largest and the least losses, as far as they are rarer than e^-nats:
    the lattice of losses is the finer for it. Losses too large for a double's range count as the largest."""
    order = np.argsort(loss)
    below = np.cumsum(mass[order])
    above = np.cumsum(mass[order][::-1])[::-1]
    kept = order[(np.minimum(below, above) > math.exp(-nats)) & (loss[order] > -_LARGEST_LOSS)]
    return Outcomes(mass[kept] * (1 - _ROUNDING), np.minimum(loss[kept], _LARGEST_LOSS))


def _window(log_pmf: Callable[[FloatArray], FloatArray], others: int, nats: float) -> tuple[int, int]:
    """Return the range of the numbers of others that are not left out."""
    first, last = numerics.concave_window(log_pmf, 0, others, nats=nats) if others > 0 else (0, 0)
    if last - first > _MOST:  # too many to look at each
        return first, last
    likely = log_pmf(np.arange(first, last + 1.0))
    kept = first + np.flatnonzero(likely >= likely.max() - nats)
    return int(kept[0]), int(kept[-1])


def _edges(first: int, last: int, *, sigma: float, reach: float) -> FloatArray | None:
    """Return the edges of the cells, of which the outermost two have all that is beyond; None if there are
    too many."""
    widest, width = sigma / math.sqrt(max(first, 1)), _CELL * sigma / math.sqrt(last + 1)
    span = 2 * reach * widest + 1 / (first + 1)
    if not span * (last - first + 1) <= _MOST * width:
        return None
    cells = math.ceil(span / width)
    edges = -reach * widest + span * np.arange(cells + 1) / cells
    edges[0], edges[-1] = -np.inf, np.inf
    return edges
