"""CLDP-SGD, Algorithm 1 of girgis2021: sample clients, randomise their gradients, shuffle, average, step."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from shuffledp.randomizers import precision
from shuffledp.randomizers.base import NotFiniteError, Randomizer, refuse_not_finite
from shuffledp.randomizers.linf_coordinate import LinfCoordinate
from shuffledp.training.sgd import gradients

CLIPS = ("coordinate", "norm", "none")

# Messages are drawn in blocks of so many clients, whatever the chunk, so that draws do not depend on it.
BLOCK = 32
_CHUNKS = tuple(BLOCK * 2**power for power in range(2, 9))
_CHUNK_BYTES = 2**28  # most bytes of the full gradients of a chunk
_LARGEST_LOSS = 1e4


class DivergenceError(ArithmeticError):
    """Training has left the range of numbers in which it makes sense."""


def participants(*, n: int, k: int, seed: int, round_index: int) -> np.ndarray:
    """Return the clients of a round: a uniform subset, ascending, drawn afresh for each round.

    Args:
        n: number of clients.
        k: clients per round, at most n.
        seed: of the run.
        round_index: which round; rounds may be asked for in any order.
    """
    random = np.random.default_rng(np.random.SeedSequence([seed, 1, round_index]))
    return np.sort(random.choice(n, size=k, replace=False, shuffle=False))


def model_seed(seed: int) -> int:
    """Return the seed of a run's initial weights."""
    return int(np.random.SeedSequence([seed, 2]).generate_state(1)[0])


def _noise_seed(seed: int) -> int:
    return int(np.random.SeedSequence([seed, 3]).generate_state(1)[0])


def _keep_freed_memory() -> None:
    """Let the C library keep memory that chunks free.

    By default it hands the memory back after each chunk, and fetching it again takes longer than the
    arithmetic. glibc raises its limits to the largest block that it has seen freed.
    """
    torch.empty(31 * 2**20, dtype=torch.uint8)


def _refuse(values: Tensor, order: Tensor) -> None:
    """Refuse values that are not finite, by their place before they were put in order."""
    try:
        refuse_not_finite(values)
    except NotFiniteError as error:
        raise NotFiniteError(int(order[error.row]), error.value) from error


