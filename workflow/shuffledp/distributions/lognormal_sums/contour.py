"""The tilted law of a sum on a window, computed by a discrete Fourier transform, and prices from it."""

from __future__ import annotations

import functools
import math
from typing import Literal, NamedTuple

import numpy as np
from scipy import fft

from shuffledp.checks import FloatArray, IntArray
from shuffledp.distributions.lognormal import MASS_ERROR, LogNormal, Rounded
from shuffledp.distributions.lognormal_sums import tuning
from shuffledp.distributions.lognormal_sums.plan import Plan, window
from shuffledp.distributions.lognormal_sums.terms import round_down, round_up
from shuffledp.numerics import EPSILON, log_sum_exp

Bound = Literal["upper", "lower"]

_FADED = 100.0  # nats: a power so small counts as 0, and in full as an error


class Price(NamedTuple):
    """A price for the rounded law of the terms.

    Attributes:
        value: as computed.
        error: bound on its error in either direction, absolute.
        missing: for a call, a bound on what was left out, which can only raise the price. For a put, a bound
            on what terms above the cut add, which ``value`` has in full (upper) or not at all (lower).
    """

    value: float
    error: float
    missing: float = 0.0


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


def _spectrum(exponents: FloatArray, index: IntArray, points: int) -> _Spectrum:
    """Transform the law of masses proportional to exp(exponents), from its largest mass.

    The transform is 1 plus that of the other masses less their sum. So where most of the mass sits at one
    point, its rounding error does not count.
    """
    tilted = np.exp(exponents - log_sum_exp(exponents))
    mode = int(np.argmax(tilted))
    centre = int(index[mode])
    tilted[mode] = 0.0
    dense = np.bincount(np.mod(index - centre, points), weights=tilted, minlength=points)
    others = float(tilted.sum())
    error = EPSILON * (4 + 8 * (math.log2(points) + 4) * others)
    return _Spectrum(1.0 + (fft.rfft(dense) - others), error, centre)


class TiltedSum:
    """The tilted law of sign * S on a window, which gives prices at the strikes inside.

    S is a sum of n independent terms on a lattice, of which all but one are of a given body, and the last is
    of the body or a jump.

    Args:
        n: number of terms, >= 2.
        body: the law of a term that is no jump.
        jumps: masses of jumps of one term; any of the n may be the one that jumps.
        anchor: point 0 of the lattice.
        step: of the lattice.
        sign: 1 for calls, -1 for puts.
        target: the strike that the tilt was chosen for.
        tilt: theta > 0, of sign * S.
        shifts: by how much the tilt is moved, down and up, to find the window.
        largest: of the absolute values of the terms.
    """

    def __init__(
        self,
        n: int,
        body: Rounded,
        jumps: Rounded,
        *,
        anchor: float,
        step: float,
        sign: int,
        target: float,
        tilt: float,
        shifts: tuple[float, float],
        largest: float,
    ) -> None:
        self._n, self._step, self._sign, self._target, self._tilt = n, step, sign, target, tilt
        self._largest = largest
        # a put on S is a call on -S, so the points carry the sign
        self._body = sign * body.index, np.log(body.mass)
        self._last = (
            sign * np.concatenate([body.index, jumps.index]),
            np.log(np.concatenate([body.mass, n * jumps.mass])),
        )
        self._anchor = sign * anchor
        self._log_front = self._log_moment(tilt) - tilt * sign * target
        self._transform(*self._window(shifts))

    def _exponents(self, part: tuple[IntArray, FloatArray], tilt: float) -> FloatArray:
        return part[1] + tilt * (self._anchor + self._step * part[0])

    def _log_moment(self, tilt: float) -> float:
        """Return the log of the generating function, as in the plan."""
        body, last = (log_sum_exp(self._exponents(part, tilt)) for part in (self._body, self._last))
        return (self._n - 1) * body + last

    def _window(self, shifts: tuple[float, float]) -> tuple[int, int]:
        """Return the first lattice point of the window, counted from n times the anchor, and its size."""
        low, high, _ = window(self._log_moment, self._tilt, shifts)
        least, most = (
            (self._n - 1) * int(extreme(self._body[0])) + int(extreme(self._last[0]))
            for extreme in (np.min, np.max)
        )
        start = self._n * self._anchor
        first = max(math.floor((low - start) / self._step) - 1, least)
        points = min(math.ceil((high - start) / self._step) + 1, most) - first + 1
        # the mass beyond either end counts twice: it is missing there, and folded back into the window
        self._outside = 4 * math.exp(-tuning.OUTSIDE)
        if points > 2 * tuning.MOST_POINTS:
            points, self._outside = 2 * tuning.MOST_POINTS, math.inf
        return first, fft.next_fast_len(max(points, 16), real=True)

    def _transform(self, first: int, points: int) -> None:
        n = self._n
        body, last = (
            _spectrum(self._exponents(part, self._tilt), part[0], points) for part in (self._body, self._last)
        )
        size = np.abs(body.values) + body.error
        # of many terms few frequencies are left
        counts = (n - 2) * np.log(size) > -_FADED
        power = np.zeros_like(body.values)
        error = np.full(size.shape, n * math.exp(-_FADED))
        kept, size, others = body.values[counts], size[counts], last.values[counts]
        with np.errstate(divide="ignore", invalid="ignore"):
            product = np.exp((n - 1) * np.log(kept))
        product[kept == 0] = 0.0
        loss = (n - 1) * size ** (n - 2) * (body.error + size * 16 * EPSILON)
        loss = loss * np.abs(others) + np.abs(product) * (last.error + 4 * EPSILON)
        product *= others
        power[counts] = product
        error[counts] = loss + np.abs(product) * 8 * EPSILON * (math.log2(points) + 4)
        multiplicity = np.full(power.size, 2.0)
        multiplicity[0] = 1.0
        if points % 2 == 0:
            multiplicity[-1] = 1.0
        # Euclidean norm of the errors of the tilted masses
        self._noise = math.sqrt(float(multiplicity @ (error * error)) / points)
        shift = (n - 1) * body.centre + last.centre - first
        mass = np.roll(fft.irfft(power, points), shift % points)
        ahead = self._step * (np.arange(points) + first) + (n * self._anchor - self._sign * self._target)
        # strikes farther below the target than REACH are refused, so the weights need not grow further
        mass *= np.exp(-np.clip(self._tilt * ahead, -tuning.REACH, 2 * tuning.REACH))
        self._start = float(ahead[0])
        # beyond the last point there is nothing
        self._above, self._mean_above = (
            np.append(np.cumsum(column[::-1])[::-1], 0.0) for column in (mass, mass * ahead)
        )

    @property
    def points(self) -> int:
        """Number of points of the window."""
        return self._above.size - 1

    def _place(self, ahead: float) -> int:
        """Return the first point more than ``ahead`` beyond the target, that after the last if none is."""
        return min(max(math.floor((ahead - self._start) / self._step) + 1, 0), self.points)

    def price(self, strike: float) -> Price:
        """Return the price without what terms above the cuts add; its error is inf at too far a strike."""
        theta, points = self._tilt, self.points
        move = self._sign * (strike - self._target)
        place = self._place(move)
        if place == 0 or abs(move) * theta > tuning.REACH or self._log_front > 2 * tuning.REACH:
            return Price(0.0, math.inf)
        front = math.exp(self._log_front)
        above, mean = float(self._above[place]), float(self._mean_above[place])
        scaled = mean - move * above
        # the masses have the weights u e^{-theta u}, u > 0: noise counts by Cauchy and Schwarz, and the mass
        # outside by the largest weight
        norm = math.sqrt(1 / (4 * theta * self._step) + math.exp(-2)) / theta
        error = math.exp(-theta * move) * (self._noise * norm + self._outside / (math.e * theta))
        error += 4 * EPSILON * points * (abs(mean) + abs(move) * above)
        relative = self._n * (4 * MASS_ERROR + 2 * EPSILON * (512 + theta * self._largest))
        relative += 32 * EPSILON * theta * (strike + self._target)
        return Price(front * scaled, front * (error + relative * abs(scaled)))

    def steepness(self, strike: float, price: float, *, planned: float) -> float:
        """Return the root of the price's second derivative over the price.

        The error that the rounding of terms makes is proportional to its square.

        Args:
            strike: the strike.
            price: its price, as computed.
            planned: what was expected.
        """
        move, reach = self._sign * (strike - self._target), 0.25 / planned
        low, high = (float(self._above[self._place(move + side)]) for side in (-reach, reach))
        # a difference of tails, which noise may make negative
        return math.sqrt(max(low - high, 0.0) / (2 * reach * price)) * math.exp(self._log_front / 2)


