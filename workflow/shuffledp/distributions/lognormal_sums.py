"""E(S - K)_+ and E(K - S)_+ for a sum S of n independent log-normal terms of mean 1, with certified errors.

The term's law is rounded to a lattice in convex order (shuffledp.distributions.lognormal), up or down, so
that the value of the sum errs to the same side, by an amount of second order in the step. The law of the sum
comes from the n-th power of a discrete Fourier transform, of the law tilted by e^{theta Y} with theta chosen
so that K lies in the middle: nothing that matters is small then, and the cost does not depend on n but
through the number of lattice points, which grows like sqrt(n).

A log-normal has no exponential moments. Terms above a cut B, of which two or more together are negligible (or
every one of which exceeds K), are taken apart: their number is 0 or 1, and what more of them could add is
bounded (or known in closed form).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from scipy import fft, optimize, special

from shuffledp.checks import FloatArray
from shuffledp.distributions.lognormal import MASS_ERROR, LogNormal, Rounded, rounded_down, rounded_up
from shuffledp.numerics import EPSILON, log_sum_exp

Side = Literal["call", "put"]
Bound = Literal["upper", "lower"]

_NODES = 6000  # of the quadrature by which tilt, step and window are chosen
_NODES_PER_RATE = 0.25  # how the same grow where terms vary fast, with 1/sigma
_PLANNING = 60_000  # points of a contour that take as long as the choice of its plan
_TOLERANCE, _LOOSEST = 1e-4, 5e-4  # relative distance of upper and lower values that is aimed at
_FEWEST_POINTS, _USUAL_POINTS, _MOST_POINTS = 2**9, 2**19, 3 * 2**20  # of the window
_FEWEST_CELLS = 64  # of the lattice, up to the cut
_FINE = 1024  # cells of the lattice in the distance of a point to 1, where they may be wider than the step
_LEAST_CUT = 0.02  # of the distance from the mean to the strike
_MOST_CUT = 2.0  # of the strike of a put
_DROPPED_BY_PUTS = 1e-8  # tilted mass above the cut
_DROPPED = 1e-5  # what two terms above the cut may add, of the price
_SHORTFALL = 14.0  # nats: how unlikely the terms below the cut are to fall short of the second cut
_SLACK = 5.0  # nats above the part of a price that is known in closed form, to tell the rest less exactly
_OUTSIDE = 27.0  # nats: tilted mass beyond either end of the window
_NEGLIGIBLE = 50.0  # nats
_TINY = 1e-280  # probabilities below which no conditional mean is taken
_SMALLEST = 1e-100  # price of a call over n, of a put over its strike, below which none is computed
_REACH = 300.0  # inverse tilts from the target to the strikes that a contour may serve
_ACCURATE = 2e-5  # error over price up to which a contour serves
_STEEPER = 1.2  # how much faster than planned the price may change
_WORSE = 3.0  # error over price, relative to that at the target, up to which a contour serves
_NEARER = 0.95  # power of strike/n at which a price is tried if there is none at the strike
_ATTEMPTS = 4  # contours tried for one strike


class _Price(NamedTuple):
    """A price for the rounded law of the terms.

    Attributes:
        value: as computed.
        error: bound on its error in either direction, absolute.
        missing: bound on what was left out and makes the price of a call larger; for a put, bound on what
            terms above the cut add, which the rounding counts in full (upward) or not at all (downward).
    """

    value: float
    error: float
    missing: float = 0.0


class _Place(NamedTuple):
    """Where a contour lies.

    Attributes:
        sign: 1 for calls, -1 for puts.
        strike: the target.
        tilt: theta > 0, of sign * S.
        cut: B; all terms above are taken apart.
        second_cut: terms between the two are rounded like the others. Equal to ``cut`` where every term above
            it makes S larger than the strike.
        estimate: of the price.
    """

    sign: int
    strike: float
    tilt: float
    cut: float
    second_cut: float
    estimate: float


class _Plan(NamedTuple):
    """How a contour is laid out; nothing in it is certified, it only decides how tight the result is.

    Attributes:
        place: where it lies.
        step: of the lattice.
        start: below it, terms are negligible.
        shifts: tilts, relative to that of ``place``, by which a window is found.
        rate: how fast the price changes with the strike, relative to itself.
    """

    place: _Place
    step: float
    start: float
    shifts: FloatArray
    rate: float


def _window(
    log_moment: Callable[[float], float], tilt: float, shifts: FloatArray
) -> tuple[float, float, float]:
    """Return a window outside which the law tilted by ``tilt`` has mass e^-_OUTSIDE on either side at most
    (Chernoff), and the shift that gave its lower end."""
    at = log_moment(tilt)
    below = (np.array([log_moment(tilt - s) for s in shifts]) - at + _OUTSIDE) / shifts
    above = (np.array([log_moment(tilt + s) for s in shifts]) - at + _OUTSIDE) / shifts
    best = int(np.argmin(below))
    return -float(below[best]), float(above.min()), float(shifts[best])


class _Planner:
    """Chooses tilt, step and window by quadrature with the density itself."""

    def __init__(self, law: LogNormal, n: int) -> None:
        self._law, self._n = law, n
        z = np.linspace(
            -26.0, 1 / law.sigma + 24.0, math.ceil(_NODES * max(1.0, _NODES_PER_RATE / law.sigma))
        )
        self._y = law.value(z)
        self._log_weight = -0.5 * z * z + math.log((z[1] - z[0]) / math.sqrt(2 * math.pi))
        self._deviation = math.sqrt(n * math.expm1(min(1 / law.sigma**2, 600.0)))

    def _log_moment(self, tilt: float, cut: float, second_cut: float) -> float:
        """Log of the generating function of the sum with at most one term above the cut."""
        exponents = self._log_weight + tilt * self._y
        body = log_sum_exp(exponents[self._y <= cut])
        jumps = exponents[(self._y > cut) & (self._y <= second_cut)]
        if not jumps.size:
            return self._n * body
        return (self._n - 1) * body + float(np.logaddexp(body, math.log(self._n) + log_sum_exp(jumps)))

    def _saddle(
        self, sign: int, strike: float, cut: float, second: float, known: float
    ) -> tuple[float, float]:
        """The tilt to be used, and an estimate of the price from it, of which ``known`` is got otherwise.

        The tilt is that of the steepest descent, or a smaller one where that serves to tell the price.
        """

        def size(log_tilt: float) -> float:
            tilt = math.exp(log_tilt)
            return self._log_moment(sign * tilt, cut, second) - sign * tilt * strike - 2 * log_tilt

        low = math.log(1e-3 / (strike + self._deviation))
        high = math.log(max(1e4 * self._n / strike, 1e3 / self._deviation))
        found = optimize.minimize_scalar(size, bounds=(low, high), method="bounded", options={"xatol": 1e-3})
        best, spread = float(found.x), 0.02
        around = [size(best + move) for move in (-spread, 0.0, spread)]
        curvature = max((around[0] + around[2] - 2 * around[1]) / spread**2, 1e-3)
        value = around[1] + best - 0.5 * math.log(2 * math.pi * curvature)
        value = math.exp(min(max(value, -700.0), 700.0))
        enough = math.log(known) + _SLACK if known > 0 else -math.inf
        if around[1] + best < enough:
            low = min(max(low, math.log(2 / strike)), best)
            while best - low > 1e-2:
                middle = (low + best) / 2
                low, best = (low, middle) if size(middle) + middle < enough else (middle, best)
        return math.exp(best), value + known

    def place(self, side: Side, strike: float, estimate: float | None = None) -> _Place:
        """Choose cuts and tilt for one strike, from an estimate of the price if there is one."""
        return self._call(strike, estimate) if side == "call" else self._put(strike)

    def _call(self, strike: float, given: float | None) -> _Place:
        law, n, y = self._law, self._n, self._y
        z = law.normal(y)
        above, mean_above = special.ndtr(-z), special.ndtr(1 / law.sigma - z)
        two_or_more = mean_above * n * above + (n * above) ** 2 / 2
        spread = np.sqrt(n * np.cumsum(np.exp(self._log_weight) * y * y))
        beyond = n * (np.maximum(mean_above - y * above, 0.0) + above * np.minimum(spread, n))
        # at least, by the convex order: one term moves, and the others stay at their mean
        known, alone = n * law.call(strike)[0], law.call(max(strike - n + 1, 1.0))[0]
        estimate = given or max(known, alone, 1e-300)
        for remaining in range(0 if given else 2, -1, -1):
            enough = two_or_more <= _DROPPED * estimate / n
            first = int(np.argmax(enough)) if enough.any() else y.size - 1
            cut = float(y[first]) if enough.any() else strike
            cut = min(max(cut, _LEAST_CUT * (strike - n)), strike)
            if remaining:
                # many small terms, or one large one
                estimate = self._saddle(1, strike, cut, cut, known)[1]
                estimate += n * alone if strike - n > cut else 0.0
        # a term beyond makes S larger than K, if the others do not fall short by more than they ever do
        shortfall = spread[int(np.searchsorted(y, cut)) - 1] * math.sqrt(2 * _SHORTFALL)
        negligible = beyond <= _DROPPED / 10 * estimate
        last = float(y[int(np.argmax(negligible))]) if negligible.any() else strike
        second = max(min(last, strike, strike - n + float(shortfall)), cut)
        tilt, _ = self._saddle(1, strike, cut, second, known)
        return _Place(1, strike, tilt, cut, second, estimate)

    def _put(self, strike: float) -> _Place:
        # terms above the strike make the put worthless; some are kept for the sake of other strikes
        cut = _MOST_CUT * strike
        if cut <= self._y[0]:
            return _Place(-1, strike, 1 / strike, cut, cut, 0.0)
        for _ in range(2):
            tilt, estimate = self._saddle(-1, strike, cut, cut, 0.0)
            weights = np.exp(self._log_weight - tilt * (self._y - self._y[0]))
            tail = np.cumsum(weights[::-1])[::-1]
            cut = min(cut, float(self._y[int(np.argmax(tail < _DROPPED_BY_PUTS / self._n * tail[0]))]))
        return _Place(-1, strike, tilt, cut, cut, estimate)

    def plan(self, place: _Place, rate: float) -> _Plan:
        """Choose step and window, for a price that changes at the relative rate ``rate`` with the strike."""
        n, y = self._n, self._y
        sign, tilt, cut, second = place.sign, place.tilt, place.cut, place.second_cut
        known = y <= second
        y = y[known]
        exponents = self._log_weight[known] + sign * tilt * y
        in_body = y <= cut
        exponents[~in_body] += math.log(n)
        body, total = log_sum_exp(exponents[in_body]), log_sum_exp(exponents)
        # the last of the n terms is the one that may lie above the cut
        tilted = np.exp(np.maximum(exponents - total, -600.0))
        weights = tilted + (n - 1) * np.where(in_body, np.exp(np.minimum(exponents - body, 0.0)), 0.0)

        # a term y adds step^2/4 to the variances that rounding changes, or step y + y^2 where that is less
        steps = y / (math.sqrt(0.5) - 0.5)
        coarse = steps * np.cumsum(weights * y) + np.cumsum(weights * y * y)
        fine = steps**2 / 4 * np.cumsum(weights[::-1])[::-1]
        errors = 0.5 * rate**2 * (coarse + fine)

        def step_for(tolerance: float) -> float:
            reached = int(np.searchsorted(errors, tolerance))
            below = float(steps[0]) * math.sqrt(tolerance / max(float(errors[0]), 1e-300))
            return min(float(steps[reached - 1]) if reached else below, 0.05 / rate)

        variance = float((weights * y**2).sum()) - float((weights * y).sum()) ** 2 / n
        deviation = math.sqrt(max(variance, 1e-12 / tilt**2))
        trial = np.unique(
            np.concatenate(
                [tilt * np.geomspace(0.02, 20.0, 8), np.array([1.0, 2.0, 4.0, 6.0, 8.0, 11.0]) / deviation]
            )
        )
        low, high, lower_shift = _window(lambda t: self._log_moment(sign * t, cut, second), tilt, trial)
        usual = max(step_for(_TOLERANCE), min(step_for(_LOOSEST), (high - low) / _USUAL_POINTS))
        most = min((high - low) / _FEWEST_POINTS, cut / _FEWEST_CELLS)
        step = max(min(usual, most), (high - low) / _MOST_POINTS)
        # what lies below goes in part to 0, in part to the start, where no tilt in use may make it count
        negligible = np.ones(y.shape, dtype=bool)
        for move in (0.0, -lower_shift):
            moment = log_sum_exp((exponents + move * sign * y)[in_body])
            below = special.log_ndtr(self._law.normal(y)) + np.maximum((tilt + move) * sign * y, 0.0)
            negligible &= below < moment - _NEGLIGIBLE - math.log(n)
        start = float(y[negligible].max(initial=0.0))
        return _Plan(place, step, start, trial, rate)


class _Terms(NamedTuple):
    """The law of a term on the lattice anchor + step * index, and where it was cut.

    Attributes:
        anchor: point 0 of the lattice.
        body: terms up to the cut.
        jumps: terms between the cuts; empty where there is one cut.
        cut, second_cut: lattice points at or above those of the plan.
    """

    anchor: float
    body: Rounded
    jumps: Rounded
    cut: float
    second_cut: float


def _indices(start: float, step: float, anchor: float, end: int) -> np.ndarray:
    """Indices of lattice points from ``start`` to ``end``, sparser where they are far above 1."""
    first = max(math.ceil((start - anchor) / step), 1)
    uniform = max(math.ceil((1.0 - anchor) / step), 0) + 2 * _FINE
    runs = [np.arange(first, min(uniform, end) + 1, dtype=np.int64)]
    base, gap = uniform - 2 * _FINE, 2
    reached = max(uniform, first)
    while reached < end:
        stop = min(base + 2 * _FINE * gap, end)
        runs.append(np.arange(reached + gap, stop + 1, gap, dtype=np.int64))
        reached, gap = max(stop, reached), 2 * gap
    index = np.concatenate(runs)
    return index if index.size and index[-1] == end else np.append(index, end)


def _ranges(plan: _Plan, start: float, anchor: float) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the points for the terms up to the cut, and for those between the cuts."""
    place, step = plan.place, plan.step
    end, last = (math.ceil((cut - anchor) / step) for cut in (place.cut, place.second_cut))
    beyond = _indices(start, step, anchor, last)
    return _indices(start, step, anchor, end), np.insert(beyond[beyond > end], 0, end)


