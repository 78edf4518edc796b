"""The l_1 randomiser: coordinate sampling after a Hadamard rotation (Girgis et al., AISTATS 2021, R_1)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from shuffledp.randomizers import base, constants


def hadamard(log_size: int, device: torch.device) -> Tensor:
    """Return the +-1 Hadamard matrix of size 2^``log_size`` (Sylvester's), float32."""
    matrix = torch.ones(1, 1, device=device)
    for _ in range(log_size):
        matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)], 0)
    return matrix


class L1Hadamard(base.Randomizer):
    """Draw a row j of the Hadamard matrix H of size D, the next power of two, and send it with one bit.

    The bit is + with probability 1/2 + (H x)_j/(2 C c), c = (e^eps0 + 1)/(e^eps0 - 1).

    The server decodes C c sign H_j, cut to the first d coordinates. H is the Kronecker product of two
    matrices of about sqrt(D), so neither a row of H nor H x is ever formed for a client.
    """

    name = "l1_hadamard"
    norm = "l1"

    def __init__(self, *, dimension: int, radius: float, eps0: float) -> None:
        super().__init__(dimension=dimension, radius=radius)
        self.least = base.least_probability(eps0)
        self.scale = radius * constants.contrast(eps0)
        levels = math.ceil(math.log2(dimension))
        self._logs = (levels // 2, levels - levels // 2)
        self.padded = 2**levels

    @property
    def variance(self) -> float:
        """d C^2 c^2, reached at x = 0."""
        return self.dimension * self.scale**2

    @property
    def bits(self) -> int:
        """The bits of a row's number, and one."""
        return int(math.log2(self.padded)) + 1

    def _factors(self, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        first, second = (hadamard(log_size, device).to(dtype) for log_size in self._logs)
        return first, second

    def _reports(self, x: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return each client's row and bit."""
        outer, inner = self._factors(x.device, x.dtype)
        rows = torch.randint(self.padded, (x.shape[0],), generator=generator, device=generator.device)
        blocks = torch.nn.functional.pad(x, (0, self.padded - self.dimension))
        blocks = blocks.view(-1, outer.shape[0], inner.shape[0])
        high, low = rows // inner.shape[0], rows % inner.shape[0]
        half = torch.bmm(blocks, inner[low].unsqueeze(2)).squeeze(2)
        values = (half.to(torch.float64) * outer[high]).sum(1)
        unit = (values / self.radius).clamp_(-1.0, 1.0)  # for the rounding of float32 sums
        return rows, base.randomized_signs(unit, self.least, generator=generator)

    def messages(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """Return decoded messages; see ``base.Randomizer.messages``."""
        rows, signs = self._reports(x, generator)
        outer, inner = self._factors(x.device, x.dtype)
        high, low = outer[rows // inner.shape[0]], inner[rows % inner.shape[0]]
        decoded = (high.unsqueeze(2) * low.unsqueeze(1)).reshape(x.shape[0], self.padded)[:, : self.dimension]
        return decoded * (self.scale * signs).to(x.dtype).unsqueeze(1)

    def add_messages(self, total: Tensor, x: Tensor, *, generator: torch.Generator) -> None:
        """Add the decoded messages to ``total``: bits are summed by row, and one product decodes all."""
        rows, signs = self._reports(x, generator)
        outer, inner = self._factors(x.device, x.dtype)
        votes = torch.zeros(self.padded, dtype=torch.float64, device=x.device).index_add_(0, rows, signs)
        grid = votes.view(outer.shape[0], inner.shape[0])
        summed = outer.to(torch.float64) @ grid @ inner.to(torch.float64)
        total += self.scale * summed.reshape(-1)[: self.dimension]
