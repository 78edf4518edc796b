"""Composition of privacy losses on a lattice, by an exponentially tilted Fourier sum.

Let S be the sum of the losses of all rounds under P. delta(eps) = E[(1 - e^{eps - S})_+] is a sum over the
lattice points above eps. Under the law tilted by e^{theta S}, with theta chosen so that eps lies in its
middle, nothing that matters is small, so double precision serves deltas of 1e-300 as well as of 1e-3. The
tilted law is recovered from its characteristic function at the frequencies of a window around eps, and the
sum over lattice points has a closed form at each frequency. Frequencies at which the characteristic function,
raised to the number of rounds, is negligible are left out, with a bound; so the cost does not grow with the
number of rounds.

Every step errs by an amount that is bounded and reported: what lies outside the window folds back into it
(upwards only), frequencies are left out, and sums are rounded.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from scipy import fft

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.numerics import EPSILON
from shuffledp.pld.outcomes import Lattice

_DIRECT = 20  # steps of a Fourier transform that take the time of one product of frequency and loss
_PRUNED = 1e-12
_SPECK = 1e-25  # mass that a bound adds instead of looking at it
_SERIES_CELLS = 4  # cells of the frequency grid, from 0, in which the series is used
# How much finer the grid of frequencies is than the lattice needs, and points up to which it is so long.
_OVERSAMPLING, _LONGEST = 32, 2**24
_ACCURATE = 1e-6  # error budget over value up to which a contour is used for another eps than its own
_EXACT = 2**53  # whole numbers up to it are doubles
_MOST_FREQUENCIES = 2**20
_MOST_SEARCHED = 2**22  # frequencies of all contours of one search, where it is not done after two of them
_MOST_PRODUCTS = 2**25  # of a frequency and a loss
_TILTS = (1e-4, 1e6)  # range of tilts, in inverse standard deviations
_WINDOW = 40.0  # standard deviations of the tilted sum
_FOLDED = 90.0  # inverse tilts: half of that in nats is what folded mass is weighed down by
_NEGLIGIBLE = 75.0  # nats
_LARGEST_EXPONENT = 700.0  # of which the exponential is a double
_CUTOFFS = (1.15, 1.4, 1.8, 2.5, 4.0)  # frequencies tried, in those where a normal law is negligible


class LatticeTooFineError(ArithmeticError):
    """The sum spreads over more lattice points than memory, time or double precision allow."""


@dataclass(frozen=True)
class ErrorBudget:
    """Bounds on the errors of one delta, absolute.

    Attributes:
        folded: mass outside the window, counted inside; the value is too large by at most that.
        frequencies: what the frequencies left out could contribute, in either direction.
        rounding: rounding of the characteristic functions, their powers and the sum, in either direction.
    """

    folded: float
    frequencies: float
    rounding: float

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.folded + self.frequencies + self.rounding


_NO_ERROR = ErrorBudget(0.0, 0.0, 0.0)


class _Tilted:
    """One lattice under the law tilted by e^{theta loss}, and how many rounds it serves."""

    def __init__(self, lattice: Lattice, rounds: int, theta: float) -> None:
        self.lattice, self.rounds = lattice, rounds
        loss = lattice.loss
        if theta * float(np.abs(loss).max()) < 30:
            # near 1, the generating function keeps its digits as the distance from 1
            growth = lattice.mass * np.expm1(theta * loss)
            excess = float(growth.sum()) + (float(lattice.mass.sum()) - 1.0)
            self.log_moment = math.log1p(excess)
            self.log_moment_error = EPSILON * (8 + 2 * float(np.abs(growth).sum())) / (1 + excess)
        else:
            self.log_moment = numerics.log_sum_exp(np.log(lattice.mass) + theta * loss)
            self.log_moment_error = EPSILON * (64 + abs(self.log_moment))
        mass = np.exp(np.log(lattice.mass) + theta * loss - self.log_moment)
        # losses that together cannot matter even after all rounds only cost time
        kept = mass > _PRUNED / rounds / mass.size
        self.pruned = float(mass[~kept].sum())
        self.mass, self.index, loss = mass[kept], lattice.index[kept], loss[kept]
        self.mean = float(self.mass @ loss)
        self.centred = loss - self.mean
        self.variance = float(self.mass @ self.centred**2)

    def characteristic(self, count: int, length: int) -> FloatArray:
        """Return E e^{i omega (loss - mean)} at omega = 2 pi j / (length step), j = 0..count-1."""
        omega = 2 * math.pi * np.arange(count) / (length * self.lattice.step)
        if _DIRECT * count * self.mass.size <= length * math.log2(length):
            if count * self.mass.size > _MOST_PRODUCTS:
                raise LatticeTooFineError(
                    f"{count} frequencies of {self.mass.size} losses are needed, {_MOST_PRODUCTS} products "
                    "at most are supported"
                )
            return np.exp(1j * np.outer(omega, self.centred)) @ self.mass
        middle = round(self.mean / self.lattice.step)
        place = np.mod(self.index - middle, length).astype(np.int64)
        wrapped = np.bincount(place, weights=self.mass, minlength=length)
        values = np.conj(fft.rfft(wrapped)[:count])
        return values * np.exp(-1j * omega * (self.mean - middle * self.lattice.step))

    @functools.cached_property
    def _cells(self) -> tuple[float, FloatArray]:
        """A grid of frequencies: its spacing, and a lower bound on 1 - |phi|^2 in each of its cells.

        1 - |phi|^2 is the mean of 1 - cos(omega d) over two independent losses at distance d. It is known on
        the grid, and its slope is at most min(2 variance omega, sqrt(2 variance)).
        """
        cumulative = np.cumsum(self.mass)
        core = (cumulative > _SPECK) & (cumulative[-1] - cumulative + self.mass > _SPECK)
        index = self.index[core].astype(np.int64)
        missing = max(1.0 - float(self.mass[core].sum()), 0.0) + 8 * EPSILON
        if index[-1] - index[0] > _MOST_FREQUENCIES:
            raise LatticeTooFineError(
                f"{index[-1] - index[0]} lattice points are needed, {_MOST_FREQUENCIES} at most are supported"
            )
        dense = np.bincount(index - index[0], weights=self.mass[core])
        finer = min(_OVERSAMPLING, max(_LONGEST // dense.size, 4))
        length = fft.next_fast_len(max(finer * dense.size, 4096), real=True)
        # in place: these are the longest arrays of all
        grid = np.abs(fft.rfft(dense, length))
        grid += missing
        np.minimum(grid, 1.0, out=grid)
        np.square(grid, out=grid)
        np.subtract(1.0, grid, out=grid)
        spacing = 2 * math.pi / (length * self.lattice.step)
        slope = np.arange(1, grid.size, dtype=np.float64)
        slope *= spacing
        slope *= 2 * self.variance
        np.minimum(slope, math.sqrt(2 * self.variance), out=slope)
        slope *= spacing / 2
        cells = np.minimum(grid[:-1], grid[1:])
        cells -= slope
        return spacing, cells

    def log_largest(self, omega: float) -> float:
        """Return an upper bound on log |phi| at all frequencies from ``omega`` on.

        At small frequencies two terms of the cosine's series serve in place of the grid.
        """
        spacing, cells = self._cells
        first = max(int(omega / spacing), _SERIES_CELLS)
        lowest = float(cells[first:].min()) if first < cells.size else 1.0
        if omega < _SERIES_CELLS * spacing:
            # in units of the deviation, of which the fourth power is a number where it is tiny itself
            deviation = math.sqrt(self.variance)
            if deviation == 0:
                return 0.0
            fourth = 2 * float(self.mass @ (self.centred / deviation) ** 4) + 6
            for end in (omega * deviation, _SERIES_CELLS * spacing * deviation):
                lowest = min(lowest, end**2 - end**4 * fourth / 24)
        return 0.5 * math.log1p(-min(max(lowest, 0.0), 1 - EPSILON))


class _Contour:
    """The tilted law of the sum, ready to give delta at any eps near its mean."""

    def __init__(self, phases: Sequence[tuple[Lattice, int]], theta: float) -> None:
        self.theta = theta
        parts = [_Tilted(lattice, rounds, theta) for lattice, rounds in phases]
        self.log_moment, self.mean, variance = _cumulants(parts)
        self.deviation = math.sqrt(variance)
        self.moment_error = sum(part.log_moment_error * part.rounds for part in parts)
        self._step = phases[0][0].step
        self._set_window(phases)
        self._set_frequencies(parts)

    def _set_window(self, phases: Sequence[tuple[Lattice, int]]) -> None:
        """Choose the window's length and bound the tilted mass outside it (Chernoff, both sides)."""
        lowest = sum(float(lattice.loss.min()) * rounds for lattice, rounds in phases)
        highest = sum(float(lattice.loss.max()) * rounds for lattice, rounds in phases)
        length = max(_WINDOW * self.deviation, _FOLDED / self.theta, 4 * self._step)
        shifts = np.array([3.0, 6.0, 10.0]) / max(self.deviation, self._step)
        moments = {
            sign: [_log_moment(phases, self.theta + sign * shift) for shift in shifts] for sign in (1, -1)
        }
        while True:
            outside = []
            for sign, end in ((1, highest), (-1, lowest)):
                if abs(end - self.mean) < length / 2:
                    continue
                exponents = [
                    moment - self.log_moment - shift * (sign * self.mean + length / 2)
                    for moment, shift in zip(moments[sign], shifts, strict=True)
                ]
                outside.append(min(exponents))
            self.log_outside = max(outside, default=-math.inf) + math.log(2)
            if self.log_outside < -60.0:
                break
            length *= 1.5
        half = math.ceil(length / self._step / 2)
        # so many that no transform has them: there its length need not be a fast one
        self.points = 2 * (fft.next_fast_len(half, real=True) if half < _EXACT else half)
        self.window = self.points * self._step

    def _set_frequencies(self, parts: list[_Tilted]) -> None:
        count, self.log_left_out = self.points // 2 + 1, -math.inf
        for factor in _CUTOFFS:
            cutoff = factor * math.sqrt(2 * _NEGLIGIBLE) / max(self.deviation, self._step)
            enough = math.ceil(cutoff * self.window / (2 * math.pi)) + 1
            if enough >= self.points // 2:
                break
            bound = sum(part.rounds * part.log_largest(cutoff) for part in parts)
            if bound < -_NEGLIGIBLE:
                count, self.log_left_out = enough, bound
                break
        if count > _MOST_FREQUENCIES:
            raise LatticeTooFineError(
                f"{count} frequencies are needed, {_MOST_FREQUENCIES} at most are supported"
            )
        self._omega = 2 * math.pi * np.arange(count) / self.window
        self._log_power = np.zeros(count, dtype=np.complex128)
        self._relative = np.zeros(count)
        for part in parts:
            values = part.characteristic(count, self.points)
            with np.errstate(divide="ignore"):
                # apart, since a complex product of -inf is not a number
                self._log_power.real += part.rounds * np.log(np.abs(values))
                self._log_power.imag += part.rounds * np.angle(values)
                self._relative += part.rounds * (32 * EPSILON + part.pruned) / np.abs(values)
        if self._relative[0] > 0.5:
            rounds = sum(part.rounds for part in parts)
            raise LatticeTooFineError(f"{rounds} rounds are more than double precision tells apart")
        self._multiplicity = np.full(count, 2.0)
        self._multiplicity[0] = 1.0
        if count == self.points // 2 + 1:
            self._multiplicity[-1] = 1.0
        self.frequencies = count
        significant = self._log_power.real > -_NEGLIGIBLE
        if not significant.all():
            self.log_left_out = max(self.log_left_out, -_NEGLIGIBLE)
            self._omega, self._log_power = self._omega[significant], self._log_power[significant]
            self._relative, self._multiplicity = self._relative[significant], self._multiplicity[significant]

    def covers(self, eps: float) -> bool:
        """Return whether eps lies well inside the window."""
        return abs(eps - self.mean) < self.window / 4

    def delta(self, eps: float) -> tuple[float, ErrorBudget]:
        """Return delta(eps), as computed, and the bounds on its error."""
        step, theta = self._step, self.theta
        first = (math.floor(eps / step) + 1) * step  # the first lattice point above eps
        rise = first - eps
        z = theta + 1j * self._omega
        # the sum over lattice points l >= first of (1 - e^{eps - l}) e^{-z (l - first)}
        if step - rise < _LARGEST_EXPONENT:
            beyond_first = np.exp(-(z + 1) * step) * math.expm1(step - rise)
        else:  # of steps of so many nats nothing cancels
            beyond_first = np.exp(-z * step - rise)
        weight = -math.expm1(-rise) + beyond_first
        poles = np.expm1(-z * step) * np.expm1(-(z + 1) * step)
        weight = weight / poles
        power = np.exp(self._log_power)
        turn = np.exp(1j * self._omega * (self.mean - first))
        front = math.exp(min(self.log_moment - theta * first, 700.0)) / self.points
        value = front * float(np.sum(self._multiplicity * (power * turn * weight).real))
        sizes = self._multiplicity * np.abs(power * weight)
        rounding = front * float(np.sum(sizes * (self.moment_error + self._relative + 64 * EPSILON)))
        # the distance of eps from the lattice point is known to the digits of eps
        rounding += front * 4 * EPSILON * eps * float(np.sum(self._multiplicity * np.abs(power / poles)))
        largest_weight = 2 / -math.expm1(-theta * step)
        frequencies = front * self.points * math.exp(self.log_left_out) * largest_weight
        beyond = math.exp(-theta * (self.mean + self.window / 2 - first)) + math.exp(self.log_outside)
        folded = front * self.points * beyond / -math.expm1(-theta * self.window)
        return value, ErrorBudget(folded, frequencies, rounding)


