"""Files of YAML that people write: what they hold, and on which line a key stands."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from shuffledp.records import refusals

# What YAML 1.2 calls a number and YAML 1.1, which the reader speaks, leaves a string: 1e-8, 1e5.
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+")
# In C where it is there: files are read again by every job of the workflow.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@functools.cache
def composed(text: str) -> yaml.Node | None:
    """Return the nodes of a text in YAML, which know their lines."""
    return yaml.compose(text, Loader=_LOADER)


def loaded(text: str) -> Any:
    """Return the keys and values of a text in YAML."""
    return yaml.load(text, Loader=_LOADER)


def parsed(name: str, parse: Callable[[str], Any] = loaded) -> Any:
    """Return what a parser of YAML makes of a file.

    Args:
        name: of the file.
        parse: from its text to keys and values, or to the nodes that ``composed`` returns.

    Raises:
        ValueError: the file cannot be read, or is no YAML; the message is one line.
    """
    text = ""
    try:
        text = Path(name).read_text(encoding="utf-8")
        return parse(text)
    except OSError as error:
        raise ValueError(refusals.of_system(error)) from None
    except yaml.YAMLError:
        raise ValueError(_invalid(name, _slowly(text))) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise ValueError(_invalid(name, error)) from None


def _slowly(text: str) -> Exception:
    """Return the error of the reader in Python, which never places it beyond the end of the text."""
    try:
        yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        return error
    return ValueError("no reader but the one in C refuses it")


def _invalid(name: str, error: Exception) -> str:
    """Say in a line where a file is no YAML."""
    if isinstance(error, RecursionError):
        return f"{name} is nested too deeply to be read; write it flat"
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return f"{name} is not valid YAML: {' '.join(str(error).split())}"
    what = " ".join(filter(None, (getattr(error, "context", None), getattr(error, "problem", None))))
    return f"{name} line {mark.line + 1}, column {mark.column + 1} is not valid YAML: {what}"


def with_numbers(value: Any) -> Any:
    """Return keys and values in which numbers with exponents are numbers."""
    if isinstance(value, dict):
        return {key: with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_numbers(item) for item in value]
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def line(root: yaml.Node | None, path: Sequence[str | int]) -> int | None:
    """Return the line of a key or list item, or None if it is not there.

    Args:
        root: the nodes of the file.
        path: keys and positions that lead to it from the top.
    """
    node, found = root, None
    for step in path:
        if isinstance(node, yaml.SequenceNode) and str(step).isdigit() and int(step) < len(node.value):
            node = node.value[int(step)]
            found = node.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode):
            entry = next(((key, value) for key, value in node.value if key.value == str(step)), None)
            if entry is None:
                return None
            found, node = entry[0].start_mark.line + 1, entry[1]
        else:
            return None
    return found


def refuse_repeated(root: yaml.Node | None, name: str) -> None:
    """Refuse a file in which a key stands twice in one mapping, of which a reader takes the last.

    Args:
        root: the nodes of the file.
        name: of the file.

    Raises:
        ValueError: one does; the message names the key and both lines.
    """
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
                at = key.start_mark.line + 1
                if (key.tag, key.value) in lines:
                    before = lines[key.tag, key.value]
                    raise ValueError(
                        f"key {key.value!r} stands twice in one place of {name}, on line {before} and on "
                        f"line {at}; keep one"
                    )
                lines[key.tag, key.value] = at
