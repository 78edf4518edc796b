"""Where a contour lies and how it is laid out: tilt, cuts, step and window, chosen by quadrature.

Nothing here is certified: a plan decides how tight the result is, and never whether it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy
from scipy import special

from shuffledp.distributions.lognormal import LogNormal
from shuffledp.distributions.lognormal_sums import tuning
from shuffledp.numerics import log_sum_exp

Side = Literal["call", "put"]


class Place(NamedTuple):
    """Where a contour lies.

    Attributes:
        sign: 1 for calls, -1 for puts.
        strike: the target.
        tilt: theta > 0, of sign * S.
        cut: B; terms above it are treated separately.
        second_cut: a term between the cuts is rounded to the lattice like the others, but at most one such
            term is counted. Equal to ``cut`` where every term above it makes S larger than the strike.
        estimate: of the price.
    """

    sign: int
    strike: float
    tilt: float
    cut: float
    second_cut: float
    estimate: float


class Plan(NamedTuple):
    """How a contour is laid out; nothing in it is certified, it only decides how tight the result is.

    Attributes:
        place: where it lies.
        step: of the lattice.
        start: value below which terms are negligible.
        shifts: by how much the tilt is moved, down and up, to find a window.
        steepness: how fast the price changes with the strike, relative to itself.
    """

    place: Place
    step: float
    start: float
    shifts: tuple[float, float]
    steepness: float


class Window(NamedTuple):
    """What holds nearly all of a tilted law.

    Attributes:
        low: lower end.
        high: upper end.
        shifts: by how much the tilt was moved down for the lower end, and up for the upper one.
    """

    low: float
    high: float
    shifts: tuple[float, float]


def window(log_moment: Callable[[float], float], tilt: float, shifts: Sequence[float]) -> Window:
    """Find a window by Chernoff's bound.

    The law tilted by ``tilt`` has a mass of at most e^-OUTSIDE beyond either end.

    Args:
        log_moment: log of the generating function at a tilt.
        tilt: the tilt of the law.
        shifts: numbers > 0, of which those that give the narrowest window are used.
    """
    at = log_moment(tilt)
    below = [(log_moment(tilt - shift) - at + tuning.OUTSIDE) / shift for shift in shifts]
    above = [(log_moment(tilt + shift) - at + tuning.OUTSIDE) / shift for shift in shifts]
    best = shifts[int(np.argmin(below))], shifts[int(np.argmin(above))]
    return Window(-min(below), min(above), best)


class Planner:
    """Chooses tilt, step and window by quadrature with the density itself."""

    def __init__(self, law: LogNormal, n: int) -> None:
        self._law, self._n = law, n
        z = np.linspace(
            -26.0,
            1 / law.sigma + 24.0,
            math.ceil(tuning.NODES * max(1.0, tuning.NODES_FACTOR / law.sigma)),
        )
        self._y = law.value(z)
        self._log_weight = -0.5 * z * z + math.log((z[1] - z[0]) / math.sqrt(2 * math.pi))
        self._deviation = math.sqrt(n * math.expm1(min(1 / law.sigma**2, 600.0)))

    def _log_moment(self, tilt: float, cut: float, second_cut: float) -> float:
        """Return the log of the generating function of the sum with at most one term above the cut."""
        exponents = self._log_weight + tilt * self._y
        body = log_sum_exp(exponents[self._y <= cut])
        jumps = exponents[(self._y > cut) & (self._y <= second_cut)]
        if not jumps.size:
            return self._n * body
        return (self._n - 1) * body + float(np.logaddexp(body, math.log(self._n) + log_sum_exp(jumps)))

    def _saddle(
        self, sign: int, strike: float, cut: float, second: float, known: float
    ) -> tuple[float, float]:
        """Return the tilt to use and an estimate of the price, of which the part ``known`` is known already.

        The tilt is the saddlepoint. Where the known part dominates, the rest needs few digits, and the tilt
        is the smallest one that gives them.
        """

        def size(log_tilt: float) -> float:
            tilt = math.exp(log_tilt)
            return self._log_moment(sign * tilt, cut, second) - sign * tilt * strike - 2 * log_tilt

        low = math.log(1e-3 / (strike + self._deviation))
        high = math.log(max(1e4 * self._n / strike, 1e3 / self._deviation))
        found = scipy.optimize.minimize_scalar(
            size, bounds=(low, high), method="bounded", options={"xatol": 1e-3}
        )
        best, spread = float(found.x), 0.02
        around = [size(best + move) for move in (-spread, 0.0, spread)]
        curvature = max((around[0] + around[2] - 2 * around[1]) / spread**2, 1e-3)
        value = around[1] + best - 0.5 * math.log(2 * math.pi * curvature)
        value = math.exp(min(max(value, -700.0), 700.0))
        enough = math.log(known) + tuning.SLACK if known > 0 else -math.inf
        if around[1] + best < enough:
            low = min(max(low, math.log(2 / strike)), best)
            while best - low > 1e-2:
                middle = (low + best) / 2
                low, best = (low, middle) if size(middle) + middle < enough else (middle, best)
        return math.exp(best), value + known

    def place(self, side: Side, strike: float, estimate: float | None = None) -> Place:
        """Choose cuts and tilt for one strike, from an estimate of the price if there is one."""
        return self._call(strike, estimate) if side == "call" else self._put(strike)

    def _call(self, strike: float, given: float | None) -> Place:
        law, n, y = self._law, self._n, self._y
        z = law.normal(y)
        above, mean_above = special.ndtr(-z), special.ndtr(1 / law.sigma - z)
        two_or_more = mean_above * n * above + (n * above) ** 2 / 2
        spread = np.sqrt(n * np.cumsum(np.exp(self._log_weight) * y * y))
        beyond = n * (np.maximum(mean_above - y * above, 0.0) + above * np.minimum(spread, n))
        # a lower bound by the convex order: one term moves, and the others stay at their mean
        known, alone = n * law.call(strike)[0], law.call(max(strike - n + 1, 1.0))[0]
        estimate = given or max(known, alone, 1e-300)
        for remaining in range(0 if given else 2, -1, -1):
            enough = two_or_more <= tuning.DROPPED * estimate / n
            first = int(np.argmax(enough)) if enough.any() else y.size - 1
            cut = float(y[first]) if enough.any() else strike
            cut = min(max(cut, tuning.LEAST_CUT * (strike - n)), strike)
            if remaining:
                # the price is made by many small terms, or by a single large one
                estimate = self._saddle(1, strike, cut, cut, known)[1]
                estimate += n * alone if strike - n > cut else 0.0
        # a term above the second cut makes S larger than K unless the others fall short of their mean by more
        # than they do with probability e^-SHORTFALL
        shortfall = spread[int(np.searchsorted(y, cut)) - 1] * math.sqrt(2 * tuning.SHORTFALL)
        negligible = beyond <= tuning.DROPPED / 10 * estimate
        last = float(y[int(np.argmax(negligible))]) if negligible.any() else strike
        second = max(min(last, strike, strike - n + float(shortfall)), cut)
        tilt, _ = self._saddle(1, strike, cut, second, known)
        return Place(1, strike, tilt, cut, second, estimate)

    def _put(self, strike: float) -> Place:
        # terms above the strike make the put worthless; some above it are kept, as other strikes need them
        cut = tuning.MOST_CUT * strike
        if cut <= self._y[0]:
            return Place(-1, strike, 1 / strike, cut, cut, 0.0)
        for _ in range(2):
            tilt, estimate = self._saddle(-1, strike, cut, cut, 0.0)
            weights = np.exp(self._log_weight - tilt * (self._y - self._y[0]))
            tail = np.cumsum(weights[::-1])[::-1]
            cut = min(cut, float(self._y[int(np.argmax(tail < tuning.DROPPED_BY_PUTS / self._n * tail[0]))]))
        return Place(-1, strike, tilt, cut, cut, estimate)

    def plan(self, place: Place, steepness: float) -> Plan:
        """Choose step and window, for a price that changes with the strike at the relative ``steepness``."""
        n, y = self._n, self._y
        sign, tilt, cut, second = place.sign, place.tilt, place.cut, place.second_cut
        known = y <= second
        y = y[known]
        exponents = self._log_weight[known] + sign * tilt * y
        in_body = y <= cut
        exponents[~in_body] += math.log(n)
        body, total = log_sum_exp(exponents[in_body]), log_sum_exp(exponents)
        # of the n terms the last is the one that may lie above the cut; the others are of the body
        tilted = np.exp(np.maximum(exponents - total, -600.0))
        weights = tilted + (n - 1) * np.where(in_body, np.exp(np.minimum(exponents - body, 0.0)), 0.0)

        # the rounding of a term y changes the variance by step^2/4, or by step y + y^2 where that is less
        steps = y / (math.sqrt(0.5) - 0.5)
        coarse = steps * np.cumsum(weights * y) + np.cumsum(weights * y * y)
        fine = steps**2 / 4 * np.cumsum(weights[::-1])[::-1]
        errors = 0.5 * steepness**2 * (coarse + fine)

        def step_for(tolerance: float) -> float:
            reached = int(np.searchsorted(errors, tolerance))
            below = float(steps[0]) * math.sqrt(tolerance / max(float(errors[0]), 1e-300))
            return min(float(steps[reached - 1]) if reached else below, 0.05 / steepness)

        variance = float((weights * y**2).sum()) - float((weights * y).sum()) ** 2 / n
        deviation = math.sqrt(max(variance, 1e-12 / tilt**2))
        trial = np.unique(
            np.concatenate(
                [tilt * np.geomspace(0.02, 20.0, 8), np.array([1.0, 2.0, 4.0, 6.0, 8.0, 11.0]) / deviation]
            )
        )
        low, high, shifts = window(lambda t: self._log_moment(sign * t, cut, second), tilt, trial.tolist())
        usual = max(
            step_for(tuning.TOLERANCE), min(step_for(tuning.LOOSEST), (high - low) / tuning.USUAL_POINTS)
        )
        most = min((high - low) / tuning.FEWEST_POINTS, cut / tuning.FEWEST_CELLS)
        step = max(min(usual, most), (high - low) / tuning.MOST_POINTS)
        # a term below the start is split over 0 and the start, which no tilt in use may make count
        negligible = np.ones(y.shape, dtype=bool)
        for move in (0.0, -shifts[0], shifts[1]):
            moment = log_sum_exp((exponents + move * sign * y)[in_body])
            below = special.log_ndtr(self._law.normal(y)) + np.maximum((tilt + move) * sign * y, 0.0)
            negligible &= below < moment - tuning.NEGLIGIBLE - math.log(n)
        start = float(y[negligible].max(initial=0.0))
        return Plan(place, step, start, shifts, steepness)
