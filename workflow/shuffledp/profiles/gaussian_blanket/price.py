"""The price of the call behind delta at one eps, rounded up."""

from __future__ import annotations

import math

import numpy as np

from shuffledp.checks import IntArray
from shuffledp.distributions.lognormal import Rounded, rounded_up
from shuffledp.distributions.lognormal_sums.contour import TiltedSum
from shuffledp.profiles.gaussian_blanket.plan import DROPPED, Effort, Layout, Planner
from shuffledp.profiles.gaussian_blanket.terms import Terms

# What follows decides how tight a bound is, and never whether it holds.
_FINE = 128  # steps from 0 from where on cells may be wider than a step, relative to their distance from 0
_REACH = 0.25  # inverse steepness: how far on either side ``TiltedSum.steepness`` looks
_STEEPER = 1.2  # how much faster than planned a price may change
_ATTEMPTS = 12  # layouts tried
_NOISY = 0.05  # of a bound, above which the error of a price calls for a lower second cut
_MOST_BEYOND = 0.1  # of a bound, what a lowered second cut may add without another one being tried
_MORE = 8.0  # times as much as is too little is tried next, at most
_SETTLED = 1.3  # by which what such a cut adds may differ from the least that can be computed
_MOST_STEPS = 2.0**62  # of the sum, so that they are whole numbers of 64 bits
_SMALLEST = 1e-200  # price whose change with the strike is looked at
_LEAST_CELL = 1e-12  # of Y near 1, so that neighbouring points are different doubles


def price(terms: Terms, estimate: float, effort: Effort, *, most: float) -> float:
    """Return the price of the call, rounded up; inf if it cannot be computed.

    Args:
        terms: of the sum.
        estimate: of the price.
        effort: how closely it is computed.
        most: an upper bound on the price.
    """
    planner = Planner(terms)
    place = planner.place(estimate)
    steepness, least = place.tilt, math.inf
    # Far out, the errors of a law that hardly reaches the strike exceed the price. A lower second cut allows
    # a larger tilt, with smaller errors, and adds more. What it adds is bisected: ``few`` is too little.
    few, enough = 0.0, most
    for _ in range(_ATTEMPTS):
        layout = planner.layout(place, steepness, effort)
        step = layout.step
        largest = max(layout.last, -layout.least, terms.gain / step)
        if step < _LEAST_CELL * terms.factor or terms.n * largest > _MOST_STEPS:
            break
        total = _total(terms, layout)
        found = total.price(terms.strike)
        beyond = terms.n * terms.rate * sum(terms.law.call(1 + step * layout.last))
        missing = float(terms.several_jumps(np.array(step * layout.cut)))
        least = min(least, max(found.value, 0.0) + found.error + missing + beyond)
        is_noisy = found.error > _NOISY * (max(found.value, 0.0) + beyond)
        if is_noisy or (few > 0 and beyond > _MOST_BEYOND * least):
            # the error is infinite where the tilt is too large for so coarse a lattice
            if is_noisy and (few == 0 or math.isfinite(found.error)):
                few, enough = max(few, beyond), min(enough, least)
            else:
                enough = min(enough, beyond)
            if enough < _SETTLED * few:
                break
            rest = min(_MORE * few, math.sqrt(few * enough))
            place = planner.place(rest, rest=rest)
            steepness = place.tilt
            continue
        if found.value < _SMALLEST:
            break
        # beyond the strike itself, where there may be an atom
        further = terms.strike + _REACH * (1 + 1e-6) / steepness
        actual = total.steepness(further, found.value, planned=steepness)
        if missing > 2 * DROPPED * found.value and not few:
            place = planner.place(found.value)
            steepness = max(place.tilt, actual)
        elif actual > _STEEPER * steepness and not layout.is_coarse:
            steepness = actual
        else:
            break
    return least


def _total(terms: Terms, layout: Layout) -> TiltedSum:
    """Return the law of the sum, tilted."""
    body = _body(terms, layout)
    return TiltedSum(
        terms.n,
        body,
        _jumps(terms, layout),
        anchor=0.0,
        step=layout.step,
        sign=1,
        target=terms.strike,
        tilt=layout.tilt,
        shifts=layout.shifts,
        largest=layout.step * float(max(layout.last, -body.index[0], body.index[-1])),
    )


def _body(terms: Terms, layout: Layout) -> Rounded:
    """Return the law of a term that is no jump, rounded up."""
    law, rate, apart, step, least = terms.law, terms.rate, terms.apart, layout.step, -layout.least
    rise = rounded_up(law, _lattice(layout.cut, layout.widest), step=step, anchor=1.0)
    fall = rounded_up(law, _lattice(least, layout.widest), step=step / terms.factor, anchor=1.0)
    below = math.floor(terms.gain / step)
    part = terms.gain / step - below
    index = np.concatenate([rise.index, -fall.index, [-least, below, below + 1, 0]])
    mass = np.concatenate(
        [
            rate * rise.mass,
            rate * fall.mass,
            # smaller terms count as the least, which raises the price
            [rate * law.above(1 + least * step / terms.factor)],
            [rate * apart * (1 - part), rate * apart * part, 1 - rate],
        ]
    )
    points, inverse = np.unique(index.astype(np.int64), return_inverse=True)
    total = np.bincount(inverse, weights=mass).astype(np.float64)
    return Rounded(points[total > 0], total[total > 0])


def _jumps(terms: Terms, layout: Layout) -> Rounded:
    """Return the masses of a term above the cut, rounded up; beyond the second cut it counts as that."""
    law, step, last = terms.law, layout.step, layout.last
    index = np.append(np.arange(layout.cut, last, layout.widest), last)
    inside = rounded_up(law, index, step=step, anchor=1.0) if index.size > 1 else Rounded(index, np.zeros(1))
    mass = terms.rate * np.append(inside.mass, law.above(1 + last * step))
    some = mass > 0
    return Rounded(np.append(inside.index, last)[some], mass[some])


def _lattice(end: int, widest: int) -> IntArray:
    """Return indices of lattice points from 0 to ``end``, sparser away from 0."""
    runs, reached, gap = [np.zeros(1, dtype=np.int64)], 0, 1
    while reached < end:
        stop = end if gap == widest else min(2 * _FINE * gap, end)
        runs.append(np.append(np.arange(reached + gap, stop, gap, dtype=np.int64), stop))
        reached, gap = stop, min(2 * gap, widest)
    return np.concatenate(runs)