def _round_up(law: LogNormal, plan: _Plan) -> _Terms:
    place, step = plan.place, plan.step
    index, beyond = _ranges(plan, plan.start, 0.0)
    cut, second = step * float(index[-1]), step * float(beyond[-1])
    body = rounded_up(law, np.insert(index, 0, 0), step=step, anchor=0.0)
    if place.sign < 0 and cut < place.strike:
        # terms above the cut count as the cut, which raises E(K - S)_+
        body = Rounded(np.append(body.index, index[-1]), np.append(body.mass, law.above(cut)))
    return _Terms(0.0, body, rounded_up(law, beyond, step=step, anchor=0.0), cut, second)


def _round_down(law: LogNormal, plan: _Plan) -> _Terms:
    step = plan.step
    # the least terms are put together at their mean; more of them where the cells next to them are too wide
    for cells in (0.5, 1.0, 2.0, 4.0, 8.0):
        start = max(plan.start, cells * step)
        below = law.below(start)
        anchor = law.mean_below(start) / below if below > _TINY else 0.0
        index, beyond = _ranges(plan, start, anchor)
        body = rounded_down(law, index, start=start, step=step, anchor=anchor)
        if body.index.size:
            break
    if below > _TINY:
        body = Rounded(np.insert(body.index, 0, 0), np.insert(body.mass, 0, below))
    cut, second = anchor + step * float(index[-1]), anchor + step * float(beyond[-1])
    jumps = rounded_down(law, beyond, start=cut, step=step, anchor=anchor)
    return _Terms(anchor, body, jumps, cut, second if jumps.index.size else cut)


