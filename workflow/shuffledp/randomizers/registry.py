"""The randomisers by name. Nothing here needs torch until one is made."""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING

from shuffledp import checks
from shuffledp.randomizers.names import CLASSES, NAMES

if TYPE_CHECKING:
    from torch import Tensor

    from shuffledp.randomizers.base import Randomizer

# Least standard deviation of noise: float32 rounds a much smaller one to no noise at all.
_LEAST_NOISE = 1e-30
PURE = tuple(name for name in NAMES if name != "gaussian")


def create(
    name: str,
    *,
    dimension: int,
    radius: float,
    eps0: float | None = None,
    noise_multiplier: float | None = None,
) -> Randomizer:
    """Make a randomiser.

    Args:
        name: one of ``NAMES``.
        dimension: d, the length of the vectors, >= 2.
        radius: the clip norm C > 0; inputs lie in the ball of that radius of the randomiser's norm. A longer
            row is as private, but not unbiased: ``clip_`` or ``check_inputs`` come first.
        eps0: local privacy parameter > 0 (nats), for all but "gaussian".
        noise_multiplier: z > 0, standard deviation over C, for "gaussian" alone.

    Raises:
        ValueError: a value is out of range, or the one of ``eps0`` and ``noise_multiplier`` that the
            randomiser takes is missing, or the other is given.
    """
    checks.choice("randomizer", name, NAMES)
    wanted, other = ("noise_multiplier", "eps0") if name == "gaussian" else ("eps0", "noise_multiplier")
    given = {"eps0": eps0, "noise_multiplier": noise_multiplier}
    if given[wanted] is None or given[other] is not None:
        raise ValueError(f"randomizer {name!r} takes {wanted} and not {other}, got {given}")
    strength = checks.real(wanted, given[wanted])
    size, clip_norm = checks.count("dimension", dimension, at_least=2), checks.real("radius", radius)
    for label, value in (("radius", clip_norm), (wanted, strength)):
        if value <= 0:
            raise ValueError(f"{label} must be a finite number > 0, got {value!r}")
    if name != "gaussian" and not math.isfinite((size * clip_norm / strength) * (1 / strength) * clip_norm):
        raise ValueError(f"eps0 must be large enough for (d C/eps0)^2 to be finite, got {eps0!r}")
    noise = strength * clip_norm
    if name == "gaussian" and not (
        min(strength, noise) >= _LEAST_NOISE and math.isfinite(size * noise * noise)
    ):
        raise ValueError(
            f"noise_multiplier, alone and times the radius, must be at least {_LEAST_NOISE:g} and have a "
            f"finite square, got {strength!r} and radius {clip_norm!r}"
        )
    made = getattr(importlib.import_module(f"{__package__}.{name}"), CLASSES[name])
    return made(dimension=size, radius=clip_norm, **{wanted: strength})


def check_inputs(randomizer: Randomizer, x: Tensor) -> None:
    """Refuse vectors that a randomiser is not made for.

    Args:
        randomizer: what ``create`` returns.
        x: one row for each client.

    Raises:
        ValueError: ``x`` is not of shape (clients, d), a row is not finite (``base.NotFiniteError``), or one
            lies outside the ball; the message says how far, in which norm.
    """
    from shuffledp.randomizers import base

    if x.ndim != 2 or x.shape[1] != randomizer.dimension:
        raise ValueError(f"x must have shape (clients, {randomizer.dimension}), got {tuple(x.shape)}")
    base.refuse_not_finite(x)
    longest = float(randomizer.lengths(x).max()) if x.shape[0] else 0.0
    if not longest <= randomizer.radius * (1 + base.ROUNDING):
        raise ValueError(
            f"x must lie in the {randomizer.norm} ball of radius {randomizer.radius:g}, got a row of norm "
            f"{longest:g}; clip it first"
        )
