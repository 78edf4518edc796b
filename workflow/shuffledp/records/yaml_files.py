"""YAML files that people write: their content, and the line of each key."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from shuffledp.records import refusals

# Numbers such as 1e-8 and 1e5 of YAML 1.2, which are strings in YAML 1.1, the version of the reader.
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+")
# The reader in C, where there is one, since every job of the workflow reads the files again.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@functools.cache
def composed(text: str) -> yaml.Node | None:
    """Return the nodes of a text in YAML, which have their lines."""
    return yaml.compose(text, Loader=_LOADER)


def loaded(text: str) -> Any:
    """Return the keys and values of a text in YAML."""
    return yaml.load(text, Loader=_LOADER)


def parsed(name: str, parse: Callable[[str], Any] = loaded) -> Any:
    """Return the content of a YAML file.

    Args:
        name: of the file.
        parse: function of the text that returns keys and values (``loaded``) or nodes (``composed``).

    Raises:
        ValueError: the file cannot be read, or is not YAML; the message is one line.
    """
    text = ""
    try:
        text = Path(name).read_text(encoding="utf-8")
        return parse(text)
    except OSError as error:
        raise ValueError(refusals.of_system(error, tried="read")) from None
    except yaml.YAMLError:
        raise ValueError(_invalid(name, _slowly(text))) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise ValueError(_invalid(name, error)) from None


def _slowly(text: str) -> Exception:
    """Return the error of the reader in Python, whose position is never beyond the end of the text."""
    try:
        yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        return error
    return ValueError("no reader but the one in C refuses it")


def _invalid(name: str, error: Exception) -> str:
    """Return in one line where a file is not YAML."""
    if isinstance(error, RecursionError):
        return f"{name} is nested too deeply to be read; write it flat"
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return f"{name} is not valid YAML: {' '.join(str(error).split())}"
    what = " ".join(filter(None, (getattr(error, "context", None), getattr(error, "problem", None))))
    return f"{name} line {mark.line + 1}, column {mark.column + 1} is not valid YAML: {what}"


def with_numbers(value: Any) -> Any:
    """Return keys and values with strings such as 1e-8 replaced by numbers."""
    if isinstance(value, dict):
        return {key: with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_numbers(item) for item in value]
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def line(root: yaml.Node | None, path: Sequence[str | int]) -> int | None:
    """Return the line of a key or list item; None if there is no such item.

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
    """Refuse a file with a repeated key in one mapping, since a reader would silently use the last one.

    Args:
        root: the nodes of the file.
        name: of the file.

    Raises:
        ValueError: there is one; the message names the key and both lines.
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
