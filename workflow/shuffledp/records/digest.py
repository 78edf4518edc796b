"""Digests of the code that a product depends on, which do not depend on where the code lies.

The digest of a module is computed from two things: its text without comments, docstrings and the import lines
of this package; and, for each name that such an import binds, the name, the object's name in the module that
defines it, and the digest of that module. So a module may be moved to another folder or be renamed, and
no digest changes, while a change of one constant changes the digests of all modules that depend on it, and of
no others.

Only import statements are followed. If a module is imported by a name that is built at run time, the product
itself must name the module. A package's ``__init__`` that runs on the way to a submodule does not count,
since it only re-exports names: such a name counts as that of the module which defines it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from shuffledp.records import files

PACKAGE = "shuffledp"


@dataclass(frozen=True, order=True)
class _Binding:
    """A name that an import of this package binds.

    Attributes:
        scope: the function or class with the import, with those around it; "" for the module.
        alias: the name.
        module: the module that it is imported from.
        attribute: the name there; "" if the module itself is imported.
    """

    scope: str
    alias: str
    module: str
    attribute: str


@dataclass(frozen=True)
class _Code:
    """The part of a file that counts: its text without explanations and imports, and what imports bind."""

    text: bytes
    bindings: tuple[_Binding, ...]


def _path(module: str) -> Path | None:
    """Return the file of a module of this package, without importing it; None if there is none."""
    first, *rest = module.split(".")
    spec = importlib.util.find_spec(first) if first == PACKAGE else None
    if spec is None or not spec.submodule_search_locations:
        return None
    base = Path(spec.submodule_search_locations[0]).joinpath(*rest)
    found = (base / "__init__.py", base.with_name(f"{base.name}.py") if rest else base / "__init__.py")
    return next((path for path in found if path.is_file()), None)


@functools.cache
def _module(name: str) -> _Code | None:
    path = _path(name)
    if path is None:
        return None
    source = path.read_bytes()
    return _code(source, PACKAGE) if _KEPT is None else _KEPT.code(source)


class _Kept:
    """A cache, in a file, of the parts of source files that count, by the SHA-256 of their bytes.

    Args:
        path: the file; content that was written by another rule or another Python is ignored.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        own = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
        self._rule = f"{PACKAGE} {own} {sys.version_info.major}.{sys.version_info.minor}"
        self._known: dict[str, _Code] = {}
        self._used: dict[str, _Code] = {}
        try:
            content = files.read_json(path)
            if content["rule"] == self._rule:
                self._known = {key: _read(kept) for key, kept in content["code"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass  # without the cache everything is computed anew

    def code(self, source: bytes) -> _Code:
        """Return the part of a source file that counts."""
        key = hashlib.sha256(source).hexdigest()
        self._used[key] = self._known.get(key) or _code(source, PACKAGE)
        return self._used[key]

    def save(self) -> None:
        """Write the entries that were used, if any of them is new."""
        if self._used.keys() - self._known.keys():
            code = {
                key: [one.text.decode("latin-1"), [list(astuple(binding)) for binding in one.bindings]]
                for key, one in self._used.items()
            }
            files.write_json(self._path, {"rule": self._rule, "code": code})


def _read(kept: Sequence[Any]) -> _Code:
    text, bindings = kept
    return _Code(text.encode("latin-1"), tuple(_Binding(*binding) for binding in bindings))


_KEPT: _Kept | None = None


@contextmanager
def kept(path: Path | str) -> Iterator[None]:
    """Within the block, use the cache in a file that an earlier process may have written, then write it anew.

    Parsing the sources takes longer than all other planning. The digests are the same without the cache.

    Args:
        path: of the cache, which need not exist.

    Raises:
        OSError: the file cannot be written.
    """
    global _KEPT
    before, _KEPT = _KEPT, _Kept(Path(path))
    try:
        yield
        _KEPT.save()
    finally:
        _KEPT = before


def forget() -> None:
    """Clear all caches in memory, so that later edits of source files count in this process."""
    _module.cache_clear()
    _defined.cache_clear()
    _digests.cache_clear()
    code_digest.cache_clear()


def modules_behind(modules: Iterable[str], without: Iterable[str] = ()) -> list[str]:
    """Return the sorted modules of this package that the given ones depend on, these included.

    Args:
        modules: full names.
        without: modules that do not count, as do those on which they alone depend.
    """
    return sorted(_behind(modules, frozenset(without)))


def _behind(modules: Iterable[str], without: frozenset[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        code = _module(module)
        if module not in found and module not in without and code is not None:
            found.add(module)
            waiting.extend(_defined(binding)[0] for binding in code.bindings)
    return found


@functools.cache
def _defined(binding: _Binding) -> tuple[str, str]:
    """Return the module that defines a binding's object, and the object's name there ("" for a module)."""
    place = binding.module, binding.attribute
    passed: set[tuple[str, str]] = set()
    while place[1] and place not in passed:
        passed.add(place)
        code = _module(place[0])
        for one in code.bindings if code is not None else ():
            # a package that imports its own submodule binds the submodule's name to itself
            if (one.scope, one.alias) == ("", place[1]) and (one.module, one.attribute) != place:
                place = one.module, one.attribute
                break
    if place[1] and _path(".".join(place)) is not None:
        return ".".join(place), ""
    return place


class _Digests:
    """Digests of modules, each computed once.

    Args:
        without: modules that do not count.
    """

    def __init__(self, without: frozenset[str]) -> None:
        self._without = without
        self._known: dict[str, bytes] = {}
        self._reach: dict[str, set[str]] = {}

    def of(self, module: str) -> bytes:
        """Return the digest of a module; empty if it does not count or is not of this package.

        Modules that import each other are digested together, in as many passes as there are modules: in each
        pass, every module by its text and the digests that the modules it imports have so far.
        """
        if module in self._without or _module(module) is None:
            return b""
        if module not in self._known:
            circle = [other for other in self._reached(module) if module in self._reached(other)]
            found = dict.fromkeys(circle, b"")
            for _ in found:
                found = {name: self._digest(name, found) for name in found}
            self._known |= found
        return self._known[module]

    def _digest(self, module: str, circle: dict[str, bytes]) -> bytes:
        code = _module(module)
        assert code is not None  # of() has checked it
        entries = []
        for binding in code.bindings:
            target, attribute = _defined(binding)
            behind = circle[target] if target in circle else self.of(target)
            entries.append(f"{binding.scope}\0{binding.alias}\0{attribute}\0{behind.hex()}")
        return hashlib.sha256(b"\0\0".join([code.text, *(one.encode() for one in sorted(entries))])).digest()

    def _reached(self, module: str) -> set[str]:
        if module not in self._reach:
            self._reach[module] = _behind([module], self._without)
        return self._reach[module]


@functools.cache
def _digests(without: frozenset[str]) -> _Digests:
    return _Digests(without)


@functools.cache
def code_digest(modules: tuple[str, ...], without: tuple[str, ...] = ()) -> str:
    """Return a digest of the code that the given modules of this package depend on.

    Comments and docstrings do not count, so that better explanations of a training loop do not rerun it. The
    place of the code does not count either.

    Args:
        modules: full names.
        without: modules that do not count, since they decide no number.
    """
    digests = _digests(frozenset(without))
    each = sorted(digests.of(module) for module in set(modules) - set(without))
    return hashlib.sha256(b"\0".join(each)).hexdigest()[:16]


# Cached by content, since hundreds of products depend on the same modules.
@functools.cache
def _code(source: bytes, package: str) -> _Code:
    """Return the part of a Python file that counts, without the import lines of ``package``.

    The text is cut by position and not printed from a syntax tree, whose form depends on the Python version.
    """
    lines = source.splitlines()
    found = _Found(package)
    found.walk(ast.parse(source), scope="", runs=True)
    inside_strings: set[int] = set()
    for string in found.strings:
        inside_strings.update(range(string.lineno, string.end_lineno or string.lineno))
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type == tokenize.COMMENT:
            row = token.start[0] - 1
            lines[row] = token.line[: token.start[1]].encode("utf-8")
    for node in sorted(found.cut, key=lambda node: (node.lineno, node.col_offset), reverse=True):
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
    return _Code(b"\n".join(kept), tuple(sorted(found.bindings)))


def _names(node: ast.AST, package: str) -> list[tuple[str, str, str]]:
    """Return alias, module and attribute of each name that an import of the package binds."""
    found = []
    if isinstance(node, ast.Import):
        found = [(alias.asname or alias.name, alias.name, "") for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        found = [(alias.asname or alias.name, node.module, alias.name) for alias in node.names]
    return [entry for entry in found if entry[1].split(".")[0] == package and entry[1:] != (package, "")]


class _Found:
    """What one walk through a syntax tree finds; separate walks would take most of the time of a dry run.

    Args:
        package: the package whose imports count.

    Attributes:
        cut: docstrings and imports of the package.
        strings: other strings.
        bindings: what imports bind when the module runs; imports for a type checker alone do not count.
    """

    def __init__(self, package: str) -> None:
        self._package = package
        self.cut: list[ast.stmt | ast.expr] = []
        self.strings: list[ast.expr] = []
        self.bindings: list[_Binding] = []

    def walk(self, node: ast.AST, scope: str, *, runs: bool) -> None:
        """Go through a node and its children; ``runs`` says whether the node is run when the module is."""
        left_out = None
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = _names(node, self._package)
            if names:
                self.cut.append(node)
            if runs:
                self.bindings.extend(_Binding(scope, *name) for name in names)
            return
        if isinstance(node, ast.JoinedStr | ast.Constant):
            if isinstance(node, ast.JoinedStr) or isinstance(node.value, str | bytes):
                self.strings.append(node)
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            left_out = _docstring(node)
            if left_out is not None:
                self.cut.append(left_out)
            if not isinstance(node, ast.Module):
                scope = f"{scope}.{node.name}"
        elif isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for unrun in (node.test, *node.body):
                self.walk(unrun, scope, runs=False)
            for other in node.orelse:
                self.walk(other, scope, runs=runs)
            return
        for name in node._fields:
            below: object = getattr(node, name, None)
            for child in below if isinstance(below, list) else (below,):
                # names of contexts and operators have no fields
                if not isinstance(child, ast.AST) or not child._fields:
                    continue
                if left_out is None or getattr(child, "value", None) is not left_out:
                    self.walk(child, scope, runs=runs)


def _docstring(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
) -> ast.Constant | None:
    first = node.body[0] if node.body else None
    value = first.value if isinstance(first, ast.Expr) else None
    return value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
