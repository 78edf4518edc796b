"""The three strengths in which every bound of balle2020 comes, and what they share.

A bound composes the epsilons of slots, one slot after the other.

- "closed_form": as printed.
- "sum": the heterogeneous composition that the proofs start from (equation 2), over the epsilon of each slot.
- "numerical": the same slots, composed as randomised responses.
"""

from __future__ import annotations

import math

import numpy as np

from shuffledp import checks, numerics
from shuffledp.checks import FloatArray
from shuffledp.pld import pure_steps

STRENGTHS = ("closed_form", "sum", "numerical")
LARGEST_EPS0 = 200.0  # beyond, e^(3 eps0) overflows; eps0 itself is the answer then
OUTWARD = 1 + 16 * numerics.EPSILON  # covers the rounding of a closed form
BLOCKS = 2**20  # slots that are composed one by one; beyond, a block of slots counts as its last one
_MOST_LISTED = 2**26  # slots whose epsilons are returned, as arrays of that length fit in memory


def checked(
    slots: int, eps0: float, delta: float, strength: str, *, size: str = "slots"
) -> tuple[int, float, float, str]:
    """Return the arguments that all bounds share, checked.

    Args:
        slots: number of slots, >= 1.
        eps0: local privacy parameter, >= 0.
        delta: target, in (0, 1).
        strength: one of ``STRENGTHS``.
        size: what messages call the number of slots.

    Raises:
        ValueError: an argument is out of range.
    """
    return (
        checks.count(size, slots),
        checks.eps0(eps0),
        checks.probability("delta", delta),
        checks.choice("strength", strength, STRENGTHS),
    )


def pure(eps0: float, rounds: int) -> float:
    """Return rounds * eps0, which no composition exceeds; rounded up where the product is rounded at all."""
    return eps0 if rounds == 1 else rounds * eps0 * (1 + numerics.EPSILON)


def closed_form(grown: float, eps0: float, delta: float, rounds: int) -> float:
    """Return epsilon by Lemma A.2: the squared epsilons of a run sum to at most grown^2."""
    spread = grown * math.sqrt(2 * rounds * -math.log(delta))
    return min((rounds * (grown * grown) / 2 + spread) * OUTWARD, pure(eps0, rounds))


def composed(
    epsilons: FloatArray, eps0: float, delta: float, strength: str, rounds: int, length: int = 1
) -> float:
    """Return epsilon of slots composed in turn, of which each stands for a block of that length."""
    compose = pure_steps.advanced if strength == "sum" else pure_steps.numerical
    return min(compose(epsilons, delta=delta, repeats=rounds * length) * OUTWARD, pure(eps0, rounds))


def block_length(slots: int) -> int:
    """Return how many slots are composed as one block."""
    return math.ceil(slots / BLOCKS)


def blocks(slots: int) -> tuple[FloatArray, int]:
    """Return places that stand for blocks of slots, the last of each, and how long blocks are."""
    length = block_length(slots)
    return np.minimum(np.arange(0, slots, length, dtype=np.float64) + length - 1, slots - 1), length


def listed(name: str, slots: int) -> FloatArray:
    """Return 0, ..., slots - 1.

    Raises:
        ValueError: they are too many for memory; ``name`` is what the message calls their number.
    """
    if slots > _MOST_LISTED:
        raise ValueError(f"{name} must be at most {_MOST_LISTED} where each is listed, got {slots}")
    return np.arange(slots, dtype=np.float64)


def capped_expm1(eps0: float) -> float:
    """Return e^eps0 - 1, and about e^700 where it would overflow."""
    return math.expm1(min(eps0, 700.0))


def outward_log1p(share: FloatArray) -> FloatArray:
    """Return log(1 + share), rounded up."""
    return np.log1p(share) * OUTWARD
