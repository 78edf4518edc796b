"""On which line of which file a key of the configuration stands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from shuffledp.reproduction.sections.reading import caption_files, composed


def fault(message: str, path: Sequence[str], files: Sequence[str]) -> ValueError:
    """Return the error that says what is wrong, at which key, and where that stands."""
    return ValueError(f"configuration: {message} (at {where(path, files)})")


def where(path: Sequence[str], files: Sequence[str]) -> str:
    """Return the key and, as far as a file has it, the file and line; what overrides comes first."""
    dotted = ".".join(path) or "top level"
    places = [(name, 0) for name in reversed(files)]
    if len(path) > 2 and path[0] == "captions":  # figures stand at the top of a paper's file
        places += [(name, 2) for name in reversed(caption_files(path[1], files))]
    for depth in range(len(path), 0, -1):
        for name, above in places:
            line = _line(path[above:depth], name)
            if line:
                return f"{dotted}, {name} line {line}"
    return dotted


def _line(path: Sequence[str], name: str) -> int | None:
    """Return the line of a key or list item in a file, if the file has it."""
    try:
        node = composed(Path(name).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError):
        return None
    line = None
    for key in path:
        if isinstance(node, yaml.SequenceNode) and key.isdigit() and int(key) < len(node.value):
            node = node.value[int(key)]
            line = node.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode):
            found = next(((at, value) for at, value in node.value if at.value == key), None)
            if found is None:
                return None
            line, node = found[0].start_mark.line + 1, found[1]
        else:
            return None
    return line


def refuse_repeated(name: str) -> None:
    """Refuse a file in which a key stands twice in one mapping, of which a reader takes the last.

    What cannot be read is left to the reader of the file.

    Raises:
        ValueError: naming the key and both lines.
    """
    try:
        root = composed(Path(name).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError, RecursionError):
        return
    waiting, seen = [root], set()
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:  # an anchor's node stands in several places
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            lines: dict[tuple[str, str], int] = {}
            for key, value in node.value:
                waiting.append(value)
                if not isinstance(key, yaml.ScalarNode):
                    continue
                line = key.start_mark.line + 1
                if (key.tag, key.value) in lines:
                    before = lines[key.tag, key.value]
                    raise ValueError(
                        f"configuration: key {key.value!r} stands twice in one place of {name}, on line "
                        f"{before} and on line {line}; keep one"
                    )
                lines[key.tag, key.value] = line
