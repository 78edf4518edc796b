"""The held-out data for tries of a learning rate, and the result of a try."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from shuffledp.training.sgd.loop import Data, Row


def split(data: Data, held_out: int, *, seed: int) -> Data:
    """Return the training data without ``held_out`` random rows, which replace the test data.

    Args:
        data: all of the data.
        held_out: number of rows.
        seed: of the draw.

    Raises:
        ValueError: there are no more rows than that.
    """
    available = data.train_labels.shape[0]
    if held_out >= available:
        raise ValueError(f"held_out must be less than the {available} training images, got {held_out}")
    order = torch.randperm(available, generator=torch.Generator().manual_seed(seed))
    out, kept = (part.to(data.train_labels.device) for part in (order[:held_out], order[held_out:]))
    return Data(
        data.train_images[kept], data.train_labels[kept], data.train_images[out], data.train_labels[out]
    )


def result(learning_rate: float, history: Sequence[Row] | None) -> Row:
    """Return a row of the table of tries: learning_rate, accuracy (on the held-out images, in the end) and
    best (over the epochs); nan where training diverged.

    Args:
        learning_rate: of the try.
        history: rows of the try; None if it diverged.
    """
    found = [float("nan")] if history is None else [row["test_accuracy"] for row in history]
    return {"learning_rate": learning_rate, "accuracy": found[-1], "best": max(found)}
