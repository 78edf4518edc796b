"""Recovery from a crash: find out who holds the directory and which products are whole, and run again.

python -m shuffledp.reproduction.recovery                          runs the command that was killed
python -m shuffledp.reproduction.recovery --cores 2 all_figures    runs another one

Snakemake alone refuses a directory that a killed run has locked, and files that it marked as incomplete; the
records beside the results tell which of these are whole.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

from shuffledp.records import files, locks, refusals
from shuffledp.records.product import Product

FOLDER = Path(".snakemake")
_NOTE, _KEYS = "run.json", {"host", "pid", "started", "arguments"}
_RESUMING = "resume.lock"
_POLL = 1.0  # seconds
_DYING = 10.0  # seconds within which a killed process has to be gone


class HeldError(Exception):
    """The directory is in use, or may be in use from another machine."""


def begin(arguments: Sequence[str], *, folder: Path | str = FOLDER) -> None:
    """Write a note of this process and its command, which ``end`` removes; to be called once a run holds the
    directory.

    The note keeps those of other commands that did not end well before, as "before".

    Args:
        arguments: those of Snakemake.
        folder: of Snakemake's state.
    """
    me = psutil.Process()
    note = {
        "host": socket.gethostname(),
        "pid": me.pid,
        # together with the process number this is unique, even after the next boot
        "started": me.create_time(),
        "arguments": list(arguments),
    }
    before = _other(noted(folder), list(arguments))
    files.write_json(Path(folder) / _NOTE, note if before is None else {**note, "before": before})


def _other(note: dict[str, Any] | None, arguments: list[str]) -> dict[str, Any] | None:
    """Return the note without the runs of a command, which a new run of that command takes up."""
    if note is None:
        return None
    before = _other(note.get("before"), arguments)
    if note["arguments"] == arguments:
        return before
    rest = {key: value for key, value in note.items() if key != "before"}
    return rest if before is None else {**rest, "before": before}


def end(*, folder: Path | str = FOLDER) -> None:
    """Remove this process's note, since its run ended well and nothing of it is left to do."""
    note = noted(folder)
    if note is not None and note["pid"] == os.getpid():
        _remove(note, folder)


def _remove(note: dict[str, Any], folder: Path | str) -> None:
    """Remove the note of a command, and put that of the command before in its place, if there is one."""
    if "before" in note:
        files.write_json(Path(folder) / _NOTE, note["before"])
    else:
        (Path(folder) / _NOTE).unlink(missing_ok=True)


def noted(folder: Path | str = FOLDER) -> dict[str, Any] | None:
    """Return the note of a run that has not ended well; None if there is none."""
    try:
        note = json.loads((Path(folder) / _NOTE).read_bytes())
    except (OSError, ValueError):  # there is none, or a power cut has torn it
        return None
    return note if isinstance(note, dict) and note.keys() >= _KEYS else None


def check_free(note: dict[str, Any] | None) -> None:
    """Make sure that no live process holds this directory.

    Args:
        note: of the last run.

    Raises:
        HeldError: a run goes on here; or a run was begun on another machine, where this cannot be checked,
            and has left its lock.
    """
    if note is not None and note["host"] != socket.gethostname() and is_locked():
        raise HeldError(
            f"the last run was begun on {note['host']}, and whether it still goes on cannot be seen from "
            f"{socket.gethostname()}: go on there, or make sure that it has ended and delete {FOLDER / _NOTE}"
        )
    if note is not None and _lives(note["pid"], note["started"]):
        raise HeldError(f"the last run still goes on as process {note['pid']}; wait for it or stop it")
    for process in _processes_here():
        if _is_snakemake(process) and not _is_job(process):
            raise HeldError(
                f"Snakemake runs in this directory as process {process.pid}; wait for it or stop it"
            )


def _lives(pid: int, started: float) -> bool:
    try:
        process = psutil.Process(pid)
        # to the second, since the clock may have been adjusted in between
        return process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - started) < 1
    except psutil.Error:
        return False


def jobs_left() -> list[int]:
    """Return the processes of jobs in this directory that outlive the run which began them."""
    return [process.pid for process in _processes_here() if _is_job(process)]


def _processes_here() -> Iterator[psutil.Process]:
    here = os.path.realpath(Path.cwd())
    for process in psutil.process_iter():
        try:
            mine = process.pid != os.getpid() and os.path.realpath(process.cwd()) == here
            if mine and process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except psutil.Error:  # the process has ended, or is another user's
            continue


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _is_snakemake(process: psutil.Process) -> bool:
    # as python -m snakemake, or as the console script, which Python runs by its path
    return "snakemake" in [Path(word).name for word in _words(process)[:3]]


