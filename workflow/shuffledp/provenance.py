"""What was computed, by which code, from what: records beside the results, and whether they still hold.

A product (a curve, a figure, a ledger) is made on a request: its parameters and a digest of the library code
that it depends on. The record beside it keeps the request and the checksums of what went in and came out. A
product is current if its record matches the request and the files: this is decided by content alone, so that
it holds in a fresh clone, where times of modification mean nothing.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import io
import os
import platform
import subprocess
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from shuffledp import files

PACKAGE = "shuffledp"
_CURRENT = 1  # when the request of a current product is dated: seconds after the beginning of time
_REQUESTED = ("parameters", "modules", "without", "code")


def _source(module: str) -> Path | None:
    spec = importlib.util.find_spec(module)
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _imports(source: Path) -> set[str]:
    """Return the modules of this package that a file names in its import statements."""
    named: set[str] = set()
    for module, name in _import_statements(source.read_bytes()):
        submodule = f"{module}.{name}" if name else module
        named.add(submodule if name and _is_module(submodule) else module)
    return {name for name in named if name != PACKAGE}


# Keyed by content, and remembered, since hundreds of products depend on the same modules.
@functools.cache
def _import_statements(content: bytes) -> frozenset[tuple[str, str]]:
    """Return what a file imports of this package: modules, and what it names inside of them."""
    named: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(content)):
        if isinstance(node, ast.Import):
            named.update((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            named.update((node.module, alias.name) for alias in node.names)
    return frozenset(entry for entry in named if entry[0].split(".")[0] == PACKAGE)


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the parent is a module, not a package: the name is something inside it
        return False


def modules_behind(modules: Iterable[str]) -> list[str]:
    """Return the modules of this package that the given ones depend on, themselves included, sorted.

    Only import statements count: a package's ``__init__`` that runs on the way to a submodule is not
    included, since it can only collect.
    """
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        source = _source(module)
        if module not in found and source is not None:
            found.add(module)
            waiting.extend(_imports(source))
    return sorted(found)


@functools.cache
def _code_only(source: bytes) -> bytes:
    """Return the lines of a Python file without comments, docstrings, blank lines and trailing spaces.

    Done by position in the text, not by printing a syntax tree, whose form depends on the Python version.
    """
    lines = source.splitlines()
    tree = ast.parse(source)
    docstrings = {id(node) for node in _docstrings(tree)}
    inside_strings: set[int] = set()
    for node in ast.walk(tree):
        literal = isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        )
        if literal and id(node) not in docstrings:
            inside_strings.update(range(node.lineno, node.end_lineno or node.lineno))
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type == tokenize.COMMENT:
            row = token.start[0] - 1
            lines[row] = token.line[: token.start[1]].encode("utf-8")
    for node in _docstrings(tree):
        last = (node.end_lineno or node.lineno) - 1
        after = lines[last][node.end_col_offset :]
        lines[node.lineno - 1] = lines[node.lineno - 1][: node.col_offset]
        lines[node.lineno : last] = [b""] * max(last - node.lineno, 0)
        lines[last] = after if last >= node.lineno else lines[last] + after
    kept = [
        line if row in inside_strings else line.rstrip()
        for row, line in enumerate(lines, start=1)
        if line.strip() or row in inside_strings
    ]
    return b"\n".join(kept)


def _docstrings(tree: ast.AST) -> list[ast.Constant]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            value = first.value if isinstance(first, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found.append(value)
    return found


@functools.cache
def code_digest(modules: tuple[str, ...], without: tuple[str, ...] = ()) -> str:
    """Return a digest of the code that the given modules of this package depend on.

    Comments and docstrings do not count, so that explaining a training loop better does not rerun it.

    Args:
        modules: full names.
        without: modules that do not count, since they decide no number.
    """
    digest = hashlib.sha256()
    for module in modules_behind(modules):
        if module in without:
            continue
        source = _source(module)
        assert source is not None  # modules_behind returns none without
        digest.update(module.encode() + b"\0" + _code_only(source.read_bytes()) + b"\0")
    return digest.hexdigest()[:16]


def digest_of(request: Mapping[str, Any]) -> str:
    """Return the digest, of the code as it is now, of what a request or the one in a record names."""
    return code_digest(tuple(request["modules"]), tuple(request.get("without", ())))


@dataclass(frozen=True)
class Product:
    """Something the workflow makes.

    Attributes:
        record: path of the JSON record beside the outputs.
        parameters: everything that decides the content, apart from code and input files; JSON values.
        modules: the modules whose code decides the content.
        outputs: paths of the files made.
        inputs: paths of the files read.
        without: modules behind those that decide nothing in it, such as checks of arguments.
    """

    record: str
    parameters: Mapping[str, Any]
    modules: Sequence[str]
    outputs: Sequence[str]
    inputs: Sequence[str] = field(default=())
    without: Sequence[str] = field(default=())

    def request(self) -> dict[str, Any]:
        """Return what the product is made on: parameters, modules, and the digest of those that count."""
        asked = {"parameters": dict(self.parameters), "modules": list(self.modules)}
        if self.without:
            asked["without"] = list(self.without)
        return {**asked, "code": digest_of(asked)}

    def is_current(self) -> bool:
        """Return whether outputs and record are there and match the request, the inputs and each other."""
        try:
            record = files.read_json(self.record)
            return (
                record["request"] == self.request()
                and record["outputs"] == checksums(self.outputs)
                and record["inputs"] == checksums(self.inputs)
            )
        except (OSError, ValueError, KeyError, TypeError):
            return False


def checksums(paths: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each file, by its name."""
    return {Path(path).as_posix(): files.sha256(path) for path in paths}


