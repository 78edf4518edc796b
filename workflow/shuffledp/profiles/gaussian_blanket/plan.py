"""How a price is computed: tilt, cuts and lattice, chosen by quadrature.

Nothing here is certified: a layout decides how tight a bound is, and never whether it holds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy
from scipy import special

from shuffledp import numerics
from shuffledp.distributions.lognormal_sums.plan import window
from shuffledp.profiles.gaussian_blanket.terms import Terms

DROPPED = 3e-4  # of the price, what two terms above the cut may add
_NODES = 2000  # of the quadrature
_TILTS, _CLOSE = 24, 1e-3  # tilts among which the best is sought, and its relative error
_SHORTFALL = 14.0  # nats: how unlikely the others are to fall short of the second cut
_RARE = 1e-3  # expected number of falls that are too rare to count for that
_MOST_STEPS = 2**40  # from 0 to the ends of a term
_SMALLEST = 1e-300  # estimate of a price, below which it counts as that
_MOST_CELLS = 2**17  # of the law of a term
_SPREAD = 0.05  # inverse steepness: largest step, and largest cell
_FAR = 60.0  # inverse tilts to the least value of a term
# Shifts of the tilt by which a window is sought: relative to it, and to the inverse of a standard deviation.
_SHIFTS, _DEVIATIONS = np.geomspace(0.02, 20.0, 12), np.array([1.0, 2.0, 4.0, 6.0, 8.0, 11.0])


class Effort(NamedTuple):
    """How closely a price is computed.

    Attributes:
        rounded: part of it that the rounding of terms may add.
        points: of a window, at most, even if rounding then adds more.
    """

    rounded: float
    points: int


class Place(NamedTuple):
    """Where the law of the sum is computed.

    Attributes:
        tilt: theta.
        cut: B; the terms above it are jumps, of which one is counted.
        second_cut: a jump beyond it counts as that, and the rest is added.
    """

    tilt: float
    cut: float
    second_cut: float


class Layout(NamedTuple):
    """How a price is computed; see ``shuffledp.distributions.lognormal_sums``.

    Attributes:
        tilt: theta.
        step: of the lattice.
        cut: index of the point at the cut.
        last: index of the point at the second cut.
        least: the fall that larger ones count as has this index, below 0.
        widest: how many steps the widest cell has.
        is_coarse: whether a finer step would take too many points.
        shifts: by how much the tilt is moved, down and up, to find a window.
    """

    tilt: float
    step: float
    cut: int
    last: int
    least: int
    widest: int
    is_coarse: bool
    shifts: tuple[float, float]


class Planner:
    """Chooses layouts for the price of a sum of given terms."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        sigma, rate = terms.law.sigma, terms.rate
        # of the normal variable behind Y, from Y = 1 on
        z = np.linspace(0.5 / sigma, 1 / sigma + 24.0, _NODES)
        self._gap = np.expm1((z - 0.5 / sigma) / sigma)  # Y - 1
        self._log_weight = -0.5 * z * z + math.log((z[1] - z[0]) / math.sqrt(2 * math.pi) * rate)
        self._log_weight[0] -= math.log(2)
        self._square = np.cumsum(np.exp(self._log_weight) * self._gap**2)
        # of the sum, without falls that are too rare
        rare = float(np.interp(-math.log(_RARE / terms.n), -special.log_ndtr(-z) - math.log(rate), self._gap))
        self._falls = terms.factor**2 * self._squares(rare) + rate * terms.apart * terms.gain**2

    def _squares(self, end: float) -> float:
        """Return E[(Y - 1)^2; 1 < Y < 1 + end], by quadrature."""
        return float(np.interp(end, self._gap, self._square))

    def _deviation(self, cut: float) -> float:
        """Return the standard deviation of the sum, without jumps and rare falls, or more than 0."""
        return max(math.sqrt(self._terms.n * (self._squares(cut) + self._falls)), float(self._gap[1]))

    def _log_moment(self, tilt: float, cut: float, second_cut: float) -> float:
        """Return the log of the generating function of the sum, with at most one term above the cut."""
        terms, gap, log_weight = self._terms, self._gap, self._log_weight
        inside, jumps = gap <= cut, (gap > cut) & (gap <= second_cut)
        parts = [
            log_weight - tilt * terms.factor * gap,
            log_weight[inside] + tilt * gap[inside],
            np.array([math.log(terms.rate * terms.apart) + tilt * terms.gain]),
        ]
        if terms.rate < 1:
            parts.append(np.array([math.log1p(-terms.rate)]))
        body = numerics.log_sum_exp(np.concatenate(parts))
        # what is beyond the second cut counts as that
        beyond = float(special.log_ndtr(-terms.law.normal(np.asarray(1 + second_cut))))
        sizes = np.append(log_weight[jumps], math.log(terms.rate) + beyond)
        sizes += tilt * np.append(gap[jumps], second_cut)
        jump = numerics.log_sum_exp(sizes) + math.log(terms.n)
        return (terms.n - 1) * body + float(np.logaddexp(body, jump))

    def _saddle(self, cut: float, second_cut: float) -> float:
        """Return the tilt: the saddlepoint of the inversion integral of the price."""
        strike = self._terms.strike

        def size(log_tilt: float) -> float:
            tilt = math.exp(log_tilt)
            return self._log_moment(tilt, cut, second_cut) - tilt * strike - 2 * log_tilt

        deviation = self._deviation(cut)
        low = math.log(1e-3 / (strike + deviation))
        high = math.log(1e3 / deviation + 600.0 / max(cut, float(self._gap[1])))
        # there is a minimum for many small terms, and another for a jump
        tilts = np.linspace(low, high, _TILTS)
        best = int(np.argmin([size(tilt) for tilt in tilts.tolist()]))
        ends = float(tilts[max(best - 1, 0)]), float(tilts[min(best + 1, _TILTS - 1)])
        found = scipy.optimize.minimize_scalar(size, bounds=ends, method="bounded", options={"xatol": _CLOSE})
        return math.exp(found.x)

    def place(self, price: float, *, rest: float | None = None) -> Place:
        """Choose tilt and cuts, from an estimate of the price.

        Where ``rest`` is given, the second cut lies no farther than where jumps add less than that beyond it.
        A lower second cut allows a larger tilt.
        """
        terms, gap, largest = self._terms, self._gap, float(self._gap[-1])
        with np.errstate(divide="ignore"):
            several = np.log(terms.several_jumps(gap))
        # a cut that moves smoothly with the setting: bounds of neighbouring settings are to be in order
        cut = float(np.interp(-math.log(DROPPED * max(price, _SMALLEST)), -several, gap))
        second = terms.strike + math.sqrt(2 * _SHORTFALL) * self._deviation(cut)
        if rest is not None:
            at = terms.law.normal(1 + gap)
            beyond = special.ndtr(1 / terms.law.sigma - at) - (1 + gap) * special.ndtr(-at)
            small = terms.n * terms.rate * beyond <= rest
            second = min(second, float(gap[np.argmax(small)]) if small.any() else largest)
        second = min(max(cut, second), largest)
        return Place(self._saddle(cut, second), cut, second)

    def layout(self, place: Place, steepness: float, effort: Effort) -> Layout:
        """Choose the lattice, for a price that changes with the strike at the relative ``steepness``."""
        terms = self._terms
        tilt, cut, second = place
        shifts = np.concatenate([tilt * _SHIFTS, _DEVIATIONS / self._deviation(cut)])
        found = window(lambda at: self._log_moment(at, cut, second), tilt, shifts.tolist())
        width = found.high - found.low
        step = min(math.sqrt(8 * effort.rounded / (terms.n * terms.rate)), _SPREAD) / steepness
        is_coarse, step = step < width / effort.points, max(step, width / effort.points)
        if terms.gain > step:
            # Where no report is of the blanket, the sum is at the strike: it is to be a lattice point, or
            # rounding would move mass across it. Powers of 2 are the same for neighbouring settings.
            step = terms.gain / 2 ** math.ceil(math.log2(terms.gain / step))
        # larger falls are not told from this one
        fall = min(_FAR / tilt, terms.factor * float(self._gap[-1]))
        farthest = max(cut, second, fall) / step
        widest = min(max(_SPREAD / (steepness * step), farthest / _MOST_CELLS, 1.0), _MOST_STEPS)
        end, last, least = (
            min(max(math.ceil(value / step), 1), _MOST_STEPS) for value in (cut, second, fall)
        )
        return Layout(
            tilt, step, end, max(last, end), -least, 2 ** int(math.log2(widest)), is_coarse, found.shifts
        )
