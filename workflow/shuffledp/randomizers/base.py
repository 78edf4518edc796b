"""What the local randomisers have in common, on torch."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor


def uniform(count: int, *, generator: torch.Generator) -> Tensor:
    """Return float64 uniforms: multiples of 2^-53 in [0, 1), on the generator's device."""
    return torch.rand(count, dtype=torch.float64, device=generator.device, generator=generator)


def rare(probability: Tensor | float, *, count: int, generator: torch.Generator) -> Tensor:
    """Draw ``count`` events that happen with the given probability, rounded up to a multiple of 2^-53.

    Randomisers put their less likely outcome here. Being rounded up it is never too rare, so the ratio of
    likely to unlikely stays at most e^eps0 for every eps0, also where 1 minus the probability rounds to 1.
    """
    return uniform(count, generator=generator) < probability


def least_probability(eps0: float) -> float:
    """Return 1/(e^eps0 + 1), the least probability of a randomised bit's rarer side, and at least 2^-53, the
    least that can be drawn."""
    return max(math.exp(-eps0) / (1.0 + math.exp(-eps0)), 2.0**-53)


def against(value: Tensor, least: float) -> Tensor:
    """Return the probability that one randomised bit disagrees with the sign of ``value``.

    Args:
        value: float64 in [-1, 1], what the bit stands for.
        least: ``least_probability`` of eps0.

    Returns:
        (1 - |value|/c)/2 with c = (e^eps0 + 1)/(e^eps0 - 1), without the cancellation at |value| = 1.
    """
    size = value.abs()
    return 0.5 * (1.0 - size) + size * least


def randomized_signs(value: Tensor, least: float, *, generator: torch.Generator) -> Tensor:
    """Return bits +-1 (float64) whose mean is ``value``/c; arguments as for ``against``."""
    wrong = rare(against(value, least), count=value.shape[0], generator=generator)
    return 1.0 - 2.0 * (wrong != (value < 0)).to(torch.float64)


def with_direction(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return vectors that all have a direction, the lengths of ``x``, and their own lengths, which divide.

    Rows of ``x`` that have no direction get the first unit vector: for input 0 a randomiser takes either sign
    of it equally often, so any will do.

    Args:
        x: float32 of shape (clients, d).

    Returns:
        The vectors, of the shape of ``x``, and two float64 tensors of shape (clients,).
    """
    length = torch.linalg.vector_norm(x, dim=1).to(torch.float64)
    flat = length == 0
    if not bool(flat.any()):
        return x, length, length
    x = x.clone()
    x[flat] = 0.0
    x[flat, 0] = 1.0
    return x, length, length + flat


class Randomizer(ABC):
    """An unbiased randomiser of vectors in the ball of radius ``radius`` of its norm.

    Attributes:
        name: its name in the registry.
        norm: "linf", "l1" or "l2", the norm of its ball.
        dimension: d.
        radius: the clip norm C.
    """

    name: ClassVar[str]
    norm: ClassVar[str]

    def __init__(self, *, dimension: int, radius: float) -> None:
        self.dimension = dimension
        self.radius = radius

    @property
    @abstractmethod
    def variance(self) -> float:
        """G_p^2: the largest E |R(x) - x|_2^2 over x in the ball."""

    @property
    @abstractmethod
    def bits(self) -> int:
        """Bits that one message takes."""

    @abstractmethod
    def randomize(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """Return what the server decodes from each client's message.

        Args:
            x: float32 of shape (clients, d), each row in the ball.
            generator: source of all randomness, on the device of ``x``.

        Returns:
            Same shape and device; one independent draw a row, with mean ``x``.
        """

    def add(self, total: Tensor, x: Tensor, *, generator: torch.Generator) -> None:
        """Add the clients' decoded messages to ``total`` of shape (d,); the same law as ``randomize``, and
        the same draws but for the Gaussian."""
        total += self.randomize(x, generator=generator).sum(0)

    def lengths(self, x: Tensor) -> Tensor:
        """Return the randomiser's norm of each row, of shape (clients,)."""
        if self.norm == "linf":  # vector_norm takes twenty times as long here
            return torch.maximum(x.amax(1), -x.amin(1))
        return torch.linalg.vector_norm(x, ord={"l1": 1, "l2": 2}[self.norm], dim=1)

    def clip_(self, x: Tensor) -> Tensor:
        """Scale, in place, the rows that lie outside the ball onto its surface, and return ``x``."""
        return x.mul_((self.radius / self.lengths(x)).clamp_(max=1.0).unsqueeze(1))
