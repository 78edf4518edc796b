"""The workflow's configuration: read, checked against the schema, and resolved to what has to be made."""

from __future__ import annotations

import copy
import difflib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import yaml

from shuffledp import accountants
from shuffledp.accountants.variables import VARIABLES
from shuffledp.provenance import Product

# What YAML 1.2 calls a number and YAML 1.1, which the reader speaks, leaves a string: 1e-8, 1e5.
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+")
_WHOLE = ("n", "k", "rounds")


@dataclass(frozen=True)
class Curve:
    """One curve of a figure: what to compute, and whether it is drawn."""

    paper: str
    figure: str
    panel: str
    accountant: str
    variable: str
    values: tuple[float, ...]
    fixed: tuple[tuple[str, float], ...]
    drawn: bool

    def stem(self, results: str) -> str:
        """Return the path of the result without its suffix."""
        return f"{results}/{self.paper}/{self.figure}/{self.panel}/{self.accountant}"

    def product(self, results: str) -> Product:
        """Return the curve as a product of the workflow."""
        entry = accountants.get(self.accountant)
        about = {key: value for key, value in asdict(entry).items() if key != "compute"}
        stem = self.stem(results)
        return Product(
            record=f"{stem}.json",
            parameters={
                "accountant": {**about, "needs": list(entry.needs)},
                "variable": self.variable,
                "values": list(self.values),
                "fixed": dict(self.fixed),
            },
            modules=(entry.compute.__module__, "shuffledp.accountants.sweep", "shuffledp.tables"),
            outputs=(f"{stem}.csv",),
        )


@dataclass(frozen=True)
class Figure:
    """One figure of bounds, with the resolved settings that its plot and its caption are made from."""

    paper: str
    name: str
    settings: Mapping[str, Any]
    curves: tuple[Curve, ...]

    @property
    def drawn(self) -> tuple[Curve, ...]:
        """The curves that appear in the figure."""
        return tuple(curve for curve in self.curves if curve.drawn)


@dataclass(frozen=True)
class Settings:
    """The resolved configuration."""

    results: str
    figures: str
    readme: str
    bounds: tuple[Figure, ...]

    @property
    def curves(self) -> tuple[Curve, ...]:
        """All curves of all figures."""
        return tuple(curve for figure in self.bounds for curve in figure.curves)

    def figure(self, paper: str, name: str) -> Figure:
        """Return the figure of that name.

        Raises:
            ValueError: the configuration has none.
        """
        for figure in self.bounds:
            if (figure.paper, figure.name) == (paper, name):
                return figure
        raise ValueError(f"the configuration has no figure {name!r} of {paper!r}")


def schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration."""
    return json.loads(resources.files("shuffledp").joinpath("schemas/config.schema.json").read_text("utf-8"))


def load(paths: Iterable[Path | str]) -> Settings:
    """Read configuration files, each laid over those before it, and resolve them.

    Raises:
        ValueError: a file cannot be read as YAML, or the result breaks the schema or a rule across fields.
    """
    names, merged = [str(path) for path in paths], {}
    for name in names:
        try:
            layer = yaml.safe_load(Path(name).read_text(encoding="utf-8")) or {}
        except yaml.YAMLError as error:
            raise ValueError(f"{name} is not valid YAML: {error}") from None
        merged = _overlay(merged, layer)
    return resolve(merged, files=names)


def _overlay(base: Any, layer: Any) -> Any:
    if not (isinstance(base, Mapping) and isinstance(layer, Mapping)):
        return layer
    return {
        key: _overlay(base.get(key), layer[key]) if key in layer else base[key] for key in {**base, **layer}
    }


def resolve(raw: Mapping[str, Any], *, files: Sequence[str] = ()) -> Settings:
    """Check a configuration and fill in what it leaves to defaults.

    Args:
        raw: the configuration as a YAML reader gives it.
        files: the files that it came from, to say in a message on which line a fault is.

    Returns:
        The settings, with every curve's points and parameters spelt out.

    Raises:
        ValueError: naming the key, its line, the value and the remedy.
    """
    data = _with_numbers(copy.deepcopy(dict(raw)))
    fault = _first_fault(data)
    if fault:
        path, message = fault
        raise ValueError(f"configuration: {message} (at {_where(path, files)})")
    figures = tuple(
        _figure(paper, name, figure, data["styles"], files)
        for paper, by_name in data["bounds"].items()
        for name, figure in by_name.items()
    )
    return Settings(**data["paths"], bounds=figures)


def _with_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_numbers(item) for item in value]
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def _first_fault(data: dict[str, Any]) -> tuple[list[str], str] | None:
    validator = jsonschema.Draft202012Validator(schema())
    faults = sorted(validator.iter_errors(data), key=lambda fault: [str(key) for key in fault.absolute_path])
    if not faults:
        return None
    fault = faults[0]
    path = [str(key) for key in fault.absolute_path]
    if fault.validator == "additionalProperties":
        known = list(fault.schema["properties"])
        unknown = next(key for key in fault.instance if key not in known)
        close = difflib.get_close_matches(str(unknown), known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
        return [*path, str(unknown)], f"unknown key {unknown!r}: {hint}"
    meaning = fault.schema.get("description", "") if isinstance(fault.schema, Mapping) else ""
    return path, fault.message + (f". {meaning}" if meaning else "")


def _where(path: Sequence[str], files: Sequence[str]) -> str:
    dotted = ".".join(path) or "top level"
    for name in reversed(files):
        line = _line(path, name)
        if line:
            return f"{dotted}, {name} line {line}"
    return dotted


def _line(path: Sequence[str], name: str) -> int | None:
    """Return the line of the deepest key of ``path`` that the file has, if it has all but the last."""
    try:
        node = yaml.compose(Path(name).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError):
        return None
    line = None
    for depth, key in enumerate(path):
        if isinstance(node, yaml.SequenceNode) and key.isdigit() and int(key) < len(node.value):
            node = node.value[int(key)]
            line = node.start_mark.line + 1
            continue
        if not isinstance(node, yaml.MappingNode):
            return line
        found = next(((at, value) for at, value in node.value if at.value == key), None)
        if found is None:
            return line if depth == len(path) - 1 else None
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def _figure(
    paper: str, name: str, figure: dict[str, Any], styles: dict[str, Any], files: Sequence[str]
) -> Figure:
    at = ["bounds", paper, name]
    undrawn = figure.setdefault("undrawn", [])
    figure.setdefault("choices", [])
    curves: list[Curve] = []
    for label, panel in figure["panels"].items():
        here = [*at, "panels", label]
        if "delta" in figure:
            panel.setdefault("delta", figure["delta"])
        panel.setdefault("undrawn", [])
        variable, values = _points(panel["x"], here, files)
        fixed = _fixed(panel, variable, values, here, files)
        wanted = [(curve, True) for curve in figure["curves"]]
        wanted += [(curve, False) for curve in (*undrawn, *panel["undrawn"])]
        twice = [name for name, times in Counter(name for name, _ in wanted).items() if times > 1]
        if twice:
            raise ValueError(
                f"configuration: {twice[0]!r} is named twice among curves and undrawn; name it once "
                f"(at {_where(at, files)})"
            )
        for accountant, drawn in wanted:
            _check_accountant(accountant, drawn, styles, at, files)
            curves.append(
                Curve(paper, name, label, accountant, variable, values, tuple(fixed.items()), drawn)
            )
    drawn_styles = {
        accountant: {"label": accountants.get(accountant).label, **styles[accountant]}
        for accountant in figure["curves"]
    }
    return Figure(paper, name, {**figure, "styles": drawn_styles}, tuple(curves))


def _points(x: dict[str, Any], at: list[str], files: Sequence[str]) -> tuple[str, tuple[float, ...]]:
    first, last, variable = float(x["from"]), float(x["to"]), x["variable"]
    if first >= last:
        raise ValueError(
            f"configuration: x.from must be less than x.to, got {first:g} and {last:g} "
            f"(at {_where([*at, 'x', 'from'], files)})"
        )
    points = np.geomspace(first, last, int(x["points"]))
    points[0], points[-1] = first, last
    if variable in _WHOLE:
        points = np.unique(points.round())
    return variable, tuple(points.tolist())


def _fixed(
    panel: dict[str, Any], variable: str, values: tuple[float, ...], at: list[str], files: Sequence[str]
) -> dict[str, float]:
    fixed = {name: float(panel[name]) for name in VARIABLES if name in panel and name != variable}
    missing = [name for name in VARIABLES if name not in fixed and name != variable]
    if missing:
        raise ValueError(
            f"configuration: the panel must fix {', '.join(missing)}, since only {variable} varies "
            f"(at {_where(at, files)})"
        )
    if variable in panel and variable != "delta":
        raise ValueError(
            f"configuration: {variable} varies along x and cannot be fixed too; remove one "
            f"(at {_where([*at, variable], files)})"
        )
    smallest = {variable: min(values), **fixed}
    largest = {variable: max(values), **fixed}
    if largest["k"] > smallest["n"]:
        raise ValueError(
            f"configuration: k must be at most n, got k up to {largest['k']:g} and n from "
            f"{smallest['n']:g}; draw fewer clients per round or start x higher "
            f"(at {_where([*at, 'k'], files)})"
        )
    if largest["delta"] >= 1:
        raise ValueError(f"configuration: delta must stay below 1 along x (at {_where([*at, 'x'], files)})")
    return fixed


def _check_accountant(
    name: str, drawn: bool, styles: dict[str, Any], at: list[str], files: Sequence[str]
) -> None:
    try:
        accountants.get(name)
    except ValueError as error:
        raise ValueError(f"configuration: {error} (at {_where([*at, 'curves'], files)})") from None
    if drawn and name not in styles:
        raise ValueError(
            f"configuration: accountant {name!r} is drawn here and has no entry under styles; add one "
            f"(at {_where([*at, 'curves'], files)})"
        )


def key_page() -> Product:
    """Return the page of keys as a product of the workflow."""
    return Product(
        record="config/README.json",
        parameters={"schema": schema()},
        modules=("shuffledp.config",),
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
        reference = child.get("$ref", "").rpartition("/")[2]
        target = {**schema()["$defs"].get(reference, {}), **child}
        star = "*" if name in node.get("required", []) else ""
        yield f"{prefix}{name}", star, target.get("description", ""), _values(target)
        yield from _keys(target, f"{prefix}{name}.")


def _values(node: dict[str, Any]) -> str:
    if "enum" in node:
        return ", ".join(node["enum"])
    low, high = node.get("minimum"), node.get("maximum")
    above, below = node.get("exclusiveMinimum"), node.get("exclusiveMaximum")
    bounds = [(">=", low), (">", above), ("<=", high), ("<", below)]
    limits = " ".join(f"{sign} {bound}" for sign, bound in bounds if bound is not None)
    kind = {"array": "list of strings", "object": "keys below"}.get(node["type"], node["type"])
    return f"{kind} {limits}".strip()
