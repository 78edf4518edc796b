"""A data set as arrays, and which part of it an experiment takes. Nothing here needs torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Dataset:
    """The training and the test part of a data set.

    Images are uint8 of shape (count, 28, 28) or (count, 32, 32, 3), or else features, float32 of shape
    (count, width). Labels are uint8 of shape (count,).
    """

    train_images: NDArray[Any]
    train_labels: NDArray[np.uint8]
    test_images: NDArray[Any]
    test_labels: NDArray[np.uint8]


def of_digits(data: Dataset, digits: Sequence[int]) -> Dataset:
    """Return the images of some digits alone, whose labels become 0, 1, ... in the order given."""
    label = np.full(10, 255, dtype=np.uint8)
    label[list(digits)] = np.arange(len(digits))
    train, test = (np.isin(labels, digits) for labels in (data.train_labels, data.test_labels))
    return Dataset(
        data.train_images[train],
        label[data.train_labels[train]],
        data.test_images[test],
        label[data.test_labels[test]],
    )


def of_clients(data: Dataset, clients: int | None) -> Dataset:
    """Return the data of so many clients, who hold the first training images; of all if None."""
    train = slice(clients)
    return Dataset(data.train_images[train], data.train_labels[train], data.test_images, data.test_labels)
