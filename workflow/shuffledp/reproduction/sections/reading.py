"""Files of YAML as mappings, laid over each other; what cannot be read is one ValueError."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from shuffledp.records import refusals

# What YAML 1.2 calls a number and YAML 1.1, which the reader speaks, leaves a string: 1e-8, 1e5.
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+")
# In C where it is there: files are read again by every job of the workflow.
FAST = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(name: str) -> dict[str, Any]:
    """Return what a file holds.

    Raises:
        ValueError: it cannot be read, is no YAML, or holds no mapping.
    """
    found = _parsed(name, yaml.safe_load)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ValueError(f"configuration: {name} must hold keys and values, got {type(found).__name__}")
    return found


def check_file(path: Path | str) -> None:
    """Refuse a file that holds no settings at all, for readers that tell neither its name nor the line.

    Raises:
        ValueError: it cannot be read, is no YAML, or has no keys.
    """
    root = _parsed(str(path), composed)
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise ValueError(f"configuration: {path} must hold keys and values, got a {root.id}")


@functools.cache
def composed(text: str) -> yaml.Node | None:
    """Return the nodes of a YAML file, which know their lines."""
    return yaml.compose(text, Loader=FAST)


def _parsed(name: str, parse: Callable[[str], Any]) -> Any:
    """Return what a parser of YAML makes of a file, or say in a line what is wrong with it."""
    try:
        return parse(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"configuration: {refusals.of_system(error)}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"configuration: {_invalid(name, error)}") from None


def _invalid(name: str, error: Exception) -> str:
    """Say in a line where a file is no YAML."""
    if isinstance(error, RecursionError):
        return f"{name} is nested too deeply to be read; write it flat"
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return f"{name} is not valid YAML: {' '.join(str(error).split())}"
    what = " ".join(filter(None, (getattr(error, "context", None), getattr(error, "problem", None))))
    return f"{name} line {mark.line + 1}, column {mark.column + 1} is not valid YAML: {what}"


def overlay(base: Any, layer: Any) -> Any:
    """Return a configuration with another one laid over it, key by key; lists are replaced."""
    if not (isinstance(base, Mapping) and isinstance(layer, Mapping)):
        return layer
    return {
        key: overlay(base.get(key), layer[key]) if key in layer else base[key] for key in {**base, **layer}
    }


def with_numbers(value: Any) -> Any:
    """Return a configuration in which numbers with exponents are numbers."""
    if isinstance(value, dict):
        return {key: with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_numbers(item) for item in value]
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def caption_files(paper: str, files: Sequence[str]) -> list[str]:
    """Return where captions of a paper may stand beside the files of the configuration."""
    folders = dict.fromkeys(Path(name).parent for name in files)
    return [str(folder / "captions" / f"{paper}.yaml") for folder in folders]
