"""From Renyi DP to approximate DP: girgis2021, Lemma 1, minimised over all orders.

Write g(lambda) = (lambda - 1) rdp(lambda). For a true Renyi divergence g is convex with g(1) = 0, so the
chord between any two orders at which an upper bound on g is known is an upper bound between them. Lemma 1
along a chord has its minimum in closed form, so the search is over chords, not over orders.

The search is by branch and bound: an interval between two known orders is split until nothing inside can
beat the best chord. Where the known points around it are convex, g cannot lie below the neighbouring chords
extended into the interval; elsewhere (a bound need not be convex) only that rdp does not decrease with the
order is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.rdp.curve import RenyiCurve, evaluate

MAX_ORDER = 2**20
_PER_OCTAVE = 16
_ROUNDING = 8 * numerics.EPSILON


def conversion_term(order: FloatArray, *, delta: float) -> FloatArray:
    """Return what Lemma 1 of girgis2021 adds to a Renyi DP parameter to give epsilon.

    Args:
        order: numbers > 1, any shape.
        delta: target, in (0, 1).

    Returns:
        log(1/(order delta))/(order - 1) + log(1 - 1/order), not rounded, of the shape of ``order``.
    """
    return (-math.log(delta) - np.log(order)) / (order - 1) + np.log1p(-1 / order)


class Conversion(NamedTuple):
    """What ``to_epsilon`` and ``to_delta`` return; arrays where ``rounds`` (or ``eps``) was an array.

    Attributes:
        value: the epsilon or the delta, an upper bound if the Renyi curve was one.
        order: the order that gives it (between whole orders, a point of the chord); inf for no rounds.
        on_edge: whether that order is an end of the search (2 or 2^20), so that another order might do
            better if the curve were known there.
    """

    value: float | FloatArray
    order: float | FloatArray
    on_edge: bool | np.ndarray


class _Lemma1(Protocol):
    """Lemma 1 for one number of rounds, as a function of the order that is to be minimised."""

    def floor(self, a: FloatArray, b: FloatArray, rdp: FloatArray) -> FloatArray:
        """Return what Lemma 1 cannot go below on [a, b] if the curve is at least ``rdp`` there."""

    def along_chord(
        self, a: FloatArray, b: FloatArray, g_a: FloatArray, g_b: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the minimum over [a, b], and where it lies, if g is the chord from (a, g_a) to (b, g_b)."""


