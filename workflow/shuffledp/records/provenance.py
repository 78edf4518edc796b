"""What was computed, by which code, from what: records beside the results, and whether they still hold.

A product (a curve, a figure, a ledger) is made on a request: its parameters and a digest of the library code
that it depends on (``digest``). The record beside it keeps the request and the checksums of what went in and
came out. A product is current if its record has the parameters and the digest of the request and the
checksums of the files: this is decided by content alone, so that it holds in a fresh clone, where times of
modification mean nothing. The modules that a record names are for the reader: they may have been moved since.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from shuffledp.records import digest, files

_CURRENT = 1  # when the request of a current product is dated: seconds after the beginning of time
_REQUESTED = ("parameters", "modules", "without", "code")
_DECIDING = ("parameters", "code")
_PRODUCTS = tuple(f":(exclude){path}" for path in ("results", "figures", "docs/claims.*", "config/README.*"))


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
        return {**asked, "code": digest.code_digest(tuple(self.modules), tuple(self.without))}

    @classmethod
    def from_request(cls, content: Mapping[str, Any]) -> Product:
        """Return the product that a request asks for.

        Args:
            content: what ``stage`` wrote.

        Raises:
            TypeError: the content names no record, parameters, modules or outputs.
        """
        known = {entry.name for entry in fields(cls)}
        return cls(**{key: value for key, value in content.items() if key in known})

    def is_current(self) -> bool:
        """Return whether outputs and record are there and match the request, the inputs and each other."""
        try:
            record = files.read_json(self.record)
            request = self.request()
            return (
                all(record["request"][key] == request[key] for key in _DECIDING)
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
        "git": git_state(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
    }


def git_state() -> dict[str, Any] | None:
    """Return the revision and whether tracked files differ from it, or None outside a git checkout.

    What the workflow itself writes does not count: results that were made a moment ago decide nothing.
    """
    try:
        revision = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        status = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=no", "--", ".", *_PRODUCTS],
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
