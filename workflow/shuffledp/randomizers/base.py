"""What the local randomisers have in common, on torch.

Single messages are computed in float64 and rounded once, so that their low bits tell hardly more than their
law does. What remains: a float64 uniform has 53 digits and a normal is made from such, so an adversary who
sees every bit of a message can still tell inputs apart now and then (Mironov, 2012, for noise of any kind).
Sampling in floating point is no proof against that adversary; the guarantees are those of the exact laws.

Sums (``add``) simulate what a server adds up. No single message leaves them, so they are computed in the
precision of the input.
"""

from __future__ import annotations

import contextlib
import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import torch
from torch import Tensor


class NotFiniteError(ValueError):
    """A vector or value to be randomised is infinite or not a number.

    Attributes:
        row: whose, counted from 0.
    """

    def __init__(self, row: int, value: float) -> None:
        super().__init__(
            f"x must be finite, got {value} in row {row}, which is that client's; leave the client out or "
            "clip the gradients earlier"
        )
        self.row = row


def refuse_not_finite(x: Tensor) -> None:
    """Refuse vectors, or values, of which one is not finite.

    Args:
        x: a row, or a value, a client.

    Raises:
        NotFiniteError: for the first client whose entries are not all finite.
    """
    wrong = ~torch.isfinite(x.reshape(x.shape[0], -1))
    rows = wrong.any(1).nonzero()
    if rows.numel():
        row = int(rows[0])
        raise NotFiniteError(row, float(x.reshape(x.shape[0], -1)[row][wrong[row]][0]))


@contextlib.contextmanager
def full_products() -> Iterator[None]:
    """Compute float32 products on a GPU with all their digits, whatever the caller allows, and restore that.

    With the ten bits of TF32 a message would not be that of its input, nor a norm the one that is clipped.
    """
    settings = torch.backends.cuda.matmul
    name, full = ("fp32_precision", "ieee") if hasattr(settings, "fp32_precision") else ("allow_tf32", False)
    before = getattr(settings, name)
    setattr(settings, name, full)
    try:
        yield
    finally:
        setattr(settings, name, before)


def _in_full(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that computes its products with all their digits."""

    @functools.wraps(method)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        with full_products():
            return method(*arguments, **named)

    return wrapped


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
    """Return bits +-1 (float64) whose mean is ``value``/c; arguments as for ``against``.

    Raises:
        NotFiniteError: a value is not a number.
    """
    refuse_not_finite(value)
    wrong = rare(against(value, least), count=value.shape[0], generator=generator)
    return 1.0 - 2.0 * (wrong != (value < 0)).to(torch.float64)


def with_direction(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return vectors that all have a direction, the lengths of ``x``, and their own lengths, which divide.

    Rows of ``x`` that have no direction get the first unit vector: for input 0 a randomiser takes either sign
    of it equally often, so any will do.

    Args:
        x: of shape (clients, d), finite.

    Returns:
        The vectors, of the shape of ``x``, and two float64 tensors of shape (clients,).

    Raises:
        NotFiniteError: a row is not finite.
    """
    length = torch.linalg.vector_norm(x, dim=1).to(torch.float64)
    if not bool(torch.isfinite(length).all()):
        refuse_not_finite(x)
        # squares overflow, the vector does not
        length = torch.linalg.vector_norm(x.to(torch.float64), dim=1)
    flat = length == 0
    if not bool(flat.any()):
        return x, length, length
    x = x.clone()
    x[flat] = 0.0
    x[flat, 0] = 1.0
    return x, length, length + flat


def directions(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return unit vectors and lengths, float64, of finite vectors of any size.

    Args:
        x: float64 of shape (clients, d); rows of 0 get the first unit vector.

    Returns:
        Of shapes (clients, d) and (clients,); a length beyond the largest double is infinite.
    """
    largest = x.abs().amax(1, keepdim=True)
    # scaled by its largest entry, no square over- or underflows
    scaled = x / torch.where(largest > 0, largest, 1.0)
    scaled[largest.squeeze(1) == 0, 0] = 1.0
    length = torch.linalg.vector_norm(scaled, dim=1, keepdim=True)
    return scaled / length, (largest * length).squeeze(1)


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

    def __init_subclass__(cls, **given: Any) -> None:
        """Let the methods of a randomiser compute their products in full."""
        super().__init_subclass__(**given)
        for name in ("add", "messages"):
            if name in vars(cls):
                setattr(cls, name, _in_full(vars(cls)[name]))

    def randomize(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """Return what the server decodes from each client's message.

        Args:
            x: of shape (clients, d), float32 or float64, each row in the ball. Any finite row is as private,
                but the mean of a longer one is not ``x``.
            generator: source of all randomness, on the device of ``x``.

        Returns:
            Same shape, type and device; one independent draw a row, with mean ``x``, computed in float64 and
            rounded once.

        Raises:
            NotFiniteError: a row is not finite.
        """
        refuse_not_finite(x)
        return self.messages(x.to(torch.float64), generator=generator).to(x.dtype)

    @abstractmethod
    def messages(self, x: Tensor, *, generator: torch.Generator) -> Tensor:
        """Return decoded messages in float64; arguments as for ``randomize``, ``x`` in float64 and finite."""

    @abstractmethod
    def add(self, total: Tensor, x: Tensor, *, generator: torch.Generator) -> None:
        """Add the clients' decoded messages to ``total`` of shape (d,).

        The law is that of a sum of ``randomize``, to the precision of ``x``; the draws are others.

        Raises:
            NotFiniteError: a row is not finite.
        """

    def lengths(self, x: Tensor) -> Tensor:
        """Return the randomiser's norm of each row, of shape (clients,), +0 for a row of zeros."""
        if self.norm == "linf":  # vector_norm takes twenty times as long here
            return torch.maximum(x.amax(1), -x.amin(1)).abs_()
        return torch.linalg.vector_norm(x, ord={"l1": 1, "l2": 2}[self.norm], dim=1)

    def clip_(self, x: Tensor) -> Tensor:
        """Scale, in place, the rows that lie outside the ball onto its surface, and return ``x``.

        Raises:
            NotFiniteError: a row is not finite.
        """
        lengths = self.lengths(x)
        if not bool(torch.isfinite(lengths).all()):
            refuse_not_finite(x)
            self._clip_huge(x, ~torch.isfinite(lengths))
            lengths = self.lengths(x)
        return x.mul_((self.radius / lengths).clamp_(max=1.0).unsqueeze(1))

    def _clip_huge(self, x: Tensor, rows: Tensor) -> None:
        """Scale, in place, finite rows whose norm overflows onto the surface of the ball."""
        huge = x[rows].to(torch.float64)
        huge = huge / huge.abs().amax(1, keepdim=True)
        x[rows] = (huge * (self.radius / self.lengths(huge)).unsqueeze(1)).to(x.dtype)
