"""The l_2 randomiser of Duchi, Jordan and Wainwright: a uniform direction on one side of the input."""

from __future__ import annotations

import torch
from scipy import special
from torch import Tensor

from shuffledp.randomizers import base, constants


class L2Hemisphere(base.Randomizer):
    """Draw a direction V, uniform on the half of the sphere around +-x or on the other half.

    The sign is + with probability 1/2 + |x|/(2C), and the half around +-x has probability
    e^eps0/(e^eps0 + 1). Both coins together decide on which side of x itself V lies: it is the far side with
    probability (1 - |x|/(C c))/2, c = (e^eps0 + 1)/(e^eps0 - 1). The server decodes M V, with M such that the
    mean is x exactly.
    """

    name = "l2_hemisphere"
    norm = "l2"

    def __init__(self, *, dimension: int, radius: float, eps0: float) -> None:
        super().__init__(dimension=dimension, radius=radius)
        self.least = base.least_probability(eps0)
        self.scale = radius * constants.hemisphere_scale(dimension=dimension, eps0=eps0)

    @property
    def variance(self) -> float:
        """M^2, reached at x = 0."""
        return self.scale**2

    @property
    def bits(self) -> int:
        """The bits of a vector of float32."""
        return 32 * self.dimension

    def _against(self, length: Tensor, generator: torch.Generator) -> Tensor:
        unit = (length / self.radius).clamp_(max=1.0)
        return base.rare(base.against(unit, self.least), count=length.shape[0], generator=generator)

    def heights(self, length: Tensor, *, generator: torch.Generator) -> Tensor:
        """Draw the inner products of the messages' directions V and of x/|x|, given the lengths |x|.

        V is a unit vector. It is drawn first on which side of the plane through 0 that is at right angles to
        x it lies, then how far from that plane, by the quantile function of the distance.

        Args:
            length: |x| for each client.
            generator: source of all randomness.

        Returns:
            float64, one for each client.

        Raises:
            base.NotFiniteError: a length is not finite.
        """
        base.refuse_not_finite(length)  # a clamp would make an infinite length finite
        against = self._against(length, generator)
        above = base.uniform(length.shape[0], generator=generator).cpu().numpy()
        height = special.betainccinv(0.5, (self.dimension - 1) / 2, above) ** 0.5
        drawn = torch.from_numpy(height).to(length.device)
        return torch.where(against, -drawn, drawn)

    def _directions(self, x: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return normals Z, and the factors by which they become messages."""
        x, length, _ = base.with_direction(x)
        against = self._against(length, generator)
        normals = torch.empty_like(x).normal_(generator=generator)
        side = torch.linalg.vecdot(normals, x)
        size = self.scale / torch.linalg.vector_norm(normals, dim=1)
        return normals, torch.where(against != (side < 0), -size, size)

    def messages(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """Return decoded messages; see ``base.Randomizer.messages``."""
        unit, length = base.directions(x)
        against = self._against(length, generator)
        normals = torch.empty_like(x).normal_(generator=generator)
        side = torch.linalg.vecdot(normals, unit)
        sign = torch.where(against != (side < 0), -1.0, 1.0)
        direction = normals / torch.linalg.vector_norm(normals, dim=1, keepdim=True)
        return base.on_grid(direction, typical=self.dimension**-0.5) * sign.unsqueeze(1) * self.scale

    def add_messages(self, total: Tensor, x: Tensor, *, generator: torch.Generator) -> None:
        """Add the clients' decoded messages to ``total``."""
        normals, factors = self._directions(x, generator)
        total += factors @ normals
