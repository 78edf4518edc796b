"""Progress of training: a bar on a terminal, otherwise one line for each epoch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from shuffledp.reproduction.progress_bar import on_terminal, progress_bar


@contextmanager
def reporting(title: str, *, epochs: int) -> Iterator[Callable[[Mapping[str, float]], None]]:
    """Yield the function to call with each epoch's row; it shows epoch, accuracy, loss and remaining time."""
    if not on_terminal():
        yield lines(title, epochs=epochs)
        return
    with progress_bar(title, total=epochs) as move:

        def show(row: Mapping[str, float]) -> None:
            move(row["epoch"], f"accuracy {row['test_accuracy']:.4f}, loss {row['train_loss']:.4f}")

        yield show


def lines(title: str, *, epochs: int) -> Callable[[Mapping[str, float]], None]:
    """Return the function to call with each epoch's row; it writes a line on standard error."""

    def show(row: Mapping[str, float]) -> None:
        left = row["seconds"] / row["epoch"] * (epochs - row["epoch"])
        print(
            f"{title}: epoch {row['epoch']}/{epochs}, accuracy {row['test_accuracy']:.4f}, "
            f"loss {row['train_loss']:.4f}, {left / 60:.1f} min left",
            file=sys.stderr,
            flush=True,
        )

    return show
