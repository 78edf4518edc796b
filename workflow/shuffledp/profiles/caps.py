"""Caps of the unit sphere, from which PrivUnit draws its reports: how much two of them overlap."""

from __future__ import annotations

import functools
import math

import numpy as np

from shuffledp import numerics
from shuffledp.checks import FloatArray

SHARE_ERROR = 1e-13  # relative error of the share of a cap
_PANELS = 2**19  # panels of the integral over two caps


@functools.lru_cache(maxsize=64)
def overlap(dimension: int, threshold: float) -> tuple[float, float]:
    """Return the part of a cap that lies in the cap around a vector at right angles, and a bound on its
    relative error.

    In the plane of the two vectors a uniform unit vector has density (d - 2) (1 - r^2)^((d - 4)/2)/(2 pi).
    Integrated over r, and with s the cotangent of the angle, the share of the sphere in both caps of
    threshold t is the integral of (1 - t^2 (1 + s^2))^((d - 2)/2)/(pi (1 + s^2)) over s from 1 to
    sqrt(1 - t^2)/t. From s = 1 on the integrand is convex for d >= 4, as its second derivative shows: so the
    midpoint rule is too small, and the trapezoidal rule is too large.

    Args:
        dimension: of the vectors, >= 2.
        threshold: t of the cap {<v, u> >= t} around a unit vector u, in [0, 1).
    """
    t = threshold
    widest = math.acos(min(t, 1.0))  # half the angle of the cap
    if 2 * t * t >= 1:
        return 0.0, 0.0
    from shuffledp.randomizers import constants

    share = constants.cap_measure(dimension=dimension, threshold=t)
    if dimension <= 3:
        if dimension == 2:
            both = (widest - math.pi / 4) / math.pi
        else:
            width = math.sqrt(1 - t * t)
            turned = t * math.asin(t / width) - math.asin(math.sqrt(0.5) / width)
            both = (math.pi / 2 * (1 - t) + turned) / math.pi
        if both <= 8 * numerics.EPSILON:
            return 0.0, 1.0
        return min(both / share, 0.5), 8 * numerics.EPSILON / both + SHARE_ERROR
    power = (dimension - 2) / 2
    # where the first factor is e^-60 times its value at s = 1, or 0
    end = math.sqrt(1 + numerics.NEGLIGIBLE * (1 - 2 * t * t) / (power * t * t)) if t > 1e-150 else math.inf
    end = min(end, math.sqrt(1 - t * t) / t if t > 1e-150 else math.inf, 1e100)

    def density(s: FloatArray) -> FloatArray:
        square = 1 + s * s
        with np.errstate(divide="ignore"):
            return np.exp(power * np.log1p(-np.minimum(t * t * square, 1.0))) / (math.pi * square)

    edges = np.exp(np.linspace(0.0, math.log(end), _PANELS + 1))
    edges[0] = 1.0
    at_edges, widths = density(edges), np.diff(edges)
    least = float(widths @ density(edges[:-1] + widths / 2))
    most = float(widths @ (at_edges[:-1] + at_edges[1:])) / 2 + math.exp(-numerics.NEGLIGIBLE) * at_edges[0]
    both = (least + most) / 2
    error = (most - least) / (2 * both) + numerics.EPSILON * (64 + 8 * numerics.NEGLIGIBLE) + SHARE_ERROR
    return min(both / share, 0.5), error
