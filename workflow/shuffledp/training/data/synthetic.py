"""Generated data sets in the shapes of MNIST and CIFAR-10, for tests and smoke runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SEED = 20211206
_NOISE = 48.0


def generate(*, train: int, test: int) -> dict[str, NDArray[np.uint8]]:
    """Return images of ten classes: each class is one random pattern of squares, shifted and noisy.

    Args:
        train: number of training images.
        test: number of test images.

    Returns:
        "train_images" (train, 28, 28), "train_labels" (train,), "test_images", "test_labels"; equal sizes
        give equal images.
    """
    random = np.random.default_rng(_SEED)
    coarse = random.random((10, 5, 5))
    patterns = np.zeros((10, 28, 28))
    patterns[:, 4:24, 4:24] = 255 * np.kron(coarse > 0.55, np.ones((4, 4)))
    found = {}
    for part, count in (("train", train), ("test", test)):
        labels = random.integers(0, 10, count, dtype=np.uint8)
        shifts = random.integers(-2, 3, (count, 2))
        images = patterns[labels]
        for axis in (0, 1):
            for shift in range(-2, 3):
                rows = shifts[:, axis] == shift
                images[rows] = np.roll(images[rows], shift, axis=axis + 1)
        noisy = images * random.uniform(0.5, 1.0, (count, 1, 1)) + _NOISE * random.standard_normal(
            images.shape
        )
        found[f"{part}_images"] = noisy.clip(0, 255).astype(np.uint8)
        found[f"{part}_labels"] = labels
    return found


def coloured(count: int) -> dict[str, NDArray[np.uint8]]:
    """Return the images of ``generate`` in colours, of shape (count, 32, 32, 3).

    Args:
        count: number of training images; there are a sixth as many test images, and at least 100.

    Returns:
        As ``generate``.
    """
    found = generate(train=count, test=max(count // 6, 100))
    for part in ("train_images", "test_images"):
        grey = np.pad(found[part], ((0, 0), (2, 2), (2, 2)))
        found[part] = np.stack([grey, grey // 2, 255 - grey], axis=3)
    return found
