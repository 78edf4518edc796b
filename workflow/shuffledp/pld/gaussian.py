"""The Gaussian mechanism on a lattice, for upper bounds, and as merged outcomes, for lower bounds."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from shuffledp import checks
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import POINTS_PER_DEVIATION, Lattice, Outcomes

_MOST_CELLS, _TINY = 10**6, 1e-290
_CELLS = 4 * POINTS_PER_DEVIATION  # cells per standard deviation in which outcomes are merged
# Relative amount by which masses and losses of the cells are reduced, since differences lose digits.
_INWARD = 1e-10
# Part of each cell's mass that is moved to its upper end, since a difference of two masses loses digits.
_OUTWARD = 1e-9


def gaussian_step(mu: float) -> float:
    """Return a lattice step that is fine enough for the Gaussian mechanism of ``gaussian_lattice``."""
    return mu / POINTS_PER_DEVIATION


def gaussian_lattice(*, mu: float, step: float, nats: float) -> Lattice:
    """Round the Gaussian mechanism to a lattice, pessimistically.

    Its loss is N(mu^2/2, mu^2) under P and N(-mu^2/2, mu^2) under Q. The mass between two neighbouring points
    is split over them so that it is kept under P and under Q (doroshenko2022); the mass below all points
    counts at the lowest.

    Args:
        mu: distance of two neighbours' values over the standard deviation of the noise, > 0. Of T rounds
            with mu_1, ..., mu_T it is the root of the sum of their squares.
        step: of the lattice, > 0.
        nats: the largest losses, of probability at most e^-nats, are left out and count as infinite.

    Returns:
        A lattice that dominates the mechanism, for ``pld.Composition`` with bound "upper".

    Raises:
        ValueError: an argument is out of range.
    """
    mu, step = checks.positive("mu", mu), checks.positive("step", step)
    reach = -float(special.ndtri_exp(-checks.positive("nats", nats)))
    lowest, highest = math.floor((mu / 2 - reach) * mu / step), math.ceil((mu / 2 + reach) * mu / step)
    index = np.arange(lowest, highest + 1.0)
    standard = index * step / mu
    p, q = _between(standard - mu / 2), _between(standard + mu / 2)
    # in a cell from l to l + step, P - e^l Q is the mass at the upper end times 1 - e^-step
    with np.errstate(divide="ignore", over="ignore"):
        other = np.exp(np.log(q) + index[:-1] * step)
    share = np.zeros_like(p)
    np.divide(p - other, -math.expm1(-step) * p, out=share, where=p > 0)
    upper = p * np.clip(share + _OUTWARD / min(step, 1.0), 0.0, 1.0)
    mass = np.zeros_like(index)
    mass[1:] += upper
    mass[:-1] += p - upper
    mass[0] += float(special.ndtr(standard[0] - mu / 2))
    some = mass > 0
    beyond = float(special.ndtr(mu / 2 - standard[-1]))
    return Lattice(step, index[some], mass[some], beyond * (1 + _OUTWARD))


def gaussian_outcomes(*, mu: float, nats: float) -> Outcomes:
    """Merge the outcomes of the Gaussian mechanism into cells: a pair that it dominates, for lower bounds.

    Args:
        mu: as for ``gaussian_lattice``.
        nats: losses of probability at most e^-nats, on either side, are left out.

    Returns:
        Masses and losses, rounded down.

    Raises:
        ValueError: an argument is out of range.
    """
    mu = checks.positive("mu", mu)
    reach = -float(special.ndtri_exp(-checks.positive("nats", nats)))
    cells = math.ceil(2 * (reach + mu) * _CELLS)
    # the same cells under P and, so that none is empty there, under Q
    edges = np.linspace(-reach - mu / 2, reach + mu / 2, min(cells, _MOST_CELLS) + 1)
    p, q = _between(edges - mu / 2), _between(edges + mu / 2)
    some = (p > _TINY) & (q > _TINY)
    loss = np.log(p[some] / q[some])
    return Outcomes(p[some] * (1 - _INWARD), loss - _INWARD * (1 + np.abs(loss)))


def _between(edges: FloatArray) -> FloatArray:
    """Return the masses of a standard normal variable between neighbouring edges, from its nearer tail."""
    low, high = edges[:-1], edges[1:]
    above = low > 0
    return special.ndtr(np.where(above, -low, high)) - special.ndtr(np.where(above, -high, low))