def _cumulants(parts: Sequence[_Tilted]) -> tuple[float, float, float]:
    """Return log E e^{theta S}, and the mean and the variance of S under the tilted law."""
    return (
        sum(part.log_moment * part.rounds for part in parts),
        sum(part.mean * part.rounds for part in parts),
        sum(part.variance * part.rounds for part in parts),
    )


def _log_moment(phases: Sequence[tuple[Lattice, int]], theta: float) -> float:
    return sum(
        rounds * numerics.log_sum_exp(np.log(lattice.mass) + theta * lattice.loss)
        for lattice, rounds in phases
    )


def _on_one_step(phases: list[tuple[Lattice, int]]) -> list[tuple[Lattice, int]]:
    """Express all lattices in the smallest of their steps.

    Raises:
        ValueError: a step is no multiple of the smallest.
    """
    if not phases:
        return phases
    base = min(lattice.step for lattice, _ in phases)
    common = []
    for lattice, rounds in phases:
        ratio = round(lattice.step / base)
        if abs(lattice.step / base - ratio) > 1e-9:
            raise ValueError(
                f"phases must have steps that are multiples of the smallest, got step={lattice.step!r} and "
                f"{base!r}; round all phases with one step"
            )
        common.append((Lattice(base, lattice.index * ratio, lattice.mass, lattice.infinite), rounds))
    return common


