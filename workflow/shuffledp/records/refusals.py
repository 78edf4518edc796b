"""Errors of the operating system in one line, and checks that foresee some of them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

_REMEDY = "check the path and the disk"
_REMEDIES: dict[type[OSError], str] = {
    FileNotFoundError: "check the path",
    FileExistsError: "name a folder, not a file",
    NotADirectoryError: "name a folder, not a file",
    IsADirectoryError: "name a file, not a folder",
    PermissionError: "name another, or change its permissions",
}


def of_system(error: OSError, *, tried: str = "read or written") -> str:
    """Return the message for an error of the operating system: the path, what is wrong and the remedy.

    Args:
        error: as Python raises it. If it has no path, as errors of a network or of memory, the message has
            the reason alone.
        tried: what was tried, if that is known: "read" or "written".
    """
    reason = error.strerror or str(error) or type(error).__name__
    if error.filename is None:
        return f"the operating system refuses: {reason}; free what is short, and try again"
    # a second path is the file to be replaced, which is the one that the user named
    path = error.filename if error.filename2 is None else error.filename2
    words = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else str(path)
    return f"{words} cannot be {tried} ({reason}); {_REMEDIES.get(type(error), _REMEDY)}"


def of_folder(path: str, *, written: bool = True) -> str | None:
    """Return why a folder cannot be made or written to; None if it can, as far as that is known beforehand.

    Args:
        path: of the folder, which need not exist.
        written: whether it is to be written to now; if not, only a file in its place is an obstacle.
    """
    if not path:
        return f"must be a folder, got {path!r}, which is empty; name one"
    folder = Path(path)
    there = next(one for one in (folder, *folder.parents) if one.exists())
    if not there.is_dir():
        return f"must be a folder, got {path!r}, where {there} is a file; name another"
    if written and not _can_be_written_to(there):
        return f"must be a folder that can be written to, got {path!r}, where {there} is not; name another"
    return None


def of_file(path: str) -> str | None:
    """Return why a file cannot or may not be written, as far as that is known beforehand; else None.

    Files are written under another name and renamed, which would put one in the place of a link or a device.

    Args:
        path: of the file, which need not exist, nor need its folder.
    """
    if not path:
        return f"must be a file, got {path!r}, which is empty; name one"
    file = Path(path)
    if file.is_dir():
        return f"must be a file, got {path!r}, which is a folder; name a file"
    if file.is_symlink() or (file.exists() and not file.is_file()):
        kind = "a symbolic link" if file.is_symlink() else "a device or a pipe"
        return f"must be a new or regular file, got {path!r}, where {kind} would be replaced; name another"
    folder = file.parent
    there = next(one for one in (folder, *folder.parents) if one.exists())
    if not there.is_dir():
        return f"must be a file in a folder, got {path!r}, where {there} is a file; name another"
    if not _can_be_written_to(there):
        return f"must be a file that can be written, got {path!r}, where {there} is not; name another"
    return None


def _can_be_written_to(folder: Path) -> bool:
    """Return whether a folder can be written to; where permissions do not forbid it, a file tells."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def check_folders(paths: Iterable[str], checked: set[str] | None = None) -> None:
    """Make sure that no file is in the place of a folder.

    Args:
        paths: of folders, which need not exist.
        checked: folders that were checked already, to which these are added.

    Raises:
        ValueError: there is such a file; the message names it, and the folder.
    """
    seen = set() if checked is None else checked
    for path in paths:
        if path in seen:
            continue
        seen.add(path)
        there = next(one for one in (Path(path), *Path(path).parents) if one.exists())
        if not there.is_dir():
            raise ValueError(
                f"{there} must be a folder, since files are written into {path}, and is a file; move it away"
            )
