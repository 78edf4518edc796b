"""The first fault that pydantic finds in a configuration, as a key and a message."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from shuffledp.reproduction.sections.model import NAME

Fault = tuple[list[str], str]

_TYPES = {
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "integer"),
    "float_type": "number",
    "string_type": "string",
    "bool_type": "boolean",
    "list_type": "array",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "object"),
}
_BOUNDS = {
    "greater_than_equal": ("ge", "is less than the minimum of"),
    "greater_than": ("gt", "is less than or equal to the minimum of"),
    "less_than_equal": ("le", "is greater than the maximum of"),
    "less_than": ("lt", "is greater than or equal to the maximum of"),
}


# With --configfile of Snakemake a file lies over config/config.yaml already.
_OF_A_PART = (
    "; --config FILE replaces config/config.yaml: to lay a file over it, name both, --config "
    "config/config.yaml --config FILE"
)


def hint(unknown: object, known: Sequence[str]) -> str:
    """Return the close name that may be meant, or else the known names, in words."""
    return close_to(str(unknown), known).rstrip() or f"known are {', '.join(known)}"


def close_to(unknown: str, known: Sequence[str]) -> str:
    """Return the question whether a close name is meant, and a space; nothing if no name is close."""
    close = difflib.get_close_matches(unknown, known, n=1)
    return f"did you mean {close[0]!r}? " if close else ""


def not_finite(value: Any, path: Sequence[str] = ()) -> Fault | None:
    """Return the fault of a number that is nan or infinite, as YAML allows; None if there is none."""
    if isinstance(value, dict):
        inside = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, list):
        inside = [(str(index), item) for index, item in enumerate(value)]
    else:
        wrong = isinstance(value, float) and not math.isfinite(value)
        return ([*path], f"{path[-1]} must be a finite number, got {value}") if wrong else None
    return next((fault for key, item in inside if (fault := not_finite(item, [*path, key]))), None)


def first(error: ValidationError, schema: dict[str, Any]) -> Fault:
    """Return the first fault, in the order of keys.

    Args:
        error: raised by pydantic.
        schema: the JSON schema of the model, with the descriptions and words for the message.
    """
    found = [_fault(one, schema) for one in error.errors(include_url=False)]
    # an unknown key comes before the missing key that it may be meant for
    _, _, path, message = min(found, key=lambda one: (one[0], one[1]))
    return path, message


def _fault(one: ErrorDetails, schema: dict[str, Any]) -> tuple[list[str], int, list[str], str]:
    """Return the two parts of the sort key of a fault, its key in the configuration, and its message."""
    path, value = [str(key) for key in one["loc"]], one["input"]
    kind, context = one["type"], one.get("ctx", {})
    if kind == "extra_forbidden":
        *above, unknown = path
        known = list(_node(schema, above)["properties"])
        return above, 0, path, f"unknown key {unknown!r}: {hint(unknown, known)}"
    if kind == "missing":
        *above, lacking = path
        message = _with_meaning(f"{lacking!r} is a required property", _node(schema, above))
        return above, 1, above, message if above else f"{message}{_OF_A_PART}"
    if path[-1:] == ["[key]"]:
        above = path[:-2]
        text = "a name" if kind == "string_type" else f"{NAME!r}"
        return above, 2, above, f"{value!r} does not match {text}"
    node = _node(schema, path)
    if kind in _TYPES:
        message = f"{value!r} is not of type {_TYPES[kind]!r}"
    elif kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        message = f"{value!r} {words} {context[key]:.16g}"
    elif kind == "literal_error":
        message = f"{value!r} is not one of {node['enum']}"
    elif kind == "string_pattern_mismatch":
        message = f"{value!r} does not match {context['pattern']!r}"
    elif kind == "not_unique":
        message = f"{value!r} has non-unique elements"
    elif kind in ("too_short", "too_long"):
        length = "at least" if kind == "too_short" else "at most"
        ends = context["min_length" if kind == "too_short" else "max_length"]
        message = f"{length} {ends} must be named, got {context['actual_length']}"
    else:
        message = f"{value!r}: {one['msg']}"
    return path, 2, path, _with_meaning(message, node)


def _with_meaning(message: str, node: dict[str, Any]) -> str:
    meaning = node.get("description", "")
    return f"{message}. {meaning}" if meaning else message


def _node(schema: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return the part of a JSON schema that is about a key."""
    node = resolved(schema, schema)
    for key in path:
        inside = node.get("properties", {}).get(key) or node.get("additionalProperties") or node.get("items")
        node = resolved(inside, schema) if isinstance(inside, dict) else {}
    return node


def resolved(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return a part of a schema with what it refers to, where its own words go before."""
    if "$ref" not in node:
        return node
    return {**resolved(schema["$defs"][node["$ref"].removeprefix("#/$defs/")], schema), **node}


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a model, with each description in one line."""
    found = model.model_json_schema(by_alias=True)
    _in_lines(found)
    return found


def _in_lines(node: Any) -> None:
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        _in_lines(child)
    if isinstance(node, dict) and isinstance(node.get("description"), str):
        node["description"] = " ".join(node["description"].split())
