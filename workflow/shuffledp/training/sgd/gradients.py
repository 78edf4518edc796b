"""Per-client gradients of the cross-entropy: in full, or one drawn coordinate of each.

Two sources with one interface. ``Layerwise`` uses the closed forms of ``layers`` and is the fast one;
``Functional`` takes any network by ``torch.func``. They agree to float precision. Coordinates count the
network's parameters in torch's order, each flattened.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from shuffledp.randomizers import precision
from shuffledp.training.sgd import layers


class Gradients(Protocol):
    """Per-client gradients of a network.

    Images have shape (clients, ...). Labels, int64, and the losses that are returned have shape (clients,).

    Attributes:
        size: number of parameters d.
    """

    size: int

    def logits(self, images: Tensor) -> Tensor:
        """Return the network's output, of shape (clients, classes)."""

    def full(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return each client's gradient, of shape (clients, d), and its loss."""

    def drawn(self, images: Tensor, labels: Tensor, coordinates: Tensor) -> tuple[Tensor, Tensor]:
        """Return each client's derivative by its coordinate, of shape (clients,), and its loss.

        ``coordinates`` is int64 of shape (clients,), in ascending order.
        """


def _loss(logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return each client's cross-entropy and its derivative with respect to the logits."""
    log_p = torch.log_softmax(logits, 1)
    column = labels.unsqueeze(1)
    derivative = log_p.exp().scatter_add_(1, column, torch.full_like(log_p[:, :1], -1.0))
    return -log_p.gather(1, column).squeeze(1), derivative


class Layerwise:
    """Gradients of a chain of layers that all have closed forms; see ``closed_forms``."""

    def __init__(self, chain: list[layers.Layer]) -> None:
        self.chain = chain
        ends = torch.tensor([0, *(layer.size for layer in chain)]).cumsum(0).tolist()
        self.spans = list(pairwise(ends))
        self.size = ends[-1]

    def _values(self, images: Tensor) -> list[Tensor]:
        """Return the input and every layer's output."""
        values = [images]
        for layer in self.chain:
            values.append(layer.forward(values[-1]))
        return values

    def _backwards(self) -> Iterator[tuple[int, layers.Layer, int, int]]:
        for at in range(len(self.chain) - 1, -1, -1):
            yield at, self.chain[at], *self.spans[at]

    @torch.no_grad()
    @precision.full()
    def logits(self, images: Tensor) -> Tensor:
        """Return the network's output."""
        for layer in self.chain:
            images = layer.forward(images)
        return images

    @torch.no_grad()
    @precision.full()
    def full(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return each client's gradient and loss."""
        values = self._values(images)
        losses, dy = _loss(values[-1], labels)
        gradient = images.new_empty(images.shape[0], self.size)
        for at, layer, first, last in self._backwards():
            layer.full(values[at], dy, gradient[:, first:last])
            if first > 0:
                dy = layer.backward(values[at], values[at + 1], dy)
        return gradient, losses

    @torch.no_grad()
    @precision.full()
    def drawn(self, images: Tensor, labels: Tensor, coordinates: Tensor) -> tuple[Tensor, Tensor]:
        """Return each client's derivative by its coordinate, and its loss.

        Since coordinates ascend, the clients that still need the derivative further down are the first ones:
        the backward pass gets shorter from layer to layer, and none of it is copied.
        """
        values = self._values(images)
        losses, dy = _loss(values[-1], labels)
        starts = torch.tensor([first for first, _ in self.spans], device=coordinates.device)
        below = torch.searchsorted(coordinates, starts).tolist()  # clients with a coordinate before a layer's
        found = torch.empty_like(losses)
        clients = images.shape[0]
        for at, layer, first, last in self._backwards():
            keep = below[at]
            if last > first and keep < clients:
                mine = slice(keep, clients)
                found[mine] = layer.drawn(values[at][mine], dy[mine], coordinates[mine] - first)
            clients = keep
            if clients == 0:
                break
            dy = layer.backward(values[at][:clients], values[at + 1][:clients], dy[:clients])
        return found, losses


class Functional:
    """Gradients of any network, by ``torch.func``."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.names = [name for name, _ in model.named_parameters()]
        self.size = sum(value.numel() for value in model.parameters())

    @torch.no_grad()
    @precision.full()
    def logits(self, images: Tensor) -> Tensor:
        """Return the network's output."""
        return self.model(images)

    @precision.full()
    def full(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return each client's gradient and loss."""
        parameters = {name: value.detach() for name, value in self.model.named_parameters()}

        def loss(parameters: dict[str, Tensor], image: Tensor, label: Tensor) -> Tensor:
            logits = torch.func.functional_call(self.model, parameters, (image.unsqueeze(0),))
            return functional.cross_entropy(logits, label.unsqueeze(0))

        each = torch.func.vmap(torch.func.grad_and_value(loss), in_dims=(None, 0, 0))
        gradient, losses = each(parameters, images, labels)
        return torch.cat([gradient[name].flatten(1) for name in self.names], 1), losses

    @precision.full()
    def drawn(self, images: Tensor, labels: Tensor, coordinates: Tensor) -> tuple[Tensor, Tensor]:
        """Return each client's derivative by its coordinate, and its loss."""
        gradient, losses = self.full(images, labels)
        return gradient.gather(1, coordinates.unsqueeze(1)).squeeze(1), losses


def of(model: nn.Module) -> Gradients:
    """Return the fastest source of gradients for a network."""
    if isinstance(model, nn.Sequential):
        chain = [layers.closed_form(module) for module in model]
        if None not in chain:
            return Layerwise(chain)  # type: ignore[arg-type]
    return Functional(model)
