"""Locks that processes hold against each other. One ends with the process that holds it, be that killed."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(path: Path | str, *, wait: bool) -> Iterator[None]:
    """Hold the lock of a file within the block. The file stays: another process may wait for its lock.

    Args:
        path: of the file, which is made where there is none, as is its folder. It holds nothing else.
        wait: whether to wait for whoever holds the lock.

    Raises:
        BlockingIOError: the lock is held already, and is not to be waited for.
        OSError: the file cannot be made, or its file system has no locks.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
