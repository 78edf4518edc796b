"""What every script of the workflow does around its few lines: log, time, record, and fail readably."""

from __future__ import annotations

import logging
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shuffledp.records import files, provenance, refusals, requests

_LIBRARY = logging.getLogger("shuffledp")
CHECKPOINTS = "resources/checkpoints"


def usable_folder(path: Path | str) -> Path:
    """Return a folder, made if it is not there, in which a file was just written and deleted.

    Raises:
        OSError: it can't be made or written to.
    """
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        return folder


def checkpoint_of(product_path: Path | str, suffix: str) -> Path:
    """Return where the state of an unfinished product is kept; among results a failed job would lose it."""
    path = Path(product_path)
    folder = path.parent.as_posix().strip("/.").replace("/", "-")
    return Path(CHECKPOINTS) / f"{folder}-{path.stem}{suffix}"


class _Warnings(logging.Handler):
    """Prints warnings on standard error, and keeps them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(f"warning: {record.getMessage()}\n")
        print(self._lines[-1], end="", file=sys.stderr)

    def text(self) -> str:
        return "".join(self._lines)


@contextmanager
def logged(log: Path | str) -> Iterator[None]:
    """Turn an error into one line on standard error and exit status 1; the trace goes to ``log``.

    What the library warns of goes to both, and does not end the job.
    """
    path = Path(log)
    warnings = _Warnings()
    _LIBRARY.addHandler(warnings)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
        path.write_text(f"{warnings.text()}done\n", encoding="utf-8")
    except Exception as error:
        told = f"error: {_in_words(error)}"
        try:
            path.write_text(warnings.text() + traceback.format_exc(), encoding="utf-8")
            told += f" (trace in {path})"
        except OSError:  # what stops the job, such as a full disk, may stop its log
            pass
        print(told, file=sys.stderr)
        sys.exit(1)
    finally:
        _LIBRARY.removeHandler(warnings)


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return refusals.of_system(error)
    text = " ".join(str(error).split())
    if isinstance(error, ValueError | OSError) and text:
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@contextmanager
def making(
    request: Path | str, *, log: Path | str, packages: Sequence[str] | None = None
) -> Iterator[Mapping[str, Any]]:
    """Make a product: give the parameters of its request, and write its record once it is made.

    Args:
        request: the file that ``requests.stage`` wrote.
        log: the rule's log.
        packages: packages whose versions the record keeps, with the time taken; None for a product that
            shall be the same bytes everywhere, whose record keeps neither.
    """
    with logged(log):
        start = time.perf_counter()
        yield files.read_json(request)["parameters"]
        environment = None
        if packages is not None:
            environment = provenance.environment(packages=packages, seconds=time.perf_counter() - start)
        requests.record(request, environment=environment)


_MISSING = "missing provenance/metadata"
_EXPLAINED = (
    "This is no fault: those are Snakemake's own notes, of which a clone has none. What has to be made "
    "follows from the records beside the results (docs/howto/caching.md)."
)


def explain(record: logging.LogRecord) -> bool:
    """Add to what Snakemake says of missing notes that this workflow needs none; a filter that passes all."""
    message = record.getMessage()
    if _MISSING in message and _EXPLAINED not in message:
        record.msg, record.args = f"{message}\n{_EXPLAINED}", ()
    return True
