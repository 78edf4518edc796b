"""What the local randomisers have in common, on torch.

Single messages are computed in float64. Where they depend on the input in more than a bit they are rounded to
a grid, some 2^-24 of their typical entry, before they are given the type of the input: their low bits then
tell hardly more than their law does, and messages of float64 have no more digits than those of float32. What
remains: a float64 uniform has 53 digits and a normal is made from such, so some 2^29 draws share a point of
the grid, and in the tails, where fewer do, an adversary who sees every bit of a message can still tell inputs
apart now and then (Mironov, 2012, for noise of any kind). Sampling in floating point is no proof against that
adversary; the guarantees are those of the exact laws.

Sums (``add``) are a simulation of what the server sums, of the same law as ``randomize`` to the rounding of
the input's type. No single message leaves them, so they are computed in that type.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from shuffledp.randomizers import precision

_DIGITS = 24  # binary, of the grid of messages: those of float32
# Clipped rows may be longer than the ball by the rounding of float32 sums; anything longer was not clipped.
ROUNDING = 1e-5


class NotFiniteError(ValueError):
    """A vector or value to be randomised is infinite or not a number.

    Attributes:
        row: whose, counted from 0.
        value: the first such entry.
    """

    def __init__(self, row: int, value: float) -> None:
        super().__init__(
            f"x must be finite, got {value} in row {row}, which is that client's; leave the client out or "
            "clip the gradients earlier"
        )
        self.row = row
        self.value = value


def refuse_not_finite(x: Tensor) -> None:
    """Refuse vectors, or values, of which one is not finite.

    Args:
        x: one row, or one value, for each client.

    Raises:
        NotFiniteError: for the first client whose entries are not all finite.
    """
    finite = torch.isfinite(x)
    if bool(finite.all()):
        return
    wrong = ~finite.reshape(x.shape[0], -1)
    row = int(wrong.any(1).nonzero()[0])
    raise NotFiniteError(row, float(x.reshape(x.shape[0], -1)[row][wrong[row]][0]))


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
    """Return 1/(e^eps0 + 1), the least probability of the rarer side of a randomised bit.

    It is at least 2^-53, the least probability that can be drawn.
    """
    return max(math.exp(-eps0) / (1.0 + math.exp(-eps0)), 2.0**-53)


def against(value: Tensor, least: float) -> Tensor:
    """Return the probability that one randomised bit disagrees with the sign of ``value``.

    Args:
        value: float64 in [-1, 1], what the bit stands for.
        least: ``least_probability`` of eps0.

    Returns:
        (1 - |value|/c)/2 with c = (e^eps0 + 1)/(e^eps0 - 1), without the cancellation at |value| = 1.

    Raises:
        NotFiniteError: a value is not finite.
    """
    refuse_not_finite(value)
    size = value.abs()
    return 0.5 * (1.0 - size) + size * least


def randomized_signs(value: Tensor, least: float, *, generator: torch.Generator) -> Tensor:
    """Return bits +-1 (float64) whose mean is ``value``/c; arguments as for ``against``.

    Raises:
        NotFiniteError: a value is not finite.
    """
    wrong = rare(against(value, least), count=value.shape[0], generator=generator)
    return 1.0 - 2.0 * (wrong != (value < 0)).to(torch.float64)


def divides(lengths: Tensor) -> Tensor:
    """Return which lengths may be divided by: those of rows of which no square over- or underflows.

    Lengths of 0, infinite ones and those that are not a number are not among them.

    Args:
        lengths: in the type of the rows.
    """
    limits = torch.finfo(lengths.dtype)
    return (lengths >= (limits.tiny / limits.eps) ** 0.5) & (lengths <= limits.max**0.5)


def directions(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return unit vectors and lengths, float64, of finite vectors of any size.

    Args:
        x: float64 of shape (clients, d); rows of 0 get the first unit vector.

    Returns:
        Of shapes (clients, d) and (clients,); a length beyond the largest double counts as that.
    """
    largest = x.abs().amax(1, keepdim=True)
    # scaled by its largest entry, no square over- or underflows
    scaled = x / torch.where(largest > 0, largest, 1.0)
    scaled[largest.squeeze(1) == 0, 0] = 1.0
    length = torch.linalg.vector_norm(scaled, dim=1, keepdim=True)
    return scaled / length, (largest * length).squeeze(1).clamp_(max=torch.finfo(x.dtype).max)


