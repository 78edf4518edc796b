"""Laws of a likelihood ratio from bounds on a privacy profile at some points.

A profile is a convex function of k = e^eps: the expectation of (R - k)_+, for the ratio R of the likelihoods
of two data sets under the law of the second. For k >= 1 that expectation is given, for k < 1 the one of
(k - R)_+, which is small there.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from shuffledp.checks import FloatArray
from shuffledp.distributions.lognormal import convex


class Ratios(NamedTuple):
    """A law of a ratio R of likelihoods, whose mean is 1; arrays of one length.

    Attributes:
        loss: log R, finite.
        mass: probabilities.
        mass_at_zero: probability that R is 0.
        mean_at_infinity: part of the mean that lies at infinity.
    """

    loss: FloatArray
    mass: FloatArray
    mass_at_zero: float = 0.0
    mean_at_infinity: float = 0.0


def changes(loss: FloatArray, gaps: FloatArray, values: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """Return the law whose expectations E(R - k)_+ (or E(k - R)_+, for k < 1) lie on the largest convex
    function below the chords through some values, as indices and masses."""
    slopes = np.diff(values) / gaps
    mass = np.diff(slopes, prepend=0.0, append=0.0)
    mass[loss == 0] += 1.0  # the values change from puts to calls here

    def share(before: np.ndarray, left_out: np.ndarray, after: np.ndarray) -> FloatArray:
        near, far = loss[before] - loss[left_out], loss[before] - loss[after]
        return np.expm1(near) / np.expm1(far) * np.exp(loss[left_out] - loss[after])

    return convex(mass, share)


def raised(loss: FloatArray, above: FloatArray) -> Ratios:
    """Return the law on 0, the grid and infinity whose expectations lie on the chords of upper bounds."""
    gaps = np.exp(loss[:-1]) * np.expm1(np.diff(loss))
    points = np.insert(loss, 0, -np.inf)
    kept, mass = changes(points, np.insert(gaps, 0, math.exp(loss[0])), np.insert(above, 0, 0.0))
    at_zero = float(mass[0]) if kept[0] == 0 else 0.0
    inner = kept > 0
    return Ratios(points[kept[inner]], mass[inner], at_zero, float(above[-1]))
