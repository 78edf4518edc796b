"""Reading and writing files such that no reader ever sees a half-written one."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces ``path`` if the block ends without an error."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.stem}.", suffix=target.suffix, dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path | str, text: str) -> None:
    """Write a text file (UTF-8, newlines unchanged) and replace the old one in one step."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def write_json(path: Path | str, content: Any) -> None:
    """Write an indented JSON file with sorted keys and replace the old one in one step."""
    write_text(path, json.dumps(content, indent=2, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: Path | str) -> Any:
    """Read a JSON file.

    Raises:
        ValueError: the file is not JSON; the message names it and the remedy.
    """
    content = Path(path).read_bytes()
    try:
        return json.loads(content)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is not valid JSON ({error}); delete it and run the workflow again"
        ) from None


def sha256(path: Path | str) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
