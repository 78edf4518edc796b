"""The law of one term, rounded to the lattice of a plan in convex order, up or down."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shuffledp.checks import IntArray
from shuffledp.distributions.lognormal import LogNormal, Rounded, rounded_down, rounded_up
from shuffledp.distributions.lognormal_sums import tuning
from shuffledp.distributions.lognormal_sums.plan import Plan


class Terms(NamedTuple):
    """The law of a term on the lattice anchor + step * index, and where it was cut.

    Attributes:
        anchor: point 0 of the lattice.
        body: terms up to the cut.
        jumps: terms between the cuts; empty where there is one cut.
        cut: the cut, raised from that of the plan to a lattice point.
        second_cut: the second cut, raised likewise.
    """

    anchor: float
    body: Rounded
    jumps: Rounded
    cut: float
    second_cut: float


def _indices(start: float, step: float, anchor: float, end: int) -> IntArray:
    """Return the indices of lattice points from ``start`` to ``end``, sparser where they are far above 1."""
    first = max(math.ceil((start - anchor) / step), 1)
    uniform = max(math.ceil((1.0 - anchor) / step), 0) + 2 * tuning.FINE
    runs = [np.arange(first, min(uniform, end) + 1, dtype=np.int64)]
    base, gap = uniform - 2 * tuning.FINE, 2
    reached = max(uniform, first)
    while reached < end:
        stop = min(base + 2 * tuning.FINE * gap, end)
        runs.append(np.arange(reached + gap, stop + 1, gap, dtype=np.int64))
        reached, gap = max(stop, reached), 2 * gap
    index = np.concatenate(runs)
    return index if index.size and index[-1] == end else np.append(index, end)


def _ranges(plan: Plan, start: float, anchor: float) -> tuple[IntArray, IntArray]:
    """Return the indices of the points for the terms up to the cut, and for those between the cuts."""
    place, step = plan.place, plan.step
    end, last = (math.ceil((cut - anchor) / step) for cut in (place.cut, place.second_cut))
    beyond = _indices(start, step, anchor, last)
    return _indices(start, step, anchor, end), np.insert(beyond[beyond > end], 0, end)


def round_up(law: LogNormal, plan: Plan) -> Terms:
    """Return the law of a term, rounded up in convex order, so that no price becomes smaller."""
    place, step = plan.place, plan.step
    index, beyond = _ranges(plan, plan.start, 0.0)
    cut, second = step * float(index[-1]), step * float(beyond[-1])
    body = rounded_up(law, np.insert(index, 0, 0), step=step, anchor=0.0)
    if place.sign < 0 and cut < place.strike:
        # terms above the cut count as the cut, which raises E(K - S)_+
        body = Rounded(np.append(body.index, index[-1]), np.append(body.mass, law.above(cut)))
    return Terms(0.0, body, rounded_up(law, beyond, step=step, anchor=0.0), cut, second)


def round_down(law: LogNormal, plan: Plan) -> Terms:
    """Return the law of a term, rounded down in convex order, so that no price becomes larger."""
    step = plan.step
    # the smallest values are merged at their mean; more of them, where the cells next to them are too wide
    for cells in (0.5, 1.0, 2.0, 4.0, 8.0):
        start = max(plan.start, cells * step)
        below = law.below(start)
        anchor = law.mean_below(start) / below if below > tuning.TINY else 0.0
        index, beyond = _ranges(plan, start, anchor)
        body = rounded_down(law, index, start=start, step=step, anchor=anchor)
        if body.index.size:
            break
    if below > tuning.TINY:
        body = Rounded(np.insert(body.index, 0, 0), np.insert(body.mass, 0, below))
    cut, second = anchor + step * float(index[-1]), anchor + step * float(beyond[-1])
    jumps = rounded_down(law, beyond, start=cut, step=step, anchor=anchor)
    return Terms(anchor, body, jumps, cut, second if jumps.index.size else cut)
