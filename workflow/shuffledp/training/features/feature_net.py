"""A convolutional network trained without noise on public images, whose last but one layer gives features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from shuffledp.training.models import initialization

WIDTH = 128
_BATCH = 128
_RATE, _MOMENTUM, _DECAY = 0.1, 0.9, 5e-4
_SHIFT = 4  # pixels, of the augmentation
_GROUPS = 8
State = dict[str, Any]


def create(classes: int, *, seed: int) -> nn.Sequential:
    """Return the network for colour images of 32 x 32 pixels: three convolutions, and a linear layer.

    Args:
        classes: number of outputs.
        seed: of the weights.
    """
    layers: list[nn.Module] = []
    for before, after in ((3, 32), (32, 64), (64, WIDTH)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.GroupNorm(_GROUPS, after), nn.ReLU()]
        layers += [nn.MaxPool2d(2)]
    layers[-1] = nn.AdaptiveAvgPool2d(1)
    network = nn.Sequential(*layers, nn.Flatten(), nn.Linear(WIDTH, classes))
    return initialization.glorot(network, seed=seed)


def train(
    network: nn.Sequential,
    images: Tensor,
    labels: Tensor,
    *,
    epochs: int,
    seed: int,
    saved: State | None = None,
    save: Callable[[State], None] = lambda state: None,
    say: Callable[[str], None] = lambda line: None,
) -> None:
    """Train the network by SGD with momentum, a cosine schedule, and shifted and mirrored images.

    Args:
        network: as ``create`` gives it; trained in place.
        images: float32 of shape (count, 3, 32, 32).
        labels: int64 of shape (count,).
        epochs: how often each image is seen.
        seed: of the order and of the augmentation.
        saved: what ``save`` was last given, to go on from there.
        save: called after each epoch with all that the next one depends on.
        say: called after each epoch with a line.
    """
    source = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.SGD(
        network.parameters(), lr=_RATE, momentum=_MOMENTUM, nesterov=True, weight_decay=_DECAY
    )
    first = 0
    if saved is not None:
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
        source.set_state(saved["source"])
        first = saved["epoch"]
    batches = -(-images.shape[0] // _BATCH)
    for epoch in range(first, epochs):
        losses = []
        for index, batch in enumerate(torch.randperm(images.shape[0], generator=source).split(_BATCH)):
            done = torch.tensor((epoch * batches + index) / (epochs * batches))
            optimizer.param_groups[0]["lr"] = _RATE * float((1 + torch.cos(torch.pi * done)) / 2)
            optimizer.zero_grad()
            loss = functional.cross_entropy(network(_augmented(images[batch], source)), labels[batch])
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        say(f"epoch {epoch + 1}/{epochs} without noise, loss {float(torch.stack(losses).mean()):.4f}")
        save(
            {
                "network": network.state_dict(),
                "optimizer": optimizer.state_dict(),
                "source": source.get_state(),
                "epoch": epoch + 1,
            }
        )


def _augmented(images: Tensor, source: torch.Generator) -> Tensor:
    """Shift each batch by up to four pixels, and mirror half of its images."""
    down, along = torch.randint(2 * _SHIFT + 1, (2,), generator=source).tolist()
    height, width = images.shape[2:]
    padded = functional.pad(images, (_SHIFT,) * 4)
    moved = padded[:, :, down : down + height, along : along + width]
    mirrored = torch.rand(images.shape[0], generator=source) < 0.5
    return torch.where(mirrored.view(-1, 1, 1, 1), moved.flip(3), moved)


@torch.no_grad()
def features(network: nn.Sequential, images: Tensor, *, public: Tensor) -> Tensor:
    """Return the outputs of the last but one layer, standardised on public images.

    Args:
        network: as trained.
        images: float32 of shape (count, 3, 32, 32).
        public: those whose mean and deviation count.

    Returns:
        float32 of shape (count, 128), in units in which public rows have a mean square length of 1 at most.
    """
    body = network[:-1]
    found, known = (torch.cat([body(block) for block in part.split(500)]) for part in (images, public))
    return (found - known.mean(0)) / known.std(0).clamp_(min=1e-6) / WIDTH**0.5