class CldpSgd:
    """One run of training.

    Only the sum of the messages is computed, since the server uses the shuffled messages for nothing else.
    The same seed gives the same run on one kind of processor with one number of threads, however the clients
    of a round are cut into chunks.

    Attributes:
        model: the network, on the device of the data; its parameters are views of ``parameters``.
        parameters: theta, float32 of shape (d,).
        chunk: how many clients are computed at a time.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        images: Tensor,
        labels: Tensor,
        k: int,
        randomizer: Randomizer | None,
        clip: str,
        seed: int,
        projection: float | None = None,
        regularization: float = 0.0,
        chunk: int | None = None,
    ) -> None:
        """Set up a run; its first round is still to come.

        Args:
            model: a network that treats each client by itself (``models.check``).
            images: one row a client, float32 of shape (n, ...), on the device to compute on.
            labels: int64 of shape (n,), on the same device.
            k: clients per round.
            randomizer: of the network's dimension; None for averages of plain gradients.
            clip: "coordinate" (each drawn coordinate to [-C, C], for coordinate sampling alone: the
                projection onto the ball), "norm" (scale into the ball, as printed) or "none" (no randomiser).
            seed: of sampling and noise.
            projection: radius of the l_2 ball around 0 that theta is projected to, or None.
            regularization: mu of a term mu |theta|^2/2 in each client's loss, which the reported loss leaves
                out.
            chunk: how many clients to compute at a time, a multiple of ``BLOCK``; None to measure.
        """
        self.model = model.to(images.device)
        self.images, self.labels = images, labels
        self.n, self.k, self.seed = images.shape[0], k, seed
        self.randomizer, self.clip = randomizer, clip
        self.projection, self.regularization = projection, regularization
        self.parameters = self._flatten()
        self.gradients = gradients.of(self.model)
        self._noise = torch.Generator(images.device).manual_seed(_noise_seed(seed))
        if images.device.type == "cpu":
            _keep_freed_memory()
        self.chunk = self._measured_chunk() if chunk is None else chunk

    def _flatten(self) -> Tensor:
        """Move the model's parameters into one vector, of which they become views."""
        flat = nn.utils.parameters_to_vector(self.model.parameters()).detach().clone()
        at = 0
        for parameter in self.model.parameters():
            parameter.requires_grad_(False)
            parameter.data = flat[at : at + parameter.numel()].view_as(parameter)
            at += parameter.numel()
        return flat

    def _measured_chunk(self) -> int:
        """Return the size that takes the least time a client, the smaller one if in doubt.

        The time falls and then rises; the search ends where it has clearly risen.
        """
        best, least = _CHUNKS[0], math.inf
        for size in _CHUNKS:
            if size > _CHUNKS[0] and (size >= 2 * self.k or 4 * size * self.gradients.size > _CHUNK_BYTES):
                break
            spent = min(self._time(size) for _ in range(3)) / min(size, self.n)
            if spent < 0.97 * least:
                best, least = size, spent
            elif spent > 1.15 * least:
                break
        return best

    def _time(self, size: int) -> float:
        images, labels = self.images[:size], self.labels[:size]
        start = time.perf_counter()
        if self.clip == "coordinate":
            drawn = torch.linspace(0, self.gradients.size - 1, images.shape[0], device=images.device)
            self.gradients.drawn(images, labels, drawn.to(torch.int64))
        else:
            self.gradients.full(images, labels)
        if images.device.type == "cuda":
            torch.cuda.synchronize(images.device)
        return time.perf_counter() - start

    @precision.full()
    def round(self, index: int, *, rate: float) -> float:
        """Do one round.

        Args:
            index: which round, counted from 0.
            rate: the step size eta.

        Returns:
            Mean loss of the participants before the step, without the regularisation.

        Raises:
            DivergenceError: a gradient, the loss or a parameter is not finite any more, or the loss is beyond
                reason.
        """
        chosen = participants(n=self.n, k=self.k, seed=self.seed, round_index=index)
        total = torch.zeros(self.parameters.shape, dtype=torch.float64, device=self.images.device)
        loss = self._take(index, chosen, chosen, total)
        self.parameters -= (rate / self.k * total).to(self.parameters.dtype)
        self._project()
        if not loss <= _LARGEST_LOSS or not bool(torch.isfinite(self.parameters).all()):
            raise DivergenceError(
                f"training diverged in round {index} (mean loss {loss:g}); lower the learning rate or the "
                "clip norm"
            )
        return loss

    def _take(self, index: int, clients: np.ndarray, held: np.ndarray, total: Tensor) -> float:
        """Add the messages of a round's clients; return their mean loss.

        Args:
            index: which round.
            clients: who takes part.
            held: the image that each of them holds.
            total: to add to, float64 of shape (d,).

        Raises:
            DivergenceError: the gradient of a client is not finite.
        """
        take = self._coordinates if self.clip == "coordinate" else self._vectors
        try:
            losses = take(torch.from_numpy(held).to(self.images.device), total)
        except NotFiniteError as error:
            raise DivergenceError(
                f"training diverged in round {index}: the gradient of client {clients[error.row]} is not "
                "finite; lower the learning rate or the clip norm"
            ) from error
        return float(losses.to(torch.float64).mean())

    def _project(self) -> None:
        """Project the parameters onto the ball, if there is one."""
        if self.projection is None:
            return
        length = float(torch.linalg.vector_norm(self.parameters))
        if math.isinf(length):  # squares overflowed; divided by inf, the parameters would be 0
            length = float(torch.linalg.vector_norm(self.parameters, dtype=torch.float64))
        if length > self.projection:
            self.parameters *= self.projection / length

    def _chunks(self) -> Iterator[slice]:
        for start in range(0, self.k, self.chunk):
            yield slice(start, min(start + self.chunk, self.k))

    def _coordinates(self, clients: Tensor, total: Tensor) -> Tensor:
        """Add the messages of clients that randomise one coordinate; return their losses.

        Which coordinate does not depend on the gradient, so it is drawn first, and no other is computed.

        Raises:
            NotFiniteError: a derivative is not finite; its row is the client's place in ``clients``.
        """
        assert isinstance(self.randomizer, LinfCoordinate)
        drawn = self.randomizer.draw(self.k, generator=self._noise)
        coordinates, order = drawn.sort(stable=True)
        clients = clients[order]
        values, losses = [], []
        for chunk in self._chunks():
            who = clients[chunk]
            value, loss = self.gradients.drawn(self.images[who], self.labels[who], coordinates[chunk])
            values.append(value)
            losses.append(loss)
        derivatives = torch.cat(values)
        if self.regularization:
            derivatives += self.regularization * self.parameters[coordinates]
        _refuse(derivatives, order)
        radius = self.randomizer.radius
        signs = self.randomizer.signs(derivatives.clamp_(-radius, radius), generator=self._noise)
        self.randomizer.add_votes(total, coordinates, signs)
        return torch.cat(losses)

    def _vectors(self, clients: Tensor, total: Tensor) -> Tensor:
        """Add the messages of clients that randomise their gradient as a whole; return their losses.

        Raises:
            NotFiniteError: a gradient is not finite; its row is the client's place in ``clients``.
        """
        losses = []
        for chunk in self._chunks():
            who = clients[chunk]
            gradient, loss = self.gradients.full(self.images[who], self.labels[who])
            losses.append(loss)
            if self.regularization:
                gradient += self.regularization * self.parameters
            for start, block in zip(
                range(chunk.start, chunk.stop, BLOCK), gradient.split(BLOCK), strict=True
            ):
                try:
                    self._add(total, block)
                except NotFiniteError as error:
                    raise NotFiniteError(start + error.row, error.value) from error
        return torch.cat(losses)

    def _add(self, total: Tensor, gradients: Tensor) -> None:
        """Add the messages about gradients, or without a randomiser the gradients themselves."""
        if self.randomizer is not None:
            self.randomizer.clip_and_add(total, gradients, generator=self._noise)
            return
        summed = gradients.sum(0)
        if not bool(torch.isfinite(summed).all()):
            refuse_not_finite(gradients)
        total += summed

    def accuracy(self, images: Tensor, labels: Tensor) -> float:
        """Return the share of images that the network gets right."""
        right = sum(
            int((self.gradients.logits(some).argmax(1) == truth).sum())
            for some, truth in zip(images.split(512), labels.split(512), strict=True)
        )
        return right / images.shape[0]

    def state(self) -> dict[str, Any]:
        """Return what the next round depends on, as tensors on the CPU."""
        return {"parameters": self.parameters.cpu().clone(), "noise": self._noise.get_state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Take up a run where ``state`` left it."""
        self.parameters.copy_(state["parameters"])
        self._noise.set_state(state["noise"])
