"""The l_inf randomiser by coordinate sampling (Girgis et al., AISTATS 2021, R_inf)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from shuffledp.randomizers import base, constants


class LinfCoordinate(base.Randomizer):
    """Draw a coordinate j uniformly, and send it with one bit.

    The bit is + with probability 1/2 + x_j/(2 C c), c = (e^eps0 + 1)/(e^eps0 - 1). The server decodes
    d C c sign e_j.
    """

    name = "linf_coordinate"
    norm = "linf"

    def __init__(self, *, dimension: int, radius: float, eps0: float) -> None:
        super().__init__(dimension=dimension, radius=radius)
        self.least = base.least_probability(eps0)
        self.scale = dimension * radius * constants.contrast(eps0)

    @property
    def variance(self) -> float:
        """d^2 C^2 c^2, reached at x = 0."""
        return self.scale**2

    @property
    def bits(self) -> int:
        """The bits of a coordinate's number, and one."""
        return math.ceil(math.log2(self.dimension)) + 1

    def draw(self, clients: int, *, generator: torch.Generator) -> Tensor:
        """Return each client's coordinate, int64 of shape (clients,): all that it needs of its vector."""
        return torch.randint(self.dimension, (clients,), generator=generator, device=generator.device)

    def signs(self, values: Tensor, *, generator: torch.Generator) -> Tensor:
        """Return the randomised bits, float64 +-1 of shape (clients,).

        Args:
            values: each client's value at its coordinate, in [-C, C].
            generator: source of all randomness, on the device of ``values``.

        Raises:
            base.NotFiniteError: a value is not finite.
        """
        base.refuse_not_finite(values)  # the clamp would make an infinite value finite
        # a clipped value may exceed C by float32 rounding; the clamp keeps the bit eps0-LDP for any input
        unit = (values.to(torch.float64) / self.radius).clamp_(-1.0, 1.0)
        return base.randomized_signs(unit, self.least, generator=generator)

    def add_votes(self, total: Tensor, coordinates: Tensor, signs: Tensor) -> None:
        """Add decoded messages to ``total`` of shape (d,), given coordinates and bits."""
        votes = torch.zeros(self.dimension, dtype=torch.float64, device=total.device)
        votes.index_add_(0, coordinates, signs)  # whole numbers: exact in any order
        total += self.scale * votes

    def messages(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """Return decoded messages; see ``base.Randomizer.messages``."""
        j = self.draw(x.shape[0], generator=generator)
        signs = self.signs(x.gather(1, j.unsqueeze(1)).squeeze(1), generator=generator)
        return torch.zeros_like(x).scatter_(1, j.unsqueeze(1), (self.scale * signs).to(x.dtype).unsqueeze(1))

    def add_messages(self, total: Tensor, x: Tensor, *, generator: torch.Generator) -> None:
        """Add the clients' decoded messages to ``total``; see ``base.Randomizer``."""
        j = self.draw(x.shape[0], generator=generator)
        signs = self.signs(x.gather(1, j.unsqueeze(1)).squeeze(1), generator=generator)
        self.add_votes(total, j, signs)