class Composition:
    """The sum of the privacy losses of all rounds, and what it says of epsilon and delta.

    Args:
        phases: lattices of one common step, each with its number of rounds.
        bound: "upper" if the lattices are pessimistic: errors are added to delta; "lower" if they are
            optimistic: errors are subtracted.
    """

    def __init__(self, phases: Sequence[tuple[Lattice, int]], *, bound: str) -> None:
        self.bound = checks.choice("bound", bound, ("upper", "lower"))
        self.phases = _on_one_step([(lattice, rounds) for lattice, rounds in phases if rounds > 0])
        # without finite losses the largest is that of no loss at all
        largest = sum(float(lattice.loss.max(initial=-math.inf)) * rounds for lattice, rounds in self.phases)
        self.largest = largest * (1 + 4 * EPSILON) if largest > 0 else largest
        with np.errstate(divide="ignore"):
            # bounds on several rare events may add up to more than 1
            log_kept = sum(
                float(np.log1p(-min(lattice.infinite, 1.0))) * rounds for lattice, rounds in self.phases
            )
        self.infinite = -math.expm1(log_kept)
        self._latest: _Contour | None = None
        self._contours = self._searched = 0

    def _safe(self, value: float, budget: ErrorBudget) -> float:
        if self.bound == "upper":
            return min(max(value + self.infinite + budget.frequencies + budget.rounding, 0.0), 1.0)
        return min(max(value - budget.total, 0.0), 1.0)

    def _spread(self) -> float:
        """Return the standard deviation of S under P, or a fraction of the step if it is smaller."""
        _, _, variance = _cumulants([_Tilted(*phase, 0.0) for phase in self.phases])
        return max(math.sqrt(variance), 1e-3 * self.phases[0][0].step)

    def _saddle(self, theta: float) -> tuple[float, float]:
        """Return the eps whose integral over frequencies is smallest along the tilt theta, and log delta.

        delta(eps) is an integral of e^{K(z) - z eps} / (z (z + 1)) over z = theta + i omega, K the log of the
        generating function of S. Its size along the line is least where the derivative of the exponent,
        poles included, is 0; second-order expansion around that gives delta to some per cent.
        """
        parts = [_Tilted(lattice, rounds, theta) for lattice, rounds in self.phases]
        moment, slope, curvature = _cumulants(parts)
        eps = slope - 1 / theta - 1 / (1 + theta)
        curvature += 1 / theta**2 + 1 / (1 + theta) ** 2
        return eps, moment - theta * eps - math.log(theta * (1 + theta)) - 0.5 * math.log(
            2 * math.pi * curvature
        )

    def _tilt(self, is_low: Callable[[float, float], bool]) -> float:
        """Return the least tilt, to 1%, whose eps and log delta do not satisfy ``is_low``."""
        spread = self._spread()
        low, high = _TILTS[0] / spread, _TILTS[1] / spread
        while high > 1.01 * low:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if is_low(*self._saddle(middle)) else (low, middle)
        return high

    def _contour_at(self, eps: float) -> _Contour:
        """Return a contour fit for this eps: the latest one, if eps is well inside its window."""
        if self._latest is None or not self._latest.covers(eps):
            self._contours += 1
            self._latest = _Contour(self.phases, self._tilt(lambda found, _: found < eps))
            self._searched += self._latest.frequencies
            if self._searched > _MOST_SEARCHED and self._contours > 2:
                raise LatticeTooFineError(
                    f"{self._contours} contours with {self._searched} frequencies are not enough, at most "
                    f"{_MOST_SEARCHED} are supported"
                )
        return self._latest

    def delta_with_errors(self, eps: float) -> tuple[float, ErrorBudget]:
        """Return delta at eps, on the safe side, and the bounds on its errors.

        Raises:
            ValueError: ``eps`` is no number >= 0.
            LatticeTooFineError: the sum spreads over more lattice points than can be computed.
        """
        eps = checks.real("eps", eps, at_least=0.0)
        if eps >= self.largest:
            return self._safe(0.0, _NO_ERROR), _NO_ERROR
        value, budget = self._contour_at(eps).delta(eps)
        if not budget.total < _ACCURATE * value:
            # a contour that served another eps may be too far from its saddle for this one
            self._latest = None
            value, budget = self._contour_at(eps).delta(eps)
        return self._safe(value, budget), budget

    def delta(self, eps: float) -> float:
        """Return delta at eps, an upper or a lower bound, as ``bound`` says; see ``delta_with_errors``."""
        return self.delta_with_errors(eps)[0]

    def epsilon(self, delta: float) -> float:
        """Return epsilon at delta in [0, 1): an upper or a lower bound, as ``bound`` says; never below 0.

        At delta = 0 a lower bound is that at 1e-300.

        Raises:
            ValueError: ``delta`` is out of range.
            LatticeTooFineError: the sum spreads over more lattice points than can be computed.
        """
        delta = checks.probability("delta", delta, zero=True)
        if self.bound == "upper" and self.infinite > delta:
            return math.inf
        if not self.phases or self.largest <= 0:
            return 0.0
        if delta < numerics.SMALLEST_DELTA:
            if self.bound == "upper":
                return self.largest
            delta = numerics.SMALLEST_DELTA
        target = math.log(delta)
        tilt = self._tilt(lambda eps, log_delta: eps < 0 or log_delta > target)
        self._latest = _Contour(self.phases, tilt)
        if self.bound == "lower" and self._latest.moment_error > 0.3:
            return 0.0  # rounding eats the digits: nothing is claimed

        def excess(eps: float) -> float:
            return math.log(max(self.delta(eps), numerics.SMALLEST_DELTA / 10)) - math.log(delta)

        # walk from the tilted mean in growing steps to an interval that holds the root
        guess, step = max(self._latest.mean, 0.0), max(self._latest.deviation, self.phases[0][0].step)
        low, high = max(guess - step, 0.0), min(guess + step, self.largest)
        while high < self.largest and excess(high) > 0:
            step *= 2
            low, high = high, min(high + step, self.largest)
        while low > 0 and excess(low) <= 0:
            step *= 2
            low, high = max(low - step, 0.0), low
        if low == 0 and excess(0.0) <= 0:
            return 0.0
        if excess(low) <= 0 or excess(high) > 0:  # delta jumps at an end of the interval
            root = low if excess(low) <= 0 else high
        else:
            root = float(scipy.optimize.brentq(excess, low, high, xtol=1e-13 * high, rtol=1e-12))
        return self._settle(root, delta)

    def epsilon_with_error(self, delta: float) -> tuple[float, float]:
        """Return ``epsilon`` at delta, and the error budget of delta there, 0 where epsilon is 0 or inf."""
        epsilon = self.epsilon(delta)
        stated = 0 < epsilon < math.inf
        return epsilon, self.delta_with_errors(epsilon)[1].total if stated else 0.0

    def _settle(self, root: float, delta: float) -> float:
        """Move a root of delta to the safe side of its own uncertainty."""
        # a root next to 0 is known to the digits of the losses; at the largest of them nothing is left
        shift = max(abs(root) * 1e-11, self.largest * EPSILON)
        while True:
            candidate = root + shift if self.bound == "upper" else max(root - shift, 0.0)
            within = self.delta(candidate) <= delta
            if within == (self.bound == "upper") or candidate == 0.0:
                return min(candidate, self.largest)
            shift *= 2
