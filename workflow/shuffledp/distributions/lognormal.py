"""A log-normal law of mean 1, and its rounding to a lattice in convex order, up or down.

Y = exp(Z/sigma - 1/(2 sigma^2)), Z standard normal: the likelihood ratio of two unit steps of a Gaussian, and
a term of the sum behind the shuffled Gaussian. For every convex function g, E g of the law rounded up is at
least E g(Y), and E g of the law rounded down is at most E g(Y). The same then holds for sums of independent
terms.

To round up, the mass between neighbouring points of the lattice is split over them so that its mean stays.
To round down, the function k -> E (Y - k)_+ is lowered: it is convex, and a convex function below it with the
same asymptotes belongs to a law that is smaller in convex order. Between two lattice points the chord lies
above the function, by no more than an eighth of the square of the gap times the largest density. If the
function is lowered by that much at the lattice points, the chords lie below it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from shuffledp.checks import FloatArray, IntArray
from shuffledp.numerics import EPSILON

# Nodes and weights, and the change of the log density in a cell up to which the quadrature has no error but
# rounding.
_QUADRATURES = (
    (*np.polynomial.legendre.leggauss(8), 1.0),
    (*np.polynomial.legendre.leggauss(32), 20.0),
    (*np.polynomial.legendre.leggauss(64), 60.0),
)
_MARGIN = 1 + 1e-9  # by which densities are raised before they bound others

# Relative error of a mass, or of the part of it that goes to one end of its cell, within 12 standard
# deviations: some hundred roundings. It is that of cells in which the log density changes by at most 60,
# while no lattice has a cell wider than a deviation. Users allow for four times as much.
MASS_ERROR = 2e-12


@dataclass(frozen=True)
class LogNormal:
    """The law of Y = exp(Z/sigma - 1/(2 sigma^2)).

    Attributes:
        sigma: a number > 0.
    """

    sigma: float

    def normal(self, y: FloatArray) -> FloatArray:
        """Return the z at which Y is y; -inf at 0."""
        with np.errstate(divide="ignore"):
            return self.sigma * np.log(y) + 0.5 / self.sigma

    def value(self, z: FloatArray) -> FloatArray:
        """Return the y at which Z is z."""
        return np.exp((z - 0.5 / self.sigma) / self.sigma)

    def density(self, y: FloatArray) -> FloatArray:
        """Return the density of Y at y > 0."""
        z = self.normal(y)
        return self.sigma * np.exp(-0.5 * z * z) / (math.sqrt(2 * math.pi) * y)

    @property
    def mode(self) -> float:
        """The point at which the density is largest; it rises before and falls after."""
        return math.exp(-1.5 / self.sigma**2)

    def above(self, y: float) -> float:
        """Return P(Y > y)."""
        return float(special.ndtr(-self.normal(np.asarray(y))))

    def mean_above(self, y: float) -> float:
        """Return E[Y; Y > y]."""
        return float(special.ndtr(1 / self.sigma - self.normal(np.asarray(y))))

    def below(self, y: float) -> float:
        """Return P(Y <= y)."""
        return float(special.ndtr(self.normal(np.asarray(y))))

    def mean_below(self, y: float) -> float:
        """Return E[Y; Y <= y]."""
        return float(special.ndtr(self.normal(np.asarray(y)) - 1 / self.sigma))

    def call(self, y: float) -> tuple[float, float]:
        """Return E(Y - y)_+ and a bound on its error."""
        z = float(self.normal(np.asarray(y)))
        return _difference_of_tails(z - 1 / self.sigma, z, y)

    def put(self, y: float) -> tuple[float, float]:
        """Return E(y - Y)_+ and a bound on its error."""
        z = float(self.normal(np.asarray(y)))
        value, error = _difference_of_tails(-z, 1 / self.sigma - z, 1 / y)
        return y * value, y * error


def _difference_of_tails(near: float, far: float, factor: float) -> tuple[float, float]:
    """Return Q(near) - factor Q(far) for the upper tail Q of the normal law, and a bound on its error.

    It is for near < far and a factor with factor phi(far) = phi(near), where phi is the normal density.
    """
    if near > 0:  # Mills ratios keep their digits where the tails themselves are tiny
        front = math.exp(-0.5 * near * near) / 2
        first, second = front * special.erfcx(near / math.sqrt(2)), front * special.erfcx(far / math.sqrt(2))
    else:
        first, second = special.ndtr(-near), factor * special.ndtr(-far)
    return float(first - second), float(EPSILON * (32 + 4 * near * near) * (first + second))


# Maps the indices of three points, in order, to the place of the middle one between the others: 0 is at the
# first and 1 at the last.
Share = Callable[[IntArray, IntArray, IntArray], FloatArray]


class Rounded(NamedTuple):
    """Masses on the points anchor + step * index of a lattice; arrays of one length.

    Attributes:
        index: whole numbers, increasing.
        mass: masses > 0.
    """

    index: IntArray  # type: ignore[assignment]  # nobody asks this tuple where an entry is
    mass: FloatArray


def _ends(law: LogNormal, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split the mass of each cell over its ends so that its mean stays; return the left and right parts."""
    low, high = edges[:-1], edges[1:]
    width = high - low
    z = law.normal(edges)
    # the difference of two tails is taken on the side on which they are small, where few digits cancel
    sign = np.where(z[:-1] + z[1:] > 0, -1.0, 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        mass = sign * (special.ndtr(sign * z[1:]) - special.ndtr(sign * z[:-1]))
        shifted = z - 1 / law.sigma
        sign = np.where(shifted[:-1] + shifted[1:] > 0, -1.0, 1.0)
        mean = sign * (special.ndtr(sign * shifted[1:]) - special.ndtr(sign * shifted[:-1]))
        left, right = (high * mass - mean) / width, (mean - low * mass) / width
        steepness = (np.maximum(np.abs(z[:-1]), np.abs(z[1:])) + 1 / law.sigma) * np.diff(z)
    least = -1.0
    for abscissae, weights, most in _QUADRATURES:
        smooth = (steepness > least) & (steepness <= most) & (width < 0.1 * low)
        at = low[smooth, None] + width[smooth, None] * (1 + abscissae) / 2
        inside = law.density(at) * (weights * width[smooth, None] / 2)
        right[smooth] = inside @ ((1 + abscissae) / 2)
        left[smooth] = inside @ ((1 - abscissae) / 2)
        least = most
    return np.maximum(left, 0.0), np.maximum(right, 0.0)


def rounded_up(law: LogNormal, index: np.ndarray, *, step: float, anchor: float) -> Rounded:
    """Return the part of the law between the first and the last of some lattice points, split over them.

    Args:
        law: the law of Y.
        index: whole numbers, increasing; the points are anchor + step * index, >= 0.
        step: the lattice's step.
        anchor: the point 0 of the lattice.
    """
    left, right = _ends(law, anchor + step * index)
    mass = np.zeros(index.size)
    mass[:-1] += left
    mass[1:] += right
    some = mass > 0
    return Rounded(index[some], mass[some])


def rounded_down(law: LogNormal, index: np.ndarray, *, start: float, step: float, anchor: float) -> Rounded:
    """Return a law on lattice points that is below a part of Y's law in convex order.

    The part is the one between ``start`` and the last of the points.

    Args:
        law: the law of Y.
        index: whole numbers, increasing, the first point not below ``start``.
        start: where the part begins, >= 0.
        step: the lattice's step.
        anchor: the point 0 of the lattice.

    Returns:
        The law, with the mass and the mean of the part; it is empty if the part spans too few cells to be
        rounded down.
    """
    points = anchor + step * index
    nothing = Rounded(index[:0], points[:0])
    if index.size < 4:
        return nothing
    gaps = np.diff(points)
    left, right = _ends(law, points)
    before = float(law.below(points[0]) - law.below(start)) if start < points[0] else 0.0
    before_mean = float(law.mean_below(points[0]) - law.mean_below(start)) if start < points[0] else 0.0
    # E(k - Y)_+ and E(Y - k)_+ of the part, at the points
    mass_left = before + np.concatenate([[0.0], np.cumsum(left + right)])
    put = max(points[0] * before - before_mean, 0.0) + np.concatenate(
        [[0.0], np.cumsum(gaps * (mass_left[:-1] + left))]
    )
    mass_right = np.concatenate([np.cumsum((left + right)[::-1])[::-1], [0.0]])
    call = np.concatenate([np.cumsum((gaps * (mass_right[1:] + right))[::-1])[::-1], [0.0]])
    # the sag is by how much the chord lies above the function in a cell at most; a point is lowered by the
    # larger sag of the cells on its two sides
    low, high = np.maximum(points[:-1], np.finfo(np.float64).tiny), points[1:]
    largest = law.density(np.clip(law.mode, low, high))
    sag = np.minimum(gaps**2 / 8 * largest, gaps * np.minimum(left, right)) * _MARGIN
    lower = np.maximum(np.append(sag, 0.0), np.insert(sag, 0, 0.0))
    # Outside of first..last the function's own asymptotes take the place of the chords. The two points at
    # which they meet are lowered by four times the sag, so that the chords from there lie below the function.
    room = np.minimum(put, call)
    centre = int(np.argmax(room))
    tight = np.nonzero(room < 4 * lower)[0]
    first = max(int(tight[tight < centre].max(initial=-1)) + 1, 1)
    last = min(int(tight[tight > centre].min(initial=index.size)) - 1, index.size - 2)
    if room[centre] < 4 * lower[centre] or not first <= centre <= last:
        return nothing
    lower[first], lower[last] = 4 * lower[first], 4 * lower[last]
    lower[:first], lower[last + 1 :] = put[:first], call[last + 1 :]
    mass = np.zeros(index.size)
    mass[:-1] += left
    mass[1:] += right
    slopes = np.diff(lower) / gaps
    mass[1:-1] -= np.diff(slopes)
    mass[: first - 1], mass[last + 2 :] = 0.0, 0.0
    mass[first - 1] = (put[first] - lower[first]) / gaps[first - 1]
    mass[last + 1] = (call[last] - lower[last]) / gaps[last]

    def share(before: np.ndarray, left_out: np.ndarray, after: np.ndarray) -> FloatArray:
        return (index[left_out] - index[before]) / (index[after] - index[before])

    kept, mass = convex(mass, share)
    return Rounded(index[kept], mass)


def convex(mass: FloatArray, share: Share) -> tuple[np.ndarray, FloatArray]:
    """Make a piecewise linear function convex from below by leaving out points where its slope falls.

    Args:
        mass: by how much the slope grows at each point, in the points' order; >= 0 at the first and last.
        share: maps the indices of three points, in order, to the place of the middle one between the
            others, from 0 to 1.

    Returns:
        Indices of the points at which the slope of the convex function grows, and how much it grows there,
        > 0. The mass of a point that is left out goes to both neighbours, so that sum and mean stay.

    Raises:
        ArithmeticError: the slope falls at the first or last point.
    """
    kept = np.nonzero(mass)[0]
    mass = mass[kept]
    while (mass < 0).any():
        good, bad = np.nonzero(mass >= 0)[0], np.nonzero(mass < 0)[0]
        after = np.searchsorted(good, bad)
        if after.min() == 0 or after.max() == good.size:
            raise ArithmeticError("a law could not be rounded down: its function is not convex at an end")
        before, after = good[after - 1], good[after]
        part = share(kept[before], kept[bad], kept[after])
        np.add.at(mass, before, mass[bad] * (1 - part))
        np.add.at(mass, after, mass[bad] * part)
        kept, mass = kept[good], mass[good]
    return kept[mass > 0], mass[mass > 0]
