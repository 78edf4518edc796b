"""Features of a network that was trained without noise: on which images, for how long, and their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from shuffledp.training.features import feature_net
from shuffledp.training.features.feature_net import State

_SEED = 20211206
EPOCHS = {"cifar100": 30, "public-half": 20}
Labelled = tuple[Tensor, NDArray[np.uint8]]


def public_half(labels: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which images are public where half of them are: half of each class, drawn with a fixed seed.

    Args:
        labels: of the training images.
    """
    public = np.zeros(labels.shape, dtype=np.bool_)
    random = np.random.default_rng(_SEED)
    for label in np.unique(labels):
        of_class = random.permutation(np.flatnonzero(labels == label))
        public[of_class[: of_class.size // 2]] = True
    return public


def apart(images: Tensor, labels: NDArray[np.uint8]) -> tuple[Labelled, Labelled]:
    """Return the public half of images with their labels, and the private rest.

    Args:
        images: float32 of shape (count, 3, 32, 32).
        labels: of shape (count,).
    """
    public = public_half(labels)
    return (images[public], labels[public]), (images[~public], labels[~public])


def rows(
    public: Labelled,
    wanted: Sequence[Tensor],
    *,
    epochs: int,
    saved: State | None,
    save: Callable[[State], None],
    say: Callable[[str], None],
) -> list[Tensor]:
    """Return the features of images by a network trained on public ones: float32, of shape (count, 128).

    Args:
        public: images, float32 of shape (count, 3, 32, 32), and their labels.
        wanted: images whose features are asked for.
        epochs: how often each public image is seen.
        saved: what ``save`` was last given, to go on from there.
        save: called after each epoch with all that the next one depends on.
        say: called after each epoch with a line.
    """
    known, labels = public
    network = feature_net.create(int(labels.max()) + 1, seed=_SEED)
    target = torch.tensor(labels).to(torch.int64)
    feature_net.train(network, known, target, epochs=epochs, seed=_SEED, saved=saved, save=save, say=say)
    return [feature_net.features(network, part, public=known) for part in wanted]