def stage(product: Product, folder: Path | str, *, current: bool | None = None) -> str:
    """Write the product's request to a file that a make-like tool can take as an input.

    The file is dated at the beginning of time if the product is current, and newer than its outputs if it is
    not, so that comparing times of modification gives the right answer.

    Args:
        product: the product.
        folder: where requests are kept; never tracked.
        current: whether the product needs no making; None to decide by the product alone.

    Returns:
        The path of the request.
    """
    path = Path(folder) / product.record
    content = {
        **product.request(),
        "record": product.record,
        "outputs": list(product.outputs),
        "inputs": list(product.inputs),
    }
    if not path.exists() or _read_or_none(path) != content:
        files.write_json(path, content)
    if current is None:
        current = product.is_current()
    os.utime(path, (_CURRENT, _CURRENT) if current else None)
    return str(path)


def _read_or_none(path: Path) -> Any:
    try:
        return files.read_json(path)
    except ValueError:
        return None


def record(request_path: Path | str, *, environment: Mapping[str, Any] | None = None) -> None:
    """Write the record of a product that has just been made.

    Args:
        request_path: the file that ``stage`` wrote.
        environment: what else a reader may want to know (versions, device, wall time); none for products
            that shall be the same bytes everywhere.
    """
    request = files.read_json(request_path)
    content = {
        "request": {key: request[key] for key in _REQUESTED if key in request},
        "inputs": checksums(request["inputs"]),
        "outputs": checksums(request["outputs"]),
    }
    if environment is not None:
        content["environment"] = dict(environment)
    files.write_json(request["record"], content)


def environment(*, packages: Sequence[str], seconds: float) -> dict[str, Any]:
    """Return who computed: versions, git revision, time of day and wall time."""
    return {
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in packages},
        "git": _git_state(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
    }


def _git_state() -> dict[str, Any] | None:
    """Return the revision and whether tracked files differ from it, or None outside a git checkout."""
    try:
        revision = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        status = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return {"revision": revision.stdout.strip(), "dirty": bool(status.stdout.strip())}


class Catalogue:
    """All products of a workflow run: stages their requests, knows which are current, and counts.

    Args:
        folder: where requests are kept.
        staged: whether this process works for another one that has staged the same products, and whose word
            is taken for which are current; what it has not staged is.
    """

    def __init__(self, folder: Path | str, *, staged: bool = False) -> None:
        self.folder = str(folder)
        self._staged = staged
        self._made: set[str] = set()
        self._current: set[str] = set()
        self._entries: list[tuple[str, Product, int | None]] = []

    def add(self, kind: str, product: Product) -> None:
        """Stage a product; ``kind`` is the plural that the summary counts it under.

        A product that reads others is current only if they are; they must have been added before.
        """
        request = Path(self.folder) / product.record
        if self._staged and request.exists():
            current = request.stat().st_mtime == _CURRENT
        else:
            current = all(self.is_current(path) for path in product.inputs if path in self._made)
            current = current and product.is_current()
            stage(product, self.folder, current=current)
        self._made.update(product.outputs)
        if current:
            self._current.update(product.outputs)
        self._entries.append((kind, product, _made_at(product)))

    def products(self, *kinds: str) -> list[Product]:
        """Return the products of these kinds, in the order in which they were added."""
        return [product for kind, product, _ in self._entries if kind in kinds]

    def is_current(self, path: str) -> bool:
        """Return whether a file is the output of a product that was current when it was added."""
        return path in self._current

    def summary(self) -> str:
        """Return, a line a kind, how many products came from the cache and how many were made since."""
        lines = []
        for kind in dict.fromkeys(kind for kind, _, _ in self._entries):
            entries = [(product, before) for other, product, before in self._entries if other == kind]
            made = sum(_made_at(product) not in (before, None) for product, before in entries)
            kept = sum(
                _made_at(product) == before and self.is_current(product.outputs[0])
                for product, before in entries
            )
            left = len(entries) - made - kept
            lines.append(
                f"{kind}: {kept} taken from the cache, {made} made now"
                + (f", {left} not up to date and not asked for" if left else "")
            )
        return "\n".join(lines)


def _made_at(product: Product) -> int | None:
    try:
        return os.stat(product.outputs[0]).st_mtime_ns
    except OSError:
        return None
