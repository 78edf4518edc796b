"""The l_2 randomiser PrivUnit (Bhowmick et al. 2018), with the best exact split of eps0."""

from __future__ import annotations

import numpy as np
import torch
from scipy import special
from torch import Tensor

from shuffledp.randomizers import base, constants


class L2PrivUnit(base.Randomizer):
    """Draw V from the cap {<v, u> >= g} around u = +-x/|x| with probability p, from the rest otherwise.

    The sign is + with probability 1/2 + |x|/(2C), a one-bit mechanism for the length; mixing over it costs no
    privacy. The server decodes C V/m with m = E<V, u>. Cap and p are those of ``constants.privunit``.
    """

    name = "l2_privunit"
    norm = "l2"

    def __init__(self, *, dimension: int, radius: float, eps0: float) -> None:
        super().__init__(dimension=dimension, radius=radius)
        self.constants = constants.privunit(dimension=dimension, eps0=eps0)
        self.scale = radius * self.constants.scale

    @property
    def variance(self) -> float:
        """(C/m)^2, reached at x = 0."""
        return self.scale**2

    @property
    def bits(self) -> int:
        """The bits of a vector of float32."""
        return 32 * self.dimension

    def heights(self, length: Tensor, *, generator: torch.Generator) -> Tensor:
        """Draw <V, x/|x|>, float64 of shape (clients,), given |x|.

        The sign is drawn first, then cap or rest, then the height within it by its quantile function.

        Raises:
            base.NotFiniteError: a length is not finite.
        """
        base.refuse_not_finite(length)  # the clamp would make an infinite length finite
        count = length.shape[0]
        unit = (length / self.radius).clamp_(max=1.0)
        backward = base.rare(0.5 * (1.0 - unit), count=count, generator=generator)
        outside = base.rare(self.constants.rest_probability, count=count, generator=generator).cpu().numpy()
        share = base.uniform(count, generator=generator).cpu().numpy()
        cap = self.constants.cap
        above = np.where(
            outside, cap + share * (1 - cap), share * cap
        )  # share of the sphere above the height
        height = special.betainccinv(0.5, (self.dimension - 1) / 2, 2 * np.minimum(above, 1 - above)) ** 0.5
        drawn = torch.from_numpy(np.where(above > 0.5, -height, height)).to(length.device)
        return torch.where(backward, -drawn, drawn)

    def _parts(self, x: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return normals across x, their factors, vectors along x, and their factors; the products add up."""
        x, length, divisor = base.with_direction(x)
        height = self.heights(length, generator=generator)
        normals = torch.empty_like(x).normal_(generator=generator)
        along = torch.linalg.vecdot(normals, x).to(torch.float64) / divisor.square()
        normals.addcmul_(x, along.to(x.dtype).unsqueeze(1), value=-1)
        size = torch.linalg.vector_norm(normals, dim=1).clamp_(min=torch.finfo(x.dtype).tiny)
        across = self.scale * (1 - height.square()).sqrt() / size
        return normals, across.to(x.dtype), x, (self.scale * height / divisor).to(x.dtype)

    def messages(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """Return decoded messages; see ``base.Randomizer.messages``."""
        unit, length = base.directions(x)
        height = self.heights(length, generator=generator).unsqueeze(1)
        across = torch.empty_like(x).normal_(generator=generator)
        # twice: where little is left across x, what rounding leaves along x after one projection matters
        for _ in range(2):
            across -= torch.linalg.vecdot(across, unit).unsqueeze(1) * unit
            across /= torch.linalg.vector_norm(across, dim=1, keepdim=True)
        direction = height * unit + ((1 - height) * (1 + height)).sqrt() * across
        direction /= torch.linalg.vector_norm(direction, dim=1, keepdim=True)
        return base.on_grid(direction, typical=self.dimension**-0.5) * self.scale

    def add_messages(self, total: Tensor, x: Tensor, *, generator: torch.Generator) -> None:
        """Add the clients' decoded messages to ``total``."""
        normals, across, x, along = self._parts(x, generator)
        total += across @ normals
        total += along @ x
