"""Adaptive composition of steps that are (eps_i, 0)-DP, in the three strengths of ``balle2020``."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shuffledp import numerics
from shuffledp.checks import FloatArray
from shuffledp.pld.composition import Composition
from shuffledp.pld.contour import LatticeTooFineError
from shuffledp.pld.outcomes import Lattice, Outcomes, connect_the_dots

_BLOCKS = 200
_POINTS = 20  # lattice points in the root mean square of the losses
_LARGEST = 300.0  # with a larger parameter, ratios of probabilities are not representable


def advanced(epsilons: FloatArray, *, delta: float, repeats: int = 1) -> float:
    """Return epsilon of the composition by the sum of balle2020's equation (2), an upper bound.

    It is sum_i eps_i tanh(eps_i/2) + sqrt(2 log(1/delta) sum_i eps_i^2) (kairouz2015, Theorem 3.5).

    Args:
        epsilons: parameters of the steps, >= 0, one-dimensional.
        delta: target, in (0, 1).
        repeats: how often the whole sequence is run.
    """
    squares = repeats * math.fsum(np.square(epsilons))
    drift = repeats * math.fsum(epsilons * np.tanh(epsilons / 2))
    return (drift + math.sqrt(-2 * math.log(delta) * squares)) * (1 + 8 * numerics.EPSILON)


def numerical(epsilons: FloatArray, *, delta: float, repeats: int = 1) -> float:
    """Return epsilon of the composition of randomised responses, which dominates any such steps.

    It is an upper bound: the steps are sorted and cut into blocks of equal length, each step counts as the
    largest of its block, and losses are rounded by connecting the dots. One step of every block makes a
    sequence that is repeated.

    Args:
        epsilons: parameters of the steps, >= 0, one-dimensional.
        delta: target, in (0, 1).
        repeats: how often the whole sequence is run.
    """
    moving = np.sort(epsilons[epsilons > 0])[::-1]
    if not moving.size:
        return 0.0
    total = repeats * math.fsum(moving) * (1 + 8 * numerics.EPSILON)
    if moving[0] > _LARGEST:
        return total
    length = math.ceil(moving.size / _BLOCKS)
    largest = moving[::length]
    square = float(np.mean(largest * np.tanh(largest / 2)))
    step = math.sqrt(2 * square) / _POINTS
    sequence = _one_after_the_other([_response(float(eps), step) for eps in largest], step)
    try:
        found = Composition([(sequence, length * repeats)], bound="upper").epsilon(delta)
    except LatticeTooFineError:
        return min(total, advanced(epsilons, delta=delta, repeats=repeats))
    return min(found, total)


def _response(eps: float, step: float) -> Lattice:
    """Return the privacy loss of binary randomised response."""
    more = 1 / (1 + math.exp(-eps))
    pair = Outcomes(np.array([more, math.exp(-eps) * more]), np.array([eps, -eps]))
    return connect_the_dots(pair, step=step)


def _one_after_the_other(lattices: Sequence[Lattice], step: float) -> Lattice:
    """Return the summed losses of lattices with few points each; rounding may add mass, and removes none."""
    places = [np.round(lattice.loss / step).astype(np.int64) for lattice in lattices]
    lowest = sum(int(place.min()) for place in places)
    mass = np.ones(1)
    for lattice, place in zip(lattices, places, strict=True):
        place = place - place.min()
        longer = np.zeros(mass.size + int(place.max()))
        for shift, part in zip(place.tolist(), lattice.mass.tolist(), strict=True):
            longer[shift : shift + mass.size] += part * mass
        mass = longer
    some = mass > 0
    grown = mass[some] * (1 + 8 * len(lattices) * numerics.EPSILON)
    return Lattice(step, lowest + np.nonzero(some)[0].astype(np.float64), grown, 0.0)
