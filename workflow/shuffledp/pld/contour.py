"""The law of a sum of privacy losses under one tilt, on a window, and delta at the eps inside the window.

Each delta comes with bounds on its errors. ``composition`` explains the method and chooses the tilt.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft

from shuffledp import numerics
from shuffledp.checks import FloatArray
from shuffledp.numerics import EPSILON
from shuffledp.pld.outcomes import Lattice

_DIRECT = 20  # steps of a Fourier transform that take the time of one product of frequency and loss
_PRUNED = 1e-12  # tilted mass in all rounds of the losses that are left out
_SPECK = 1e-25  # tilted mass at either end that a bound adds instead of transforming it
_SERIES_CELLS = 4  # number of cells of the frequency grid, from 0 on, in which the series is used
# How many times finer the grid of frequencies is than the lattice needs, and its largest number of points.
_OVERSAMPLING, _LONGEST = 32, 2**24
_EXACT = 2**53  # whole numbers up to it are doubles
_MOST_FREQUENCIES = 2**20
# Largest number of products of a frequency and a loss: in all, and at once, at some 40 bytes each.
_MOST_PRODUCTS, _PRODUCTS_AT_ONCE = 2**25, 2**24
_WINDOW = 40.0  # length of the window in standard deviations of the tilted sum
_FOLDED = 90.0  # length in inverse tilts, half of which are the nats by which the tilt reduces folded mass
_NEGLIGIBLE = 75.0  # nats
_LARGEST_EXPONENT = 700.0  # whose exponential is a double
_CUTOFFS = (1.15, 1.4, 1.8, 2.5, 4.0)  # that are tried, in units of the cutoff for a normal law


class LatticeTooFineError(ArithmeticError):
    """The sum spreads over more lattice points than memory, time or double precision allow."""


@dataclass(frozen=True)
class ErrorBudget:
    """Bounds on the errors of one delta, absolute.

    Attributes:
        folded: mass outside the window that is counted inside; delta is too large by at most that.
        frequencies: contribution of the frequencies that are left out, in either direction.
        rounding: rounding of the characteristic functions, their powers and the sum, in either direction.
    """

    folded: float
    frequencies: float
    rounding: float

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.folded + self.frequencies + self.rounding


class Tilted:
    """One lattice under the law tilted by e^{theta loss}, and its number of rounds."""

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
        # losses whose mass is negligible even after all rounds would only cost time
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
            rows = max(_PRODUCTS_AT_ONCE // self.mass.size, 1)
            pieces = [omega[start : start + rows] for start in range(0, count, rows)]
            return np.concatenate([np.exp(1j * np.outer(some, self.centred)) @ self.mass for some in pieces])
        middle = round(self.mean / self.lattice.step)
        place = np.mod(self.index - middle, length).astype(np.int64)
        wrapped = np.bincount(place, weights=self.mass, minlength=length)
        values = np.conj(fft.rfft(wrapped)[:count])
        return values * np.exp(-1j * omega * (self.mean - middle * self.lattice.step))

    @functools.cached_property
    def _cells(self) -> tuple[float, FloatArray]:
        """The spacing of a grid of frequencies, and a lower bound on 1 - |phi|^2 in each of its cells.

        1 - |phi|^2 is the mean of 1 - cos(omega d) over two independent losses at distance d. It is computed
        on the grid, and its slope is at most min(2 variance omega, sqrt(2 variance)).
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
        # in place, since no other arrays are as long
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

        At small frequencies two terms of the series of the cosine replace the grid.
        """
        spacing, cells = self._cells
        first = max(int(omega / spacing), _SERIES_CELLS)
        lowest = float(cells[first:].min()) if first < cells.size else 1.0
        if omega < _SERIES_CELLS * spacing:
            # in units of the deviation, whose fourth power may underflow
            deviation = math.sqrt(self.variance)
            if deviation == 0:
                return 0.0
            fourth = 2 * float(self.mass @ (self.centred / deviation) ** 4) + 6
            for end in (omega * deviation, _SERIES_CELLS * spacing * deviation):
                lowest = min(lowest, end**2 - end**4 * fourth / 24)
        return 0.5 * math.log1p(-min(max(lowest, 0.0), 1 - EPSILON))


class Contour:
    """The tilted law of the sum, from which delta follows at any eps near its mean."""

    def __init__(self, phases: Sequence[tuple[Lattice, int]], theta: float) -> None:
        self.theta = theta
        parts = [Tilted(lattice, rounds, theta) for lattice, rounds in phases]
        self.log_moment, self.mean, variance = cumulants(parts)
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
        # beyond exact whole numbers no transform is computed, so the length need not be a fast one
        self.points = 2 * (fft.next_fast_len(half, real=True) if half < _EXACT else half)
        self.window = self.points * self._step

    def _set_frequencies(self, parts: list[Tilted]) -> None:
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
                # by parts, since a complex product with -inf is nan
                self._log_power.real += part.rounds * np.log(np.abs(values))
                self._log_power.imag += part.rounds * np.angle(values)
                self._relative += part.rounds * (32 * EPSILON + part.pruned) / np.abs(values)
        if self._relative[0] > 0.5:
            rounds = sum(part.rounds for part in parts)
            raise LatticeTooFineError(f"{rounds} rounds are more than double precision can compose")
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
        """Return delta(eps), neither rounded nor clipped, and the bounds on its error."""
        step, theta = self._step, self.theta
        first = (math.floor(eps / step) + 1) * step  # the first lattice point above eps
        rise = first - eps
        z = theta + 1j * self._omega
        # the sum over lattice points l >= first of (1 - e^{eps - l}) e^{-z (l - first)}
        if step - rise < _LARGEST_EXPONENT:
            beyond_first = np.exp(-(z + 1) * step) * math.expm1(step - rise)
        else:  # with steps of so many nats nothing cancels
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
        # the distance of eps from the lattice point is only as accurate as eps
        rounding += front * 4 * EPSILON * eps * float(np.sum(self._multiplicity * np.abs(power / poles)))
        largest_weight = 2 / -math.expm1(-theta * step)
        frequencies = front * self.points * math.exp(self.log_left_out) * largest_weight
        beyond = math.exp(-theta * (self.mean + self.window / 2 - first)) + math.exp(self.log_outside)
        folded = front * self.points * beyond / -math.expm1(-theta * self.window)
        return value, ErrorBudget(folded, frequencies, rounding)


def cumulants(parts: Sequence[Tilted]) -> tuple[float, float, float]:
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