class _Spectrum(NamedTuple):
    """Fourier transform of a tilted law.

    Attributes:
        values: at the frequencies from 0 on.
        error: bound on the error of each.
        centre: index of the lattice point from which the law's points are counted.
    """

    values: FloatArray
    error: float
    centre: int


def _spectrum(exponents: FloatArray, index: np.ndarray, points: int) -> _Spectrum:
    """Transform the law of masses proportional to exp(exponents), from its largest mass.

    1 - phi comes from the other masses alone: where most of the mass sits at one point, so do its digits.
    """
    tilted = np.exp(exponents - log_sum_exp(exponents))
    mode = int(np.argmax(tilted))
    centre = int(index[mode])
    tilted[mode] = 0.0
    dense = np.bincount(np.mod(index - centre, points), weights=tilted, minlength=points)
    others = float(tilted.sum())
    error = EPSILON * (4 + 8 * (math.log2(points) + 4) * others)
    return _Spectrum(1.0 + (fft.rfft(dense) - others), error, centre)


class _Contour:
    """The tilted law of sign * S on a window, ready to give prices at strikes inside.

    The terms are those of ``terms``, at most one of them above the cut.
    """

    def __init__(self, law: LogNormal, n: int, bound: Bound, plan: _Plan) -> None:
        self._n, self._step = n, plan.step
        self._sign, self._target, self._tilt = plan.place.sign, plan.place.strike, plan.place.tilt
        self.planned_rate = plan.rate
        self.attained = 0.0  # relative error at the target
        self.terms = terms = _round_down(law, plan) if bound == "lower" else _round_up(law, plan)
        # signed, so that a put is a call
        sign = self._sign
        self._body = sign * terms.body.index, np.log(terms.body.mass)
        self._last = (
            sign * np.concatenate([terms.body.index, terms.jumps.index]),
            np.log(np.concatenate([terms.body.mass, n * terms.jumps.mass])),
        )
        self._anchor = sign * terms.anchor
        self._log_front = self._log_moment(self._tilt) - self._tilt * sign * self._target
        self._transform(*self._window(plan.shifts))

    def _exponents(self, part: tuple[np.ndarray, FloatArray], tilt: float) -> FloatArray:
        return part[1] + tilt * (self._anchor + self._step * part[0])

    def _log_moment(self, tilt: float) -> float:
        """Log of the generating function, as in the plan."""
        body, last = (log_sum_exp(self._exponents(part, tilt)) for part in (self._body, self._last))
        return (self._n - 1) * body + last

    def _window(self, shifts: FloatArray) -> tuple[int, int]:
        """Return the first lattice point of the window, counted from n times the anchor, and their number."""
        low, high, _ = _window(self._log_moment, self._tilt, shifts)
        least, most = (
            (self._n - 1) * int(extreme(self._body[0])) + int(extreme(self._last[0]))
            for extreme in (np.min, np.max)
        )
        start = self._n * self._anchor
        first = max(math.floor((low - start) / self._step) - 1, least)
        points = min(math.ceil((high - start) / self._step) + 1, most) - first + 1
        # what lies outside is missing there, and folds back into the window
        self._outside = 4 * math.exp(-_OUTSIDE)
        if points > 2 * _MOST_POINTS:
            points, self._outside = 2 * _MOST_POINTS, math.inf
        return first, fft.next_fast_len(max(points, 16), real=True)

    def _transform(self, first: int, points: int) -> None:
        n = self._n
        body, last = (
            _spectrum(self._exponents(part, self._tilt), part[0], points) for part in (self._body, self._last)
        )
        size = np.abs(body.values)
        with np.errstate(divide="ignore", invalid="ignore"):
            power = np.exp((n - 1) * np.log(body.values))
        power[size == 0] = 0.0
        error = (n - 1) * size ** (n - 2) * (body.error + size * 16 * EPSILON)
        error = error * np.abs(last.values) + np.abs(power) * (last.error + 4 * EPSILON)
        power *= last.values
        error += np.abs(power) * 8 * EPSILON * (math.log2(points) + 4)
        multiplicity = np.full(power.size, 2.0)
        multiplicity[0] = 1.0
        if points % 2 == 0:
            multiplicity[-1] = 1.0
        # Euclidean norm of the errors of the tilted masses
        self._noise = math.sqrt(float(multiplicity @ (error * error)) / points)
        shift = (n - 1) * body.centre + last.centre - first
        mass = np.roll(fft.irfft(power, points), shift % points)
        ahead = self._step * (np.arange(points) + first) + (n * self._anchor - self._sign * self._target)
        # nothing is asked of what lies farther below the target
        mass *= np.exp(-np.clip(self._tilt * ahead, -_REACH, 2 * _REACH))
        self._start = float(ahead[0])
        self._above = np.cumsum(mass[::-1])[::-1]
        self._mean_above = np.cumsum((mass * ahead)[::-1])[::-1]

    @property
    def points(self) -> int:
        """Number of points of the window."""
        return self._above.size

    @property
    def is_put(self) -> bool:
        """Whether this is a contour for puts."""
        return self._sign < 0

    def _place(self, ahead: float) -> int:
        """The first point of the window more than ``ahead`` beyond the target."""
        return min(max(math.floor((ahead - self._start) / self._step) + 1, 0), self._above.size - 1)

    def price(self, strike: float) -> _Price:
        """Return the price, without what terms above the cuts add."""
        theta, points = self._tilt, self._above.size
        move = self._sign * (strike - self._target)
        place = self._place(move)
        if place == 0 or abs(move) * theta > _REACH or self._log_front > 2 * _REACH:
            return _Price(0.0, math.inf)
        front, above, mean = math.exp(self._log_front), 0.0, 0.0
        if place < points - 1:  # beyond, there is what lies outside of the window, at most
            above, mean = float(self._above[place]), float(self._mean_above[place])
        scaled = mean - move * above
        # the errors of the masses meet the weights u e^{-theta u}, u > 0: by Cauchy and Schwarz, and at most
        norm = math.sqrt(1 / (4 * theta * self._step) + math.exp(-2)) / theta
        error = math.exp(-theta * move) * (self._noise * norm + self._outside / (math.e * theta))
        error += 4 * EPSILON * points * (abs(mean) + abs(move) * above)
        relative = self._n * (4 * MASS_ERROR + 2 * EPSILON * (512 + theta * self.terms.second_cut))
        relative += 32 * EPSILON * theta * (strike + self._target)
        return _Price(front * scaled, front * (error + relative * abs(scaled)))

    def rate(self, strike: float, price: float) -> float:
        """Return the root of the price's second derivative over the price: what the rounding of terms costs
        is proportional to its square."""
        move, reach = self._sign * (strike - self._target), 0.25 / self.planned_rate
        low, high = (float(self._above[self._place(move + side)]) for side in (-reach, reach))
        # a difference of tails, which noise may make negative
        return math.sqrt(max(low - high, 0.0) / (2 * reach * price)) * math.exp(self._log_front / 2)

    def bound_on_others(self, strike: float, mean: float) -> float:
        """Bound E(S' - strike)_+ from above, for n - 1 terms below the cut whose sum has the given mean."""
        if strike <= 0:
            return mean - strike
        sign = 1 if strike > mean else -1
        tilts, log_moments = self._moments_of_others[sign]
        # u <= e^{tilt u - 1} / tilt
        bound = float(
            np.exp(np.minimum(log_moments - sign * tilts * strike, 600.0) - 1 - np.log(tilts)).min()
        )
        return bound if sign > 0 else bound + mean - strike

    def bound_on_puts(self, strike: float, above: float) -> float:
        """Bound E[(strike - S)_+; one term or more above the cut], for terms above it with probability
        ``above``; they are rounded to the cut, or left out, if the strike lies above it."""
        if strike <= self.terms.cut or above == 0:
            return 0.0
        theta, cut = self._tilt, self.terms.cut
        one = np.logaddexp(log_sum_exp(self._exponents(self._body, theta)), math.log(above) - theta * cut)
        # k - S' <= e^{theta (k - S') - 1} / theta for the n - 1 others, k = strike - cut
        exponent = (self._n - 1) * float(one) + theta * (strike - cut)
        return self._n * above * math.exp(min(exponent, 600.0) - 1) / theta

    @functools.cached_property
    def _moments_of_others(self) -> dict[int, tuple[FloatArray, FloatArray]]:
        """Tilts, and logs of the generating function of the n - 1 terms there, for either sign."""
        points, log_mass = self.terms.anchor + self._step * self.terms.body.index, self._body[1]
        square = (self._n - 1) * float(self.terms.body.mass @ points**2)
        # a normal law asks for tilts of the first kind, a few large terms for those of the second
        tilts = np.outer([0.5, 1.0, 2.0, 4.0, 8.0, 16.0], [1 / math.sqrt(square), 1 / self.terms.cut]).ravel()
        total = log_sum_exp(log_mass)
        moments = {
            sign: [log_sum_exp(log_mass + sign * tilt * points) - total for tilt in tilts] for sign in (1, -1)
        }
        return {sign: (tilts, (self._n - 1) * np.array(found)) for sign, found in moments.items()}


