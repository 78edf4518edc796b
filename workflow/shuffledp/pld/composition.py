"""Composition of privacy losses on a lattice, by an exponentially tilted Fourier sum.

Let S be the sum of the losses of all rounds under P. delta(eps) = E[(1 - e^{eps - S})_+] is a sum over the
lattice points above eps. Under the law tilted by e^{theta S}, with theta chosen so that eps lies in its
middle, no relevant term is small, so double precision serves deltas of 1e-300 as well as of 1e-3. The
tilted law is recovered from its characteristic function at the frequencies of a window around eps, and the
sum over lattice points has a closed form at each frequency. Frequencies at which the characteristic function,
raised to the number of rounds, is negligible are left out, with a bound; so the time does not grow with the
number of rounds.

Every step has an error that is bounded and reported: mass outside the window folds back into it (which errs
upwards only), frequencies are left out, and sums are rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy

from shuffledp import checks, numerics
from shuffledp.numerics import EPSILON
from shuffledp.pld.contour import Contour, ErrorBudget, LatticeTooFineError, Tilted, cumulants
from shuffledp.pld.outcomes import Lattice

_ACCURATE = 1e-6  # largest error budget, relative to delta, with which a contour serves another eps
_MOST_SEARCHED = 2**22  # largest number of frequencies of all contours of a search that needs more than two
_TILTS = (1e-4, 1e6)  # range of tilts, in inverse standard deviations
_NO_ERROR = ErrorBudget(0.0, 0.0, 0.0)


def _on_one_step(phases: list[tuple[Lattice, int]]) -> list[tuple[Lattice, int]]:
    """Return all lattices in units of the smallest of their steps.

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
    """The sum of the privacy losses of all rounds, and its epsilon and delta.

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
            # ``infinite`` is a bound, which may exceed 1
            log_kept = sum(
                float(np.log1p(-min(lattice.infinite, 1.0))) * rounds for lattice, rounds in self.phases
            )
        self.infinite = -math.expm1(log_kept)
        self._latest: Contour | None = None
        self._contours = self._searched = 0

    def _safe(self, value: float, budget: ErrorBudget) -> float:
        if self.bound == "upper":
            return min(max(value + self.infinite + budget.frequencies + budget.rounding, 0.0), 1.0)
        return min(max(value - budget.total, 0.0), 1.0)

    def _spread(self) -> float:
        """Return the standard deviation of S under P, but at least a fraction of the step."""
        _, _, variance = cumulants([Tilted(*phase, 0.0) for phase in self.phases])
        return max(math.sqrt(variance), 1e-3 * self.phases[0][0].step)

    def _saddle(self, theta: float) -> tuple[float, float]:
        """Return the eps whose integral over frequencies is smallest along the tilt theta, and log delta.

        delta(eps) is an integral of e^{K(z) - z eps} / (z (z + 1)) over z = theta + i omega, K the log of the
        generating function of S. Its size along the line is least where the derivative of the exponent,
        poles included, is 0; second-order expansion around that gives delta to some per cent.
        """
        parts = [Tilted(lattice, rounds, theta) for lattice, rounds in self.phases]
        moment, slope, curvature = cumulants(parts)
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

    def _contour_at(self, eps: float) -> Contour:
        """Return a contour for this eps: the latest one if eps is well inside its window, else a new one."""
        if self._latest is None or not self._latest.covers(eps):
            self._contours += 1
            self._latest = Contour(self.phases, self._tilt(lambda found, _: found < eps))
            self._searched += self._latest.frequencies
            if self._searched > _MOST_SEARCHED and self._contours > 2:
                raise LatticeTooFineError(
                    f"{self._contours} contours with {self._searched} frequencies are not enough, at most "
                    f"{_MOST_SEARCHED} are supported"
                )
        return self._latest

    def delta_with_errors(self, eps: float) -> tuple[float, ErrorBudget]:
        """Return delta at eps, rounded to the side of the bound, and the bounds on its errors.

        Raises:
            ValueError: ``eps`` is not a number >= 0.
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
        """Return delta at eps, a bound of the side ``bound``; see ``delta_with_errors``."""
        return self.delta_with_errors(eps)[0]

    def epsilon(self, delta: float) -> float:
        """Return epsilon at delta in [0, 1), a bound of the side ``bound`` that is never below 0.

        At delta = 0 the lower bound is that at delta = 1e-300.

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
        self._latest = Contour(self.phases, tilt)
        if self.bound == "lower" and self._latest.moment_error > 0.3:
            return 0.0  # rounding has taken all digits, so nothing is claimed

        def excess(eps: float) -> float:
            return math.log(max(self.delta(eps), numerics.SMALLEST_DELTA / 10)) - math.log(delta)

        # growing steps from the tilted mean lead to an interval that holds the root
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
        """Return ``epsilon`` at delta, and the error budget of delta there (0 where epsilon is 0 or inf)."""
        epsilon = self.epsilon(delta)
        stated = 0 < epsilon < math.inf
        return epsilon, self.delta_with_errors(epsilon)[1].total if stated else 0.0

    def _settle(self, root: float, delta: float) -> float:
        """Move a root to the side of the bound until delta, evaluated there, confirms it."""
        # a root next to 0 is only as accurate as the losses; beyond the largest loss delta no longer falls
        shift = max(abs(root) * 1e-11, self.largest * EPSILON)
        while True:
            candidate = root + shift if self.bound == "upper" else max(root - shift, 0.0)
            within = self.delta(candidate) <= delta
            if within == (self.bound == "upper") or candidate == 0.0:
                return min(candidate, self.largest)
            shift *= 2
