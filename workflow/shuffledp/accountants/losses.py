"""Shared by the accountants that compose a privacy loss distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from shuffledp.accountants.registry import Columns
from shuffledp.checks import FloatArray
from shuffledp.pld.composition import Composition
from shuffledp.pld.outcomes import Lattice, Outcomes

# Lattice points in the root mean square of the losses that are not 0 (which is a lattice point). Rounding to
# the lattice changes the variance of the loss by some 1/(6 * 40^2) of itself, hence epsilon by less than
# 0.01%, whatever the number of rounds.
POINTS_PER_DEVIATION = 40

# Beyond, ratios of probabilities are not representable; nothing is claimed but what pure DP gives.
LARGEST_EPS0 = 300.0


def lattice_step(outcomes: Outcomes) -> float:
    """Return the step of the lattice for a pair: a divisor of its largest loss."""
    moving = outcomes.loss != 0
    spread = math.sqrt(float(outcomes.mass @ outcomes.loss**2) / float(outcomes.mass[moving].sum()))
    largest = float(np.abs(outcomes.loss).max())
    return largest / math.ceil(largest * POINTS_PER_DEVIATION / spread)


def columns(
    pairs: Sequence[Outcomes],
    *,
    rounded: Callable[..., Lattice],
    rounds: FloatArray,
    delta: float,
    bound: str,
) -> Columns:
    """Return epsilon of T rounds for every T, and what the error budget leaves open, relative to delta.

    Args:
        pairs: outcomes of one round; where there are several (directions of neighbours), the largest epsilon
            counts.
        rounded: ``connect_the_dots`` or ``merge_to_lattice``.
        rounds: numbers of rounds.
        delta: target.
        bound: "upper" or "lower".
    """
    lattices = [rounded(pair, step=lattice_step(pair)) for pair in pairs if (pair.loss != 0).any()]

    def one(count: float) -> tuple[float, float]:
        best = (0.0, 0.0)
        for lattice in lattices:
            composition = Composition([(lattice, int(count))], bound=bound)
            epsilon = composition.epsilon(delta)
            if epsilon > best[0]:
                best = (epsilon, composition.delta_with_errors(epsilon)[1].total / delta)
        return best

    found = np.array([one(count) for count in rounds.tolist()]).reshape(-1, 2)
    return {"epsilon": found[:, 0], "delta_error": found[:, 1]}


def nothing_to_say(eps0: float, rounds: FloatArray, bound: str) -> Columns | None:
    """Return the columns for settings without a numerical answer: eps0 = 0, or too large for one."""
    if 0 < eps0 <= LARGEST_EPS0:
        return None
    value = np.inf if eps0 > 0 and bound == "upper" else 0.0
    return {"epsilon": np.full(rounds.shape, value), "delta_error": np.zeros(rounds.shape)}
