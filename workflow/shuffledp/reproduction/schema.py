"""The configuration's JSON schema, and the page that documents its keys.

What is said of the variables of accounting comes from their table, the rest from a file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from importlib import resources
from typing import Any

from shuffledp.records.provenance import Product
from shuffledp.variables import OF_QUESTIONS, OF_RANDOMIZERS, OF_SYSTEMS, VARIABLES, Variable, table

_EXACT = 2**53  # bounds up to it are written as whole numbers


def schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration."""
    found = json.loads(resources.files("shuffledp").joinpath("schemas/config.schema.json").read_text("utf-8"))
    panel, randomizer = (found["$defs"][name]["properties"] for name in ("panel", "randomizer"))
    along = panel["x"]["properties"]["variable"]
    along["enum"] = [one.name for one in (*OF_SYSTEMS, *OF_QUESTIONS)]
    others = {key: panel.pop(key) for key in list(panel) if key not in ("title", "x")}
    panel |= {one.name: _number(one) for one in (*OF_SYSTEMS, VARIABLES["rounds"])} | others
    randomizer |= {one.name: _number(one) for one in (VARIABLES["categories"], *OF_RANDOMIZERS)}
    return found


def _number(variable: Variable) -> dict[str, Any]:
    """Return what the schema says of a variable's value."""
    ends, limit = variable.range, variable.limit
    found: dict[str, Any] = {
        "description": variable.description,
        "type": "integer" if variable.whole else "number",
    }
    if limit and limit.least > ends.least:
        found["minimum"] = limit.least
    else:
        found["exclusiveMinimum" if ends.without_least else "minimum"] = _bound(ends.least)
    if limit:
        found["maximum"] = _bound(limit.most)
    elif ends.most < math.inf:
        found["exclusiveMaximum" if ends.without_most else "maximum"] = _bound(ends.most)
    return found


def _bound(value: float) -> float:
    return int(value) if value <= _EXACT and value == int(value) else value


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
        "Written by the workflow from `workflow/shuffledp/schemas/config.schema.json` and",
        "`workflow/shuffledp/variables.py`. Names in angle brackets are yours to choose (accountants: from",
        "the registry); * marks a key that must be there.",
        "",
        "| key | meaning | values |",
        "|---|---|---|",
    ]
    keys = _keys(schema(), "")
    lines += [f"| `{key}`{star} | {meaning} | {values} |" for key, star, meaning, values in keys]
    lines += [
        "",
        "# Variables",
        "",
        "What the configuration may fix or vary, the library takes by these names, and the command line by",
        "these options.",
        "",
        "| variable | option | symbol | meaning | values | unit |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {name} | `{option}` | ${symbol}$ | {meaning} | {values} | {unit} |"
        for name, option, symbol, meaning, values, unit in table()
    ]
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