class Contour(TiltedSum):
    """The tilted law of a sum of log-normal terms.

    The law of a term is that of ``terms``, and at most one term lies above the cut.
    """

    def __init__(self, law: LogNormal, n: int, bound: Bound, plan: Plan) -> None:
        self.planned_steepness = plan.steepness
        self.attained = 0.0  # relative error at the target; set once a price there is known
        self.terms = terms = round_down(law, plan) if bound == "lower" else round_up(law, plan)
        super().__init__(
            n,
            terms.body,
            terms.jumps,
            anchor=terms.anchor,
            step=plan.step,
            sign=plan.place.sign,
            target=plan.place.strike,
            tilt=plan.place.tilt,
            shifts=plan.shifts,
            largest=terms.second_cut,
        )

    @property
    def is_put(self) -> bool:
        """Whether this is a contour for puts."""
        return self._sign < 0

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
        """Bound E[(strike - S)_+; one term or more above the cut] from above.

        In the rounded law such terms lie at the cut, or are left out.

        Args:
            strike: the strike; at or below the cut, terms above the cut make the put worthless.
            above: probability with which a term lies above the cut.
        """
        if strike <= self.terms.cut or above == 0:
            return 0.0
        theta, cut = self._tilt, self.terms.cut
        one = np.logaddexp(log_sum_exp(self._exponents(self._body, theta)), math.log(above) - theta * cut)
        # k - S' <= e^{theta (k - S') - 1} / theta for the n - 1 others, k = strike - cut
        exponent = (self._n - 1) * float(one) + theta * (strike - cut)
        return self._n * above * math.exp(min(exponent, 600.0) - 1) / theta

    @functools.cached_property
    def _moments_of_others(self) -> dict[int, tuple[FloatArray, FloatArray]]:
        """Tilts for either sign, and the logs of the generating function of n - 1 terms at these tilts."""
        points, log_mass = self.terms.anchor + self._step * self.terms.body.index, self._body[1]
        square = (self._n - 1) * float(self.terms.body.mass @ points**2)
        # where the sum is nearly normal, tilts of the first kind are best; where a few large terms decide,
        # those of the second
        tilts = np.outer([0.5, 1.0, 2.0, 4.0, 8.0, 16.0], [1 / math.sqrt(square), 1 / self.terms.cut]).ravel()
        total = log_sum_exp(log_mass)
        moments = {
            sign: [log_sum_exp(log_mass + sign * tilt * points) - total for tilt in tilts] for sign in (1, -1)
        }
        return {sign: (tilts, (self._n - 1) * np.array(found)) for sign, found in moments.items()}
