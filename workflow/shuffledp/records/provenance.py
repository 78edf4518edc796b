"""Provenance of a result: versions, the revision of the code, time of day and wall time."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

_PRODUCTS = tuple(f":(exclude){path}" for path in ("results", "figures", "docs/claims.*", "config/README.*"))


def environment(*, packages: Sequence[str], seconds: float) -> dict[str, Any]:
    """Return the environment of a result: versions, git revision, time of day and wall time.

    Args:
        packages: whose versions are recorded.
        seconds: wall time that the result took.
    """
    return {
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in packages},
        "git": git_state(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
    }


def git_state() -> dict[str, Any] | None:
    """Return the revision and whether tracked files differ from it, or None outside a git checkout.

    Files that the workflow itself writes do not count, since they do not decide the result.
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
