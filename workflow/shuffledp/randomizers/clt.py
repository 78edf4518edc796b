"""The Gaussian limit of the sum of many l_2 messages: a quick approximation, for sweeps.

A message of the l_2 randomisers is C/m (t u + r W). Here t is its height along the unit vector u, W is a
uniform direction across u, and r^2 = 1 - t^2. The heights are drawn exactly. Given them, the sum of the r W
over a block of clients has mean 0 and covariance sum r^2 (I - u u^T)/(d - 1). A normal vector with this mean
and covariance takes its place: one draw of d normals for a block, not one for each client.
"""

from __future__ import annotations

import torch
from torch import Tensor

from shuffledp.randomizers import base
from shuffledp.randomizers.l2_hemisphere import L2Hemisphere
from shuffledp.randomizers.l2_privunit import L2PrivUnit


class GaussianLimit(base.Randomizer):
    """Sums of messages of an l_2 randomiser in the limit of many clients; there are no single messages."""

    norm = "l2"

    def __init__(self, exact: L2Hemisphere | L2PrivUnit) -> None:
        super().__init__(dimension=exact.dimension, radius=exact.radius)
        self.exact = exact

    @property
    def variance(self) -> float:
        """G_p^2 of the randomiser whose law it takes."""
        return self.exact.variance

    @property
    def bits(self) -> int:
        """The bits of a message of that randomiser."""
        return self.exact.bits

    def messages(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """Refuse: there are no single messages.

        Raises:
            TypeError: always.
        """
        raise TypeError("the Gaussian limit has sums only; use the randomiser itself for messages")

    def add_messages(self, total: Tensor, x: Tensor, *, generator: torch.Generator) -> None:
        """Add a draw of the sum of the clients' messages to ``total``; see ``base.Randomizer``."""
        x, length, divisor = base.with_direction(x)
        height = self.exact.heights(length, generator=generator)
        # a height that rounds to 1 leaves nothing across the vector, but the weight is divided by
        least = torch.finfo(torch.float32).tiny
        weight = ((1 - height.square()) / (self.dimension - 1)).clamp_(min=least)
        spread = float(weight.sum())
        rows = x * (weight.sqrt() / divisor).to(x.dtype).unsqueeze(1)
        # the root of spread I - rows^T rows is spread^(1/2) I + rows^T B rows
        sizes, basis = torch.linalg.eigh((rows @ rows.T).to(torch.float64))
        sizes = sizes.clamp_(0.0, spread)
        inner = (basis * (-1.0 / ((spread - sizes).sqrt() + spread**0.5))) @ basis.T
        normal = torch.empty_like(total, dtype=x.dtype).normal_(generator=generator)
        across = spread**0.5 * normal + (inner.to(x.dtype) @ (rows @ normal)) @ rows
        along = (height / divisor).to(x.dtype) @ x
        total += self.exact.scale * (across + along)
