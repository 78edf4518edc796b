"""The configuration's JSON schema, and the page that documents its keys."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import resources
from typing import Any

from shuffledp.records.provenance import Product


def schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration."""
    return json.loads(resources.files("shuffledp").joinpath("schemas/config.schema.json").read_text("utf-8"))


def key_page() -> Product:
    """Return the page of keys as a product of the workflow."""
    return Product(
        record="config/README.json",
        parameters={"schema": schema()},
        modules=("shuffledp.reproduction.schema",),
        outputs=("config/README.md",),
    )


def key_table() -> str:
    """Return the page that documents every key of the configuration, from the schema."""
    lines = [
        "# Keys of the configuration",
        "",
        "Written by the workflow from `workflow/shuffledp/schemas/config.schema.json`. Names in angle",
        "brackets are yours to choose (accountants: from the registry); * marks a key that must be there.",
        "",
        "| key | meaning | values |",
        "|---|---|---|",
    ]
    keys = _keys(schema(), "")
    lines += [f"| `{key}`{star} | {meaning} | {values} |" for key, star, meaning, values in keys]
    return "\n".join(lines) + "\n"


def _keys(node: dict[str, Any], prefix: str) -> Iterable[tuple[str, str, str, str]]:
    children = dict(node.get("properties", {}))
    if isinstance(node.get("additionalProperties"), dict):
        children[f"<{node['propertyNames']['title']}>"] = node["additionalProperties"]
    for name, child in children.items():
        target = {**_referred(child), **child}
        star = "*" if name in node.get("required", []) else ""
        yield f"{prefix}{name}", star, target.get("description", ""), _values(target)
        yield from _keys(target, f"{prefix}{name}.")


def _referred(node: dict[str, Any]) -> dict[str, Any]:
    """Return the part of the schema that a node refers to, and what that refers to; empty if to none."""
    if "$ref" not in node:
        return {}
    target = schema()
    for part in node["$ref"].removeprefix("#/").split("/"):
        target = target[part]
    return {**_referred(target), **target}


def _values(node: dict[str, Any]) -> str:
    if "enum" in node:
        return ", ".join(node["enum"])
    low, high = node.get("minimum"), node.get("maximum")
    above, below = node.get("exclusiveMinimum"), node.get("exclusiveMaximum")
    bounds = [(">=", low), (">", above), ("<=", high), ("<", below)]
    limits = " and ".join(f"{sign} {bound}" for sign, bound in bounds if bound is not None)
    items = node.get("items", {}).get("type", "string")
    kind = {"array": f"list of {items}s", "object": "keys below"}.get(node["type"], node["type"])
    return f"{kind} {limits}".strip()
