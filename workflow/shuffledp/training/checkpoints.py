"""Checkpoints of training: written whole or not at all, and read without running code that is in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from shuffledp.records import files


def save(path: Path | str, content: Mapping[str, Any]) -> None:
    """Write a checkpoint in place of the last one; a failure leaves the last one as it was."""
    with files.replacing(path) as temporary, open(temporary, "wb") as stream:
        torch.save(dict(content), stream)
        # otherwise a power cut may leave an empty file of that name, and lose hours of training
        stream.flush()
        os.fsync(stream.fileno())


def load(path: Path | str, *, keys: Iterable[str]) -> dict[str, Any] | None:
    """Return what ``save`` was last given, on the CPU; None if there is no checkpoint.

    Args:
        path: the file of the checkpoint.
        keys: the entries that it must have, which are all that is returned.

    Raises:
        ValueError: the file is damaged; the message names it and the remedy.
    """
    if not Path(path).exists():
        return None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        return {key: content[key] for key in keys}
    except Exception as error:  # whatever a damaged file makes the unpickler raise
        raise ValueError(
            f"{path} is no checkpoint ({type(error).__name__}); delete it and run again"
        ) from None
