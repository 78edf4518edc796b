"""The page that documents the keys of the configuration, from its model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shuffledp.records.product import Product
from shuffledp.reproduction.config.loading import model
from shuffledp.reproduction.sections.faults import resolved, schema_of
from shuffledp.variables import table

Row = tuple[str, str, str, str]


def schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration."""
    return schema_of(model())


def key_page() -> Product:
    """Return the page of keys as a product of the workflow."""
    return Product(
        record="config/README.json",
        parameters={
            "keys": [list(row) for row in keys()],
            "variables": [list(row) for row in table()],
        },
        modules=("shuffledp.reproduction.config.page",),
        outputs=("config/README.md",),
    )


def keys() -> list[Row]:
    """Return a row for every key of the configuration: name, a star if it is required, meaning, values."""
    whole = schema()
    return list(_keys(whole, "", whole))


def _keys(node: dict[str, Any], prefix: str, schema: dict[str, Any]) -> Iterable[Row]:
    children = dict(node.get("properties", {}))
    if isinstance(node.get("additionalProperties"), dict):
        children[f"<{node['propertyNames']['title']}>"] = node["additionalProperties"]
    for name, child in children.items():
        target = resolved(child, schema)
        star = "*" if name in node.get("required", []) else ""
        yield f"{prefix}{name}", star, target.get("description", ""), _values(target, schema)
        yield from _keys(target, f"{prefix}{name}.", schema)


def _values(node: dict[str, Any], schema: dict[str, Any]) -> str:
    if "enum" in node:
        return ", ".join(node["enum"])
    low, high = node.get("minimum"), node.get("maximum")
    above, below = node.get("exclusiveMinimum"), node.get("exclusiveMaximum")
    bounds = [(">=", low), (">", above), ("<=", high), ("<", below)]
    limits = " and ".join(f"{sign} {bound:.16g}" for sign, bound in bounds if bound is not None)
    items = resolved(node.get("items", {}), schema).get("type", "string")
    kind = {"array": f"list of {items}s", "object": "keys below"}.get(node["type"], node["type"])
    return f"{kind} {limits}".strip()
