"""Files of the configuration as mappings, laid over each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from shuffledp.records import yaml_files


def read(name: str) -> dict[str, Any]:
    """Return the mapping that a file holds.

    Raises:
        ValueError: it cannot be read, is not YAML, or does not hold a mapping.
    """
    found = _parsed(name, yaml_files.loaded)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ValueError(f"configuration: {name} must hold keys and values, got {type(found).__name__}")
    return found


def check_file(path: Path | str) -> None:
    """Refuse a file that holds no settings, for readers whose errors have neither its name nor the line.

    Raises:
        ValueError: it cannot be read, is not YAML, or has no keys.
    """
    root = _parsed(str(path), yaml_files.composed)
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise ValueError(f"configuration: {path} must hold keys and values, got a {root.id}")


def _parsed(name: str, parse: Callable[[str], Any]) -> Any:
    try:
        return yaml_files.parsed(name, parse)
    except ValueError as error:
        raise ValueError(f"configuration: {error}") from None


def overlay(base: Any, layer: Any) -> Any:
    """Return a configuration with another one laid over it, key by key; lists are replaced."""
    if not (isinstance(base, Mapping) and isinstance(layer, Mapping)):
        return layer
    return {
        key: overlay(base.get(key), layer[key]) if key in layer else base[key] for key in {**base, **layer}
    }


def caption_files(paper: str, files: Sequence[str]) -> list[str]:
    """Return the paths at which a paper's captions may be, beside the files of the configuration."""
    folders = dict.fromkeys(Path(name).parent for name in files)
    return [str(folder / "captions" / f"{paper}.yaml") for folder in folders]
