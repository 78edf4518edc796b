"""A progress bar on standard error, if that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


def on_terminal() -> bool:
    """Return whether standard error is a terminal."""
    return Console(stderr=True).is_terminal


@contextmanager
def progress_bar(title: str, *, total: int) -> Iterator[Callable[..., None]]:
    """Yield the function that moves the bar; it takes how much is done, and words beside the bar.

    Args:
        title: words before the bar.
        total: how much there is to do.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not on_terminal()) as bar:
        task = bar.add_task(title, total=total, state="")

        def show(done: float, state: str = "") -> None:
            bar.update(task, completed=done, state=state)

        yield show