def _chord(a: FloatArray, b: FloatArray, g_a: FloatArray, g_b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the slope of the chord and its value at order 1."""
    slope = (g_b - g_a) / (b - a)
    return slope, g_a - slope * (a - 1)


@dataclass(frozen=True)
class _Epsilon:
    rounds: float
    delta: float

    def floor(self, a: FloatArray, b: FloatArray, rdp: FloatArray) -> FloatArray:
        # the conversion term falls until order 1/delta and rises after it
        return self.rounds * rdp + conversion_term(np.clip(1 / self.delta, a, b), delta=self.delta)

    def along_chord(
        self, a: FloatArray, b: FloatArray, g_a: FloatArray, g_b: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        slope, at_one = _chord(a, b, g_a, g_b)
        # the derivative along the chord is (log(order) + log(delta) - rounds * at_one) / (order - 1)^2
        with np.errstate(over="ignore"):
            order = np.clip(np.exp(self.rounds * at_one - math.log(self.delta)), a, b)
        g = g_a + slope * (order - a)
        return self.rounds * g / (order - 1) + conversion_term(order, delta=self.delta), order


@dataclass(frozen=True)
class _LogDelta:
    rounds: float
    eps: float

    def _value(self, order: FloatArray, g: FloatArray) -> FloatArray:
        return self.rounds * g + (order - 1) * (np.log1p(-1 / order) - self.eps) - np.log(order)

    def _best_order(self, a: FloatArray, b: FloatArray, slope: FloatArray) -> FloatArray:
        # with g of this slope the derivative is rounds * slope - eps + log(1 - 1/order), increasing
        excess = np.maximum(self.rounds * slope - self.eps, 0.0)
        with np.errstate(divide="ignore"):
            return np.clip(-1 / np.expm1(-excess), a, b)

    def floor(self, a: FloatArray, b: FloatArray, rdp: FloatArray) -> FloatArray:
        order = self._best_order(a, b, rdp)
        return self._value(order, (order - 1) * rdp)

    def along_chord(
        self, a: FloatArray, b: FloatArray, g_a: FloatArray, g_b: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        slope, _ = _chord(a, b, g_a, g_b)
        order = self._best_order(a, b, slope)
        return self._value(order, g_a + slope * (order - a)), order


class _Curve:
    """The orders at which the curve has been evaluated, and its values there; each is evaluated once."""

    def __init__(self, rdp: RenyiCurve) -> None:
        self._rdp = rdp
        self.orders = np.array([2.0, 3.0])
        self.values = evaluate(rdp, self.orders)

    def add(self, orders: FloatArray) -> None:
        """Evaluate the curve at the orders that are not known yet."""
        new = np.setdiff1d(orders, self.orders)
        if new.size:
            merged = np.concatenate([self.orders, new])
            order = np.argsort(merged)
            self.values = np.concatenate([self.values, evaluate(self._rdp, new)])[order]
            self.orders = merged[order]

    def _best(self, lemma: _Lemma1) -> tuple[float, float]:
        """Return the smallest value at the known orders and along the chords between finite ones."""
        at_orders = lemma.floor(self.orders, self.orders, self.values)
        best = int(np.argmin(at_orders))
        value, order = float(at_orders[best]), float(self.orders[best])
        with np.errstate(over="ignore"):
            g = (self.orders - 1) * self.values
        finite = np.isfinite(g)
        if np.count_nonzero(finite) > 1:
            known, g = self.orders[finite], g[finite]
            values, orders = lemma.along_chord(known[:-1], known[1:], g[:-1], g[1:])
            best = int(np.argmin(values))
            if float(values[best]) < value:
                value, order = float(values[best]), float(orders[best])
        return value, order

    def _floor(self, lemma: _Lemma1) -> FloatArray:
        """Return what Lemma 1 cannot go below between the known orders."""
        a, b = self.orders[:-1], self.orders[1:]
        floor = lemma.floor(a, b, self.values[:-1])
        if a.size < 3:
            return floor
        g = (self.orders - 1) * self.values
        with np.errstate(invalid="ignore"):  # inf - inf, where the curve is infinite
            slopes = np.diff(g) / (b - a)
            convex = (np.diff(slopes) >= 0) & np.isfinite(slopes[1:])
        inner = np.nonzero(convex[:-1] & convex[1:])[0] + 1
        a, b, width = a[inner], b[inner], (b - a)[inner]
        g_a, g_b = g[inner], g[inner + 1]
        from_below, _ = lemma.along_chord(a, b, g_a, g_a + slopes[inner - 1] * width)
        from_above, _ = lemma.along_chord(a, b, g_b - slopes[inner + 1] * width, g_b)
        floor[inner] = np.maximum(floor[inner], np.maximum(from_below, from_above))
        return floor

    def _grows_past_end(self, lemma: _Lemma1) -> bool:
        """Return whether an order beyond those known might do better."""
        last, most = self.orders[-1:], np.array([float(MAX_ORDER)])
        return bool(lemma.floor(last, most, self.values[-1:])[0] < self._best(lemma)[0])

    def _promising(self, lemma: _Lemma1) -> FloatArray:
        """Return the middles of the intervals of unknown orders in which there might be a better one."""
        a, b = self.orders[:-1], self.orders[1:]
        inside = (b - a > 1) & (self._floor(lemma) < self._best(lemma)[0])
        return np.floor((a[inside] + b[inside]) / 2)

    def minimise(self, lemmas: list[_Lemma1]) -> list[tuple[float, float]]:
        """Return for each lemma its minimum over the curve's chords, and the order of the minimum.

        At each step the curve is evaluated at all orders that any of the lemmas needs, in one call: most
        curves do work that such orders share.
        """
        growing = lemmas
        while self.orders[-1] < MAX_ORDER:
            growing = [lemma for lemma in growing if self._grows_past_end(lemma)]
            if not growing:
                break
            last = int(self.orders[-1])
            self.add(np.linspace(last, min(2 * last, MAX_ORDER), _PER_OCTAVE + 1).round())
        active = lemmas
        while active:
            wanted = [self._promising(lemma) for lemma in active]
            active = [lemma for lemma, orders in zip(active, wanted, strict=True) if orders.size]
            self.add(np.unique(np.concatenate(wanted)))
        return [self._best(lemma) for lemma in lemmas]


def _search(rdp: RenyiCurve, lemmas: list[_Lemma1 | None]) -> tuple[FloatArray, FloatArray]:
    """Minimise each lemma over the curve; None stands for no rounds, which cost nothing at any order."""
    found = iter(_Curve(rdp).minimise([lemma for lemma in lemmas if lemma]))
    pairs = [next(found) if lemma else (-math.inf, math.inf) for lemma in lemmas]
    values, orders = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return values, orders


def _result(values: FloatArray, orders: FloatArray, shape: tuple[int, ...]) -> Conversion:
    on_edge = (orders == 2) | (orders == MAX_ORDER)
    if shape == ():
        return Conversion(float(values[0]), float(orders[0]), bool(on_edge[0]))
    return Conversion(values.reshape(shape), orders.reshape(shape), on_edge.reshape(shape))


def to_epsilon(rdp: RenyiCurve, *, delta: float, rounds: ArrayLike = 1, bound: str = "upper") -> Conversion:
    """Convert a Renyi DP curve to epsilon at a given delta: girgis2021, Lemma 1 (and equation 5).

    Args:
        rdp: the curve of one round: maps an array of whole orders >= 2 to Renyi DP parameters.
        delta: target, in (0, 1).
        rounds: how often the mechanism runs (adaptively), whole numbers >= 0, any shape. All values share
            the evaluations of ``rdp``.
        bound: side to which the value is rounded, "upper" or "lower".

    Returns:
        A ``Conversion``: value (never below 0), order, on_edge. The value is an upper bound if the curve
        is one. It is never larger than Lemma 1 at any whole order in 2..2^20 if (order - 1) rdp(order) is
        convex, as it is for every bound of this package. For other curves, a better order may be missed
        between orders at which the curve looks convex. If the curve is a lower bound at whole orders, the
        value bounds from below what Lemma 1 can make of any upper bound that is known at whole orders.

    Raises:
        ValueError: an argument is out of range, or ``rdp`` returns nan or a negative number.
    """
    delta = checks.probability("delta", delta)
    counts = checks.counts("rounds", rounds)
    side = 1 if checks.choice("bound", bound, ("upper", "lower")) == "upper" else -1
    lemmas: list[_Lemma1 | None] = [_Epsilon(t, delta) if t > 0 else None for t in counts.ravel().tolist()]
    values, orders = _search(rdp, lemmas)
    # the curve's part of the value and delta's may cancel, so the rounding error is relative to their sizes
    size = np.maximum(values, 0.0) + (2 - math.log(delta)) / (orders - 1)
    values = np.where(counts.ravel() > 0, values + side * _ROUNDING * size, values)
    return _result(np.maximum(values, 0.0), orders, counts.shape)


def to_delta(rdp: RenyiCurve, *, eps: ArrayLike, rounds: ArrayLike = 1) -> Conversion:
    """Convert a Renyi DP curve to delta at a given epsilon: girgis2021, Lemma 1 solved for delta.

    Args:
        rdp: as for ``to_epsilon``.
        eps: targets, >= 0, any shape.
        rounds: whole numbers >= 0, any shape that broadcasts with ``eps``.

    Returns:
        A ``Conversion``: value (in [0, 1]), order, on_edge, of the broadcast shape. What it bounds
        depends on the curve as for ``to_epsilon``, up to rounding errors: it is not rounded to either side.

    Raises:
        ValueError: an argument is out of range, or ``rdp`` returns nan or a negative number.
    """
    targets, counts = np.broadcast_arrays(
        checks.reals("eps", eps, at_least=0.0), checks.counts("rounds", rounds)
    )
    pairs = zip(targets.ravel().tolist(), counts.ravel().tolist(), strict=True)
    lemmas: list[_Lemma1 | None] = [_LogDelta(t, target) if t > 0 else None for target, t in pairs]
    values, orders = _search(rdp, lemmas)
    return _result(np.exp(np.minimum(values, 0.0)), orders, targets.shape)