class LogNormalSum:
    """The sum S of n independent log-normal terms of mean 1, exp(Z/sigma - 1/(2 sigma^2)).

    Contours are kept from one price to the next. So prices are had cheaply in the order of their strikes,
    from the far ones to those near n, and differ within their errors with what was asked before.

    Args:
        n: number of terms, >= 1.
        sigma: between 0.1 and 1000.

    Attributes:
        work: points of all contours so far, and as many as planning them costs: some 4e6 take a second.
    """

    def __init__(self, n: int, sigma: float) -> None:
        self.n, self.sigma, self._law = n, sigma, LogNormal(sigma)
        self._planner = _Planner(self._law, n)
        self._contours: dict[tuple[Side, Bound], _Contour] = {}
        self._farthest: dict[Side, float] = {}
        self.work = 0

    def estimate(self, side: Side, strike: float) -> float:
        """Return an estimate of a price, without any claim but that it is cheap."""
        if self.n == 1:
            return self._single(side, strike)[0]
        return self._planner.place(side, strike).estimate

    def price(self, side: Side, strike: float, bound: Bound) -> float:
        """Return a bound on E(S - K)_+ ("call") or E(K - S)_+ ("put").

        Args:
            side: "call" or "put".
            strike: K > 0; the bounds are tight for a call where K >= n, for a put where K <= n.
            bound: "upper" or "lower".

        Returns:
            A number that errs on the side that ``bound`` says. For calls below 1e-100 n and puts below 1e-100
            of their strike, the lower bound is 0 and the upper one, or its share of the strike, no longer
            falls.
        """
        if self.n == 1:
            value, error = self._single(side, strike)
            return value + error if bound == "upper" else max(value - error, 0.0)
        contour = self._contours.get((side, bound))
        found = self._by(contour, strike) if contour else None
        if contour is None or found is None or not self._serves(contour, strike, found):
            place = self._planner.place(side, strike)
            if place.estimate < self._least(side, strike):
                return 0.0 if bound == "lower" else self._price_from(self._last_strike(side), side, strike)
            found = self._by_a_new_contour(place, side, bound)
            nearer = self.n * (strike / self.n) ** _NEARER
            if bound == "upper" and not found.value > found.error and nearer != strike:
                return self._price_from(nearer, side, strike)
        if bound == "lower":
            return max(found.value - found.error, 0.0)
        # S/n is a mean, and a call or a put on a mean is worth no more than on one term
        value, error = self._single(side, strike / self.n)
        missing = found.missing if side == "call" else 0.0
        return min(found.value + found.error + missing, self.n * (value + error))

    def _price_from(self, nearer: float, side: Side, strike: float) -> float:
        """An upper bound from a strike nearer to the mean: calls fall with the strike, ratios of puts to it
        rise."""
        price = self.price(side, nearer, "upper")
        return price if side == "call" else price * (strike / nearer) * (1 + 8 * EPSILON)

    def _least(self, side: Side, strike: float) -> float:
        return _SMALLEST * (self.n if side == "call" else strike)

    def _single(self, side: Side, strike: float) -> tuple[float, float]:
        return self._law.call(strike) if side == "call" else self._law.put(strike)

    def _serves(self, contour: _Contour, strike: float, found: _Price) -> bool:
        if not found.error + found.missing <= max(_ACCURATE, _WORSE * contour.attained) * found.value:
            return False
        return contour.rate(strike, found.value) <= _STEEPER * contour.planned_rate

    def _by_a_new_contour(self, place: _Place, side: Side, bound: Bound) -> _Price:
        strike, rate = place.strike, place.tilt
        for _ in range(_ATTEMPTS):
            contour = _Contour(self._law, self.n, bound, self._planner.plan(place, rate))
            self.work += contour.points + _PLANNING
            found = self._by(contour, strike)
            if not found.value > found.error:
                break
            actual = contour.rate(strike, found.value)
            if side == "call" and found.missing > _ACCURATE * found.value:
                place = self._planner.place(side, strike, estimate=found.value)
            elif actual <= _STEEPER * rate:
                break
            rate = max(rate, actual)
        # where no contour is accurate, others would not serve neighbouring strikes better
        contour.attained = (found.error + found.missing) / found.value if found.value > found.error else 0.0
        self._contours[side, bound] = contour
        return found

    def _last_strike(self, side: Side) -> float:
        """A strike beyond which prices are too small to be computed."""
        if side not in self._farthest:
            # where a single term is worth less
            far = (0.5 / self.sigma + math.sqrt(-2 * math.log(_SMALLEST))) / self.sigma
            near, far = 0.0, far if side == "call" else -far
            while abs(far - near) > 1e-2 * abs(far):
                middle = (near + far) / 2
                strike = self.n * math.exp(middle)
                estimate = self._planner.place(side, strike).estimate
                is_beyond = estimate < 10 * self._least(side, strike)
                near, far = (near, middle) if is_beyond else (middle, far)
            self._farthest[side] = self.n * math.exp(near)
        return self._farthest[side]

    def _by(self, contour: _Contour, strike: float) -> _Price:
        found = contour.price(strike)
        if contour.is_put:
            return found._replace(missing=contour.bound_on_puts(strike, self._law.above(contour.terms.cut)))
        more = self._beyond(contour, strike)
        return _Price(found.value + more.value, found.error + more.error, more.missing)

    def _beyond(self, contour: _Contour, strike: float) -> _Price:
        """What terms above the cuts add to a call."""
        law, n, terms = self._law, self.n, contour.terms
        above, kept_mean = law.above(terms.cut), law.mean_below(terms.cut)
        log_none = math.log1p(-above)
        others_above = -math.expm1((n - 1) * log_none)
        if terms.cut >= strike and not terms.jumps.index.size:
            # with one term above the cut, S - K > 0 for sure
            value = n * law.call(terms.cut)[0] + terms.cut * _expected_excess(n, above)
            value += n * kept_mean * others_above - (terms.cut - strike) * math.expm1(n * log_none)
            return _Price(value, 1e-11 * value)
        # two terms or more: E S
        missing = n * (law.mean_above(terms.cut) * others_above + (n - 1) * (n - 2) / 2 * above * above)
        # one term above the second cut, and what it leaves of the strike to the others
        one, jump, left = (
            law.above(terms.second_cut),
            law.call(terms.second_cut)[0],
            strike - terms.second_cut,
        )
        others, weight = (n - 1) * kept_mean / law.below(terms.cut), n * math.exp((n - 1) * log_none)
        at_least = max(one * (others - left) + jump, 0.0)
        at_most = one * contour.bound_on_others(left, others) + jump
        missing += weight * max(at_most - at_least, 0.0)
        return _Price(
            weight * at_least, 1e-11 * weight * (one * abs(others - left) + jump), missing * (1 + 1e-6)
        )


def _expected_excess(n: int, p: float) -> float:
    """Return E(J - 1)_+ for J ~ Bin(n, p)."""
    if n * p > 1e-3:
        return n * p + math.expm1(n * math.log1p(-p))
    return n * (n - 1) / 2 * p * p * (1 - (n - 2) / 3 * p)