def with_direction(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return vectors that all have a direction, the lengths of ``x``, and their own lengths, to divide by.

    Rows of ``x`` that have no direction get the first unit vector: for input 0 a randomiser takes either sign
    of it equally often, so any will do. Rows whose squares over- or underflow get their unit vector.

    Args:
        x: of shape (clients, d), finite.

    Returns:
        The vectors, of the shape of ``x``, and two float64 tensors of shape (clients,).
    """
    length = torch.linalg.vector_norm(x, dim=1)
    odd = ~divides(length)
    length = length.to(torch.float64)
    if not bool(odd.any()):
        return x, length, length
    unit, length[odd] = directions(x[odd].to(torch.float64))
    x = x.clone()
    x[odd] = unit.to(x.dtype)
    return x, length, torch.where(odd, 1.0, length)


def on_grid(x: Tensor, *, typical: float) -> Tensor:
    """Round vectors, float64, to a grid of which the typical entry has some 24 binary digits.

    The finer digits of small entries would reveal how the vector was computed, and so from which input.

    Args:
        x: the vectors.
        typical: the root mean square of an entry, which must not depend on the input.
    """
    steps = 2.0 ** (_DIGITS - math.ceil(math.log2(typical)))
    return (x * steps).round_() / steps


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

    def randomize(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """Return what the server decodes from each client's message.

        Args:
            x: of shape (clients, d), float32 or float64, each row in the ball. A longer row
                counts as ``clip_`` would make it.
            generator: source of all randomness, on the device of ``x``.

        Returns:
            Same shape, type and device; one independent draw for each row, with mean ``x``, computed
            in float64.

        Raises:
            TypeError: ``x`` is neither float32 nor float64.
            ValueError: ``x`` is of another shape.
            NotFiniteError: a row is not finite.
        """
        self._check(x)
        with precision.full():
            inside = self._clipped(x.to(torch.float64), self.radius)
            return self.messages(inside, generator=generator).to(x.dtype)

    @abstractmethod
    def messages(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """Return decoded messages in float64; see ``randomize``.

        Args:
            x: float64 rows in the ball, of shape (clients, d).
            generator: as for ``randomize``.
        """

    def add(self, total: Tensor, x: Tensor, *, generator: torch.Generator) -> None:
        """Add the clients' decoded messages to ``total`` of shape (d,).

        The sum has the law of a sum of ``randomize``'s rows, to the precision of ``x``, but other draws.

        Args:
            total: float64, on the device of ``x``.
            x: as for ``randomize``.
            generator: as for ``randomize``.

        Raises:
            TypeError: ``x`` is neither float32 nor float64.
            ValueError: ``x`` is of another shape.
            NotFiniteError: a row is not finite.
        """
        self._check(x)
        with precision.full():
            self.add_messages(total, self._clipped(x, self.radius * (1 + ROUNDING)), generator=generator)

    def clip_and_add(self, total: Tensor, x: Tensor, *, generator: torch.Generator) -> None:
        """Do ``clip_`` and then ``add``, in less time: each row is measured once.

        Args:
            total: as for ``add``.
            x: as for ``add``; its rows are clipped in place.
            generator: as for ``add``.

        Raises:
            TypeError: ``x`` is neither float32 nor float64.
            ValueError: ``x`` is of another shape.
            NotFiniteError: a row is not finite; ``x`` is as it was.
        """
        self._check(x)
        with precision.full():
            self.add_messages(total, self._clip_(x), generator=generator)

    def add_messages(self, total: Tensor, x: Tensor, *, generator: torch.Generator) -> None:
        """Add the clients' decoded messages to ``total``; see ``add``.

        Args:
            total: as for ``add``.
            x: finite rows in the ball.
            generator: as for ``add``.
        """
        total += self.messages(x.to(torch.float64), generator=generator).sum(0)

    def lengths(self, x: Tensor) -> Tensor:
        """Return the randomiser's norm of each row, of shape (clients,) and the type of ``x``.

        It is +0 for a row of zeros, infinite where it or a square exceeds the largest number of that type,
        and nan or infinite if an entry is.
        """
        if self.norm == "l2":
            return torch.linalg.vector_norm(x, dim=1)
        # vector_norm takes ten to twenty times as long for the others
        if self.norm == "l1":
            return x.abs().sum(1)
        return torch.maximum(x.amax(1), -x.amin(1)).abs_()

    @precision.full()
    def clip_(self, x: Tensor) -> Tensor:
        """Scale, in place, the rows that lie outside the ball onto its surface, and return ``x``.

        Raises:
            TypeError: ``x`` is neither float32 nor float64.
            ValueError: ``x`` is of another shape.
            NotFiniteError: a row is not finite; ``x`` is as it was.
        """
        self._check(x)
        return self._clip_(x)

    def _clip_(self, x: Tensor) -> Tensor:
        """Do what ``clip_`` does, for rows of the right type and number."""
        lengths = self.lengths(x)
        factors = (self.radius / lengths).clamp_(max=1.0)
        odd = ~divides(lengths)
        if bool(odd.any()):
            scaled = self._scaled(x, odd)
            factors[odd] = 1.0
            x.mul_(factors.unsqueeze(1))
            x[odd] = scaled
            return x
        return x.mul_(factors.unsqueeze(1))

    def _check(self, x: Tensor) -> None:
        if x.dtype not in (torch.float32, torch.float64):
            raise TypeError(f"x must be float32 or float64, got {x.dtype}; convert it first")
        if x.ndim != 2 or x.shape[1] != self.dimension:
            raise ValueError(f"x must have shape (clients, {self.dimension}), got {tuple(x.shape)}")

    def _scaled(self, x: Tensor, rows: Tensor) -> Tensor:
        """Return the rows so marked, of any size, scaled into the ball.

        Raises:
            NotFiniteError: one of them is not finite.
        """
        odd = x[rows].to(torch.float64)
        largest = odd.abs().amax(1, keepdim=True)
        if not bool(torch.isfinite(largest).all()):
            refuse_not_finite(x)
        scaled = odd / torch.where(largest > 0, largest, 1.0)
        # at most 1 where a row lies outside the ball; a row of zeros never does
        factors = self.radius / self.lengths(scaled).unsqueeze(1)
        return torch.where(factors < largest, scaled * factors, odd).to(x.dtype)

    def _clipped(self, x: Tensor, longest: float) -> Tensor:
        """Return ``x``, or a copy in which rows longer than ``longest`` are clipped.

        Raises:
            NotFiniteError: a row is not finite.
        """
        lengths = self.lengths(x)
        outside = ~divides(lengths) | (lengths.to(torch.float64) > longest)
        if not bool(outside.any()):
            return x
        scaled = self._scaled(x, outside)
        x = x.clone()
        x[outside] = scaled
        return x
