"""The Gaussian randomiser, which is (eps, delta)-LDP and not eps0-LDP."""

from __future__ import annotations

import torch
from torch import Tensor

from shuffledp.randomizers import base


class Gaussian(base.Randomizer):
    """Send x + N(0, z^2 C^2 I) for x in the l_2 ball of radius C."""

    name = "gaussian"
    norm = "l2"

    def __init__(self, *, dimension: int, radius: float, noise_multiplier: float) -> None:
        super().__init__(dimension=dimension, radius=radius)
        self.deviation = noise_multiplier * radius

    @property
    def variance(self) -> float:
        """d z^2 C^2, for every x."""
        return self.dimension * self.deviation**2

    @property
    def bits(self) -> int:
        """The bits of a vector of float32."""
        return 32 * self.dimension

    def messages(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """Return decoded messages; see ``base.Randomizer.messages``."""
        noisy = x / self.deviation + torch.empty_like(x).normal_(generator=generator)
        return base.on_grid(noisy, typical=1.0) * self.deviation

    def add_messages(self, total: Tensor, x: Tensor, *, generator: torch.Generator) -> None:
        """Add the clients' decoded messages to ``total``; see ``base.Randomizer``.

        Their noise is drawn as a sum, which has the same law and takes d normals for all clients together.
        """
        noise = torch.empty_like(total).normal_(generator=generator)
        total += x.sum(0)
        total += noise * (self.deviation * x.shape[0] ** 0.5)
