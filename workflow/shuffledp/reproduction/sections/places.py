"""The file and line of a key of the configuration."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from shuffledp.records import yaml_files
from shuffledp.reproduction.sections.reading import caption_files


def fault(message: str, path: Sequence[str], files: Sequence[str]) -> ValueError:
    """Return the error with a message, the key, and the key's file and line."""
    return ValueError(f"configuration: {message} (at {where(path, files)})")


def where(path: Sequence[str], files: Sequence[str]) -> str:
    """Return the key and, if a file has it, the file and line; files that override others are tried first."""
    dotted = ".".join(path) or "top level"
    places = [(name, 0) for name in reversed(files)]
    if len(path) > 2 and path[0] == "captions":  # figures stand at the top of a paper's file
        places += [(name, 2) for name in reversed(caption_files(path[1], files))]
    for depth in range(len(path), 0, -1):
        for name, above in places:
            line = yaml_files.line(_root(name), path[above:depth])
            if line:
                return f"{dotted}, {name} line {line}"
    return dotted


def _root(name: str) -> yaml.Node | None:
    """Return the nodes of a file; None if it cannot be read, which its reader reports."""
    try:
        root: yaml.Node | None = yaml_files.parsed(name, yaml_files.composed)
    except ValueError:
        return None
    return root


def refuse_repeated(name: str) -> None:
    """Refuse a file with a repeated key in one mapping, since a reader would silently use the last one.

    Raises:
        ValueError: there is one; the message names the key and both lines.
    """
    try:
        yaml_files.refuse_repeated(_root(name), name)
    except ValueError as error:
        raise ValueError(f"configuration: {error}") from None
