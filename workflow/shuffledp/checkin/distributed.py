"""Distributed check-in with Gaussian noise and a public number of reports: its privacy loss, numerically.

Each of n clients takes part independently with the probability ``rate``; the reports are records with
noise N(0, sigma^2 I), and the server publishes their number K and their average (or sum). Neighbours are
the records of n clients, and the same without one of them. Given K = k, either data set gives the sum of k
records and noise of variance k sigma^2. With the client, who is among the k with probability k/n, one of the
other records is exchanged for that of the client. So the variances are equal, only the line through the two
records matters, whatever the dimension, and two records at the largest distance, which is 1, are the worst
(joint convexity). With z the sum along that line over sqrt(k) sigma, mu = 1/(sqrt(k) sigma) and
b = Bin(n - 1, rate):

    without: b_k N(0, 1),    with: b_k ((1 - rate) N(0, 1) + c_k N(mu, 1)),    c_k = k (1 - rate)/(n - k),

and with the client all n report with probability rate^n, which never happens without it. An observer who is
not told K learns less: see ``secret_number``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import special

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import MOST_STEPS, Outcomes, connect_the_dots, merge_to_lattice

BOUNDS = ("upper", "lower")
_CELL = 0.03  # width of a cell of the noise, in standard deviations
_MOST_CELLS = 10**8  # largest number of cells in all
_FARTHEST = 36.5  # standard deviations from the mean beyond which the normal density underflows
_CELLS_AT_ONCE = 2**18
_FINE = 80  # lattice points of the first rounding in the root mean square of the losses


class Pair(NamedTuple):
    """The losses of both directions of neighbours.

    Attributes:
        added: losses of the data set with the client over that without it.
        removed: losses of the data set without the client over that with it.
    """

    added: Outcomes
    removed: Outcomes


class _Part(NamedTuple):
    """Outcomes for some numbers of reports: masses without the client, and log with/without."""

    without: FloatArray
    loss: FloatArray


def check_in_losses(
    *, n: int, rate: float, sigma: float, bound: str = "upper", nats: float = numerics.NEGLIGIBLE
) -> Pair:
    """Return the privacy losses of one round of distributed check-in with a public number of reports.

    Args:
        n: number of clients.
        rate: probability of taking part, in (0, 1).
        sigma: standard deviation of the noise of one report, > 0, over the largest distance of two records.
        bound: "upper": the mass of each cell of the noise is split over its two ends, so that masses with and
            without the client are kept (as in doroshenko2022); "lower": the cell is merged, which is
            post-processing.
        nats: numbers of reports, noise and largest losses that are rarer than some e^-nats may be left out.

    Returns:
        Masses and losses in both directions. An upper bound dominates the mechanism; a lower bound is
        dominated by it if all other records are equal. In the direction of ``added``, the probability rate^n
        counts as left out as well.

    Raises:
        ValueError: an argument is out of range.
    """
    n, rate = checks.count("n", n), checks.probability("rate", rate)
    sigma, bound = checks.positive("sigma", sigma), checks.choice("bound", bound, BOUNDS)
    log_p, log_q = math.log(rate), math.log1p(-rate)
    others, reach = n - 1, -float(special.ndtri_exp(-nats))

    def log_pmf(k: FloatArray) -> FloatArray:
        return numerics.log_binomial_pmf(k, others, log_p, log_q)

    first, last = numerics.concave_window(log_pmf, 0, others, nats=nats) if others > 0 else (0, 0)
    if (last - first) * 2 * reach > _CELL * _MOST_CELLS:
        raise ValueError(
            f"rate must be smaller, or n: each number of reports is computed, of which n={n} and "
            f"rate={rate:g} have {last - first + 1}, and at most {int(_CELL * _MOST_CELLS / (2 * reach))} "
            "are supported"
        )
    shift = 1 / (math.sqrt(max(first, 1)) * sigma)
    if reach + shift > _FARTHEST:
        raise ValueError(
            f"sigma must be at least {1 / (math.sqrt(max(first, 1)) * (_FARTHEST - reach)):.4g} for "
            f"numbers of reports from {max(first, 1)} on and outcomes down to e^-{nats:.3g}, since likely "
            f"outcomes with a report have without it a probability below all doubles, got {sigma:g}"
        )
    weights = np.exp(log_pmf(np.arange(first, last + 1.0)))
    rounded = connect_the_dots if bound == "upper" else merge_to_lattice
    added: list[Outcomes] = []
    removed: list[Outcomes] = []
    for part in _parts(n, rate, sigma, first, weights, reach, bound):
        grown = part.without * (1 + 16 * numerics.EPSILON if bound == "upper" else 1.0)
        one = Outcomes(grown * np.exp(part.loss), part.loss), Outcomes(grown, -part.loss)
        for outcomes, gathered in zip(one, (added, removed), strict=True):
            if not outcomes.mass.any():  # their probabilities are below all doubles
                continue
            step = _fine_step(
                gathered[0] if gathered else outcomes, largest=float(np.abs(outcomes.loss).max(initial=0.0))
            )
            lattice = rounded(outcomes, step=step)
            gathered.append(Outcomes(lattice.mass, lattice.loss))
    noise = 2 * float(special.ndtr(-reach))
    left_out = (noise + outside(first, last, n, rate), noise + outside(first, last, others, rate))
    pairs = [_joined(parts, other, nats) for parts, other in zip((added, removed), left_out, strict=True)]
    return Pair(*(pair if bound == "upper" else replace(pair, infinite=0.0) for pair in pairs))


def outside(first: int, last: int, trials: int, rate: float) -> float:
    """Return the probability that a binomial number lies outside ``first``..``last``, rounded up.

    Args:
        first: smallest number inside, >= 0.
        last: largest number inside, at most ``trials``.
        trials: number of trials.
        rate: probability of success, in (0, 1).
    """
    below = float(special.betaincc(first, trials - first + 1, rate)) if first > 0 else 0.0
    above = float(special.betainc(last + 1, trials - last, rate)) if last < trials else 0.0
    return (below + above) * (1 + 1e-9)


def _parts(
    n: int, rate: float, sigma: float, first: int, weights: FloatArray, reach: float, bound: str
) -> Iterator[_Part]:
    """Yield the outcomes for the numbers of reports from ``first`` on, many numbers at once."""
    if first == 0:  # the case in which nobody reports has no noise
        yield _Part(weights[:1], np.array([math.log1p(-rate)]))
        first, weights = 1, weights[1:]
    counts = first + np.arange(float(weights.size))
    spans = 2 * reach + 1 / (np.sqrt(counts) * sigma)
    start = 0
    while start < counts.size:
        cells = math.ceil(float(spans[start]) / _CELL)
        end = start + max(1, _CELLS_AT_ONCE // cells)
        k = counts[start:end, None]
        shift = 1 / (np.sqrt(k) * sigma)
        edges = -reach + (2 * reach + shift) * np.arange(cells + 1) / cells
        height = np.log(k * (1 - rate) / (n - k)) - shift * shift / 2
        without, beyond = cell_masses(edges), cell_masses(edges - shift)
        weight = weights[start:end, None]
        if bound == "lower":
            grown = beyond / np.maximum(without, 1e-300) * np.exp(height + shift * shift / 2)
            yield _flat(weight * without, np.log1p(grown - rate))
        else:
            # the share of the mass at the upper end keeps the mean of e^(mu z) in the cell
            width = shift * (edges[:, 1:] - edges[:, :-1])
            rise = beyond * np.exp(shift * shift / 2 - shift * edges[:, :-1]) - without
            to_upper = np.clip(rise / np.expm1(width), 0.0, without)
            ends = np.zeros(edges.shape)
            ends[:, 1:] += to_upper
            ends[:, :-1] += without - to_upper
            yield _flat(weight * ends, np.log1p(np.exp(height + shift * edges) - rate))
        start = end


def cell_masses(edges: FloatArray) -> FloatArray:
    """Return the standard normal mass of the cells between edges, to full relative accuracy in both tails.

    Args:
        edges: ascending along each row, of shape (rows, cells + 1); the first and last may be infinite.
    """
    low, high = edges[:, :-1], edges[:, 1:]
    above = low + high > 0
    return special.ndtr(np.where(above, -low, high)) - special.ndtr(np.where(above, -high, low))


def _flat(without: FloatArray, loss: FloatArray) -> _Part:
    some = without > 0
    return _Part(without[some], loss[some])


def _fine_step(outcomes: Outcomes, *, largest: float) -> float:
    spread = math.sqrt(float(outcomes.mass @ outcomes.loss**2) / float(outcomes.mass.sum()))
    return max(spread / _FINE, largest / MOST_STEPS)


def _joined(parts: list[Outcomes], infinite: float, nats: float) -> Outcomes:
    """Return all parts together, except for the largest losses, whose mass counts as infinite loss."""
    mass = np.concatenate([part.mass for part in parts])
    loss = np.concatenate([part.loss for part in parts])
    order = np.argsort(loss)
    above = np.cumsum(mass[order][::-1])[::-1]
    rare = above <= math.exp(-nats)
    kept = order[~rare]
    return Outcomes(mass[kept], loss[kept], infinite + float(mass[order[rare]].sum()))
