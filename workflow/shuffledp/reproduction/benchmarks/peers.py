"""The script of the authors of feldman2021 for one round, which is fetched for comparison."""

from __future__ import annotations

import importlib.util
import logging
import os
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shuffledp.records import files

_COMMIT = "993d285a546114bf8c70c33d053dca322a755707"
_NAME = "computeamplification.py"
ADDRESS = f"https://raw.githubusercontent.com/apple/ml-shuffling-amplification/{_COMMIT}/{_NAME}"
SHA256 = "7fe8cc8f78ced53ea86e7f9483e6c09c0e18f367851f42b30ef96559f4c3d8a5"
VARIABLE = "SHUFFLEDP_PEERS"  # names the folder in which the script is kept
_FOLDER = "results/benchmarks/peers"
_STALL = 20.0  # seconds without an answer
_ITERATIONS, _STEP = 10, 100  # arguments of the example beside the script

_log = logging.getLogger(__name__)


def script(folder: Path | str | None = None, *, address: str = ADDRESS, digest: str = SHA256) -> Path | None:
    """Return the path of the script, which is fetched if it is missing, and checked.

    Args:
        folder: of the script; if None, that of the environment variable ``VARIABLE``, or else
            ``results/benchmarks/peers``.
        address: from which it is fetched.
        digest: its SHA-256.

    Returns:
        Its path; None, with a line in the log, if it is missing and cannot be fetched.

    Raises:
        ValueError: the file has another SHA-256.
    """
    path = Path(folder or os.environ.get(VARIABLE) or _FOLDER) / _NAME
    if not path.is_file():
        try:
            with (
                urllib.request.urlopen(address, timeout=_STALL) as answer,
                files.replacing(path) as temporary,
            ):
                temporary.write_bytes(answer.read())
                _check(temporary, address, digest)
        except OSError as error:
            _log.warning(
                "%s cannot be fetched (%s), and the comparison with it is left out; put it into %s by hand",
                address,
                error,
                path.parent,
            )
            return None
    _check(path, str(path), digest)
    return path


def _check(path: Path, shown: str, digest: str) -> None:
    found = files.sha256(path)
    if found != digest:
        raise ValueError(
            f"{shown} must have SHA-256 {digest}, got {found}; delete it, and it is fetched anew"
        )


def one_round(path: Path) -> Callable[..., float]:
    """Return a function of n, eps0 and delta: the script's upper bound on epsilon of one round of all.

    Args:
        path: of the script.
    """
    known = importlib.util.spec_from_file_location(path.stem, path)
    assert known is not None  # a path that ends in .py has one
    assert known.loader is not None
    module: Any = importlib.util.module_from_spec(known)
    known.loader.exec_module(module)

    def epsilon(*, n: int, eps0: float, delta: float) -> float:
        return float(module.numericalanalysis(n, eps0, delta, _ITERATIONS, _STEP, True))

    return epsilon
