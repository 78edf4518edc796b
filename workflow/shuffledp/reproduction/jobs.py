"""What all scripts of the workflow share: they log, measure time, write records, and fail with one line."""

from __future__ import annotations

import logging
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shuffledp.records import files, provenance, refusals, requests

_LIBRARY = logging.getLogger("shuffledp")
CHECKPOINTS = "resources/checkpoints"


def checkpoint_of(product_path: Path | str, suffix: str) -> Path:
    """Return the path of the state of an unfinished product. It is not among the results, whose files
    Snakemake deletes when a job fails."""
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

    Warnings of the library go to both, and do not end the job.
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
        except OSError:  # the cause of the failure, such as a full disk, may prevent the log
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
def running(
    request: Path | str, *, log: Path | str, packages: Sequence[str] | None = None
) -> Iterator[Mapping[str, Any]]:
    """Yield the parameters of a product's request, and write its record after the block.

    Args:
        request: the file that ``requests.stage`` wrote.
        log: the rule's log.
        packages: packages whose versions the record keeps, with the time taken; None for a product whose
            bytes have to be the same everywhere, so that its record keeps neither.
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
    "This is not an error: a clone has none of Snakemake's own notes. What has to be made follows from the "
    "records beside the results (docs/howto/caching.md)."
)


def explain(record: logging.LogRecord) -> bool:
    """Add to Snakemake's message on missing notes that this workflow needs none. It is a logging filter that
    lets every record pass."""
    message = record.getMessage()
    if _MISSING in message and _EXPLAINED not in message:
        record.msg, record.args = f"{message}\n{_EXPLAINED}", ()
    return True