def _is_job(process: psutil.Process) -> bool:
    words = _words(process)
    if "--mode" in words:  # Snakemake runs itself for jobs, on a cluster or locally
        return words[words.index("--mode") + 1] in ("remote", "subprocess")
    return any(f"{FOLDER}/scripts/" in word for word in words)


def is_locked(folder: Path | str = FOLDER) -> bool:
    """Return whether Snakemake's lock exists."""
    return any((Path(folder) / "locks").glob("*.lock"))


def made_whole(since: float, folder: Path | str = FOLDER) -> list[str]:
    """Return the files of whole products that were made since a time.

    Snakemake takes a product for incomplete if its job outlived Snakemake. The product's record shows that it
    is whole, since it is written last and has the checksums of all other files.
    """
    found = []
    for path in sorted((Path(folder) / "requests").rglob("*.json")):
        request = _request(path)
        record = Path(request.get("record", ""))
        if record.is_file() and record.stat().st_mtime >= since:
            product = Product.from_request(request)
            if product.is_current():
                found += [*product.outputs, product.record]
    return found


def _request(path: Path) -> dict[str, Any]:
    try:
        return files.read_json(path)
    except ValueError:  # a power cut has torn the file
        return {}


def resume(arguments: Sequence[str] | None = None) -> int:
    """Clear the lock and notes of a dead run, and run Snakemake; return its exit status.

    Args:
        arguments: of Snakemake; None for those of the run that did not end well, if there is one.

    Raises:
        HeldError: a live process holds the directory.
    """
    with _alone():
        return _resume(arguments)


@contextmanager
def _alone() -> Iterator[None]:
    """Keep other processes from resuming here at the same time."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locks.held(FOLDER / _RESUMING, wait=False))
        except BlockingIOError:
            raise HeldError("another resume goes on in this directory; wait for it or stop it") from None
        yield


def _resume(arguments: Sequence[str] | None) -> int:
    note = noted()
    patient_until = time.monotonic() + _DYING
    while True:
        try:
            check_free(note)
            break
        except HeldError:
            if time.monotonic() > patient_until:
                raise
            time.sleep(_POLL)
    if arguments is None and note is None and not is_locked():
        print("Nothing to resume: no run was cut off here.")
        return 0
    wanted = note["arguments"] if arguments is None and note is not None else arguments or ["--cores", "all"]
    while left := jobs_left():
        print(f"Waiting for what the dead run left running: process {', '.join(map(str, left))}", flush=True)
        while any(psutil.pid_exists(pid) for pid in left) and set(left) & set(jobs_left()):
            time.sleep(_POLL)
        check_free(noted())  # another run may have begun in between
    if is_locked():
        print("Clearing the lock of a run that is gone.", flush=True)
        _snakemake(*_configured(wanted), "--unlock", quiet=True)
    whole = made_whole(note["started"]) if note is not None else []
    if whole:
        # it fails for files without metadata, but only after it has cleaned the others
        _snakemake(*_configured(wanted), "--cleanup-metadata", *whole, quiet=True, check=False)
    print(f"Going on: snakemake {' '.join(wanted)}", flush=True)
    status = _snakemake(*wanted, check=False)
    # a run that finds nothing to do leaves the note alone, and another command may have left its work undone
    if status == 0 and note is not None and noted() == note and list(wanted) == note["arguments"]:
        _remove(note, FOLDER)
    return status


def _configured(arguments: Sequence[str]) -> list[str]:
    """Return those of Snakemake's arguments that name configuration files."""
    if "--configfile" not in arguments:
        return []
    first = arguments.index("--configfile") + 1
    names = []
    for word in arguments[first:]:
        if word.startswith("-") or not Path(word).is_file():
            break
        names.append(word)
    return ["--configfile", *names]


def _snakemake(*arguments: str, quiet: bool = False, check: bool = True) -> int:
    sink = subprocess.DEVNULL if quiet else None
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments], stdout=sink, stderr=sink, check=False
    )
    if check and done.returncode:
        raise HeldError(f"snakemake {' '.join(arguments)} failed; run it by hand to see why")
    return done.returncode


def main() -> None:
    """Run ``resume`` with the arguments of the command line, if any; errors are one line."""
    try:
        status = resume(sys.argv[1:] or None)
    except HeldError as error:
        print(f"error: {error}", file=sys.stderr)
        status = 1
    except OSError as error:
        print(f"error: {refusals.of_system(error)}", file=sys.stderr)
        status = 1
    sys.exit(status)


if __name__ == "__main__":
    main()
