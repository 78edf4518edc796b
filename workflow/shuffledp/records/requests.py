"""Requests, on which products are made, and the records that are written beside them afterwards."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shuffledp.records import files
from shuffledp.records.product import Product, checksums

_CURRENT = 1  # the time of modification of a current product's request, in seconds since 1970
_REQUESTED = ("parameters", "modules", "without", "code")


def stage(product: Product, folder: Path | str, *, current: bool | None = None) -> str:
    """Write the product's request to a file that a make-like tool can use as an input.

    The file is dated 1970 if the product is current, and newer than its outputs if it is not, so that
    comparing times of modification gives the right answer.

    Args:
        product: the product.
        folder: of the requests, which is never tracked.
        current: whether the product is current; None to decide by the product alone.

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


def is_of_current(path: Path) -> bool:
    """Return whether a request says that its product was current when it was staged."""
    return path.stat().st_mtime == _CURRENT


def record(request_path: Path | str, *, environment: Mapping[str, Any] | None = None) -> None:
    """Write the record of a product that has just been made.

    Args:
        request_path: the file that ``stage`` wrote.
        environment: further information for readers (versions, device, wall time); None for products whose
            bytes have to be the same everywhere.
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
