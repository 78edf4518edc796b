"""Epsilon at a given delta, from a privacy profile or from the outcomes of a pair."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes
from shuffledp.profiles.subsampling import Profile

Bound = Literal["upper", "lower"]


def to_epsilon(profile: Profile, *, delta: ArrayLike, largest: float) -> float | FloatArray:
    """Return the smallest eps >= 0 at which a privacy profile is at most delta, rounded up (by 1e-12).

    Args:
        profile: non-increasing in eps.
        delta: targets, in [0, 1), any shape.
        largest: an eps at which the profile is known to be 0 (the pure DP parameter).

    Returns:
        Epsilon, of the shape of ``delta``: an upper bound, at most ``largest``, if the profile is an upper
        bound; if the profile is a lower bound, at most 1e-12 relative above a lower bound.

    Raises:
        ValueError: an argument is out of range.
    """
    deltas = checks.probabilities("delta", delta, zero=True)
    largest = checks.real("largest", largest, at_least=0.0)
    targets = deltas.ravel()

    def height(eps: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return _difference(np.log(np.asarray(profile(eps))), np.log(targets))

    found = numerics.crossing(height, np.zeros(targets.shape), np.full(targets.shape, largest))
    return checks.like_input(found.reshape(deltas.shape))


def outcomes_epsilon(outcomes: Outcomes, *, delta: float, bound: Bound) -> float:
    """Return epsilon at delta of a pair given by its outcomes, rounded to the side of the bound.

    delta(eps) = E[1 - e^(eps - loss)]_+ is a sum over the losses above eps. Between two neighbouring losses
    the sum has the same terms, and is solved for eps in closed form.

    Args:
        outcomes: masses, accurate to ``numerics.OUTWARD``, and losses, accurate to some units in the last
            place.
        delta: target, in [0, 1).
        bound: "upper": mass that is left out of the outcomes counts as infinite loss; "lower": it adds
            nothing.

    Returns:
        A bound on the smallest eps >= 0 with delta(eps) <= delta; inf for an upper bound if the mass that is
        left out exceeds delta by itself.
    """
    side = 1 if bound == "upper" else -1
    left_out = outcomes.infinite * (1 + 4 * numerics.EPSILON) if bound == "upper" else 0.0
    if left_out > delta:
        return math.inf
    above = (outcomes.loss > 0) & (outcomes.mass > 0)
    order = np.argsort(-outcomes.loss[above])
    loss = outcomes.loss[above][order] * (1 + side * 16 * numerics.EPSILON)
    mass = outcomes.mass[above][order] * (1 + side * numerics.OUTWARD)
    if not loss.size:
        return 0.0

    def at(eps: float) -> float:
        """Return delta at eps, on the side of the bound."""
        count = int(np.searchsorted(-loss, -eps))
        return left_out + float(mass[:count] @ -np.expm1(eps - loss[:count]))

    if at(0.0) <= delta:
        return 0.0
    # the last of the losses at which delta is not reached yet; the next one, or 0, is where it is
    low, high = 0, loss.size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(float(loss[middle])) <= delta else (low, middle)
    base, taken = float(loss[low]), slice(0, high)
    reached = left_out + float(mass[taken] @ -np.expm1(np.minimum(base - loss[taken], 0.0)))
    missing = (delta - reached) / float(mass[taken] @ np.exp(base - loss[taken]))
    eps = min(max(base + math.log1p(-missing), 0.0), base) if missing < 1 else 0.0
    step = max(eps, base * numerics.EPSILON) * 2.0**-50
    if bound == "upper":
        while eps < base and at(eps) > delta:
            eps, step = min(eps + step, base), 2 * step
        return eps
    while eps > 0 and at(eps) <= delta:
        eps, step = max(eps - step, 0.0), 2 * step
    return eps


def _difference(upper: FloatArray, lower: FloatArray) -> FloatArray:
    """Return upper - lower, and 0 for two equal infinities: a profile of 0 meets a target of 0."""
    return np.subtract(upper, lower, out=np.zeros(upper.shape), where=upper != lower)
