"""The origin of each result, from the records beside the results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

HEADINGS = {
    "result": "result",
    "code": "code digest",
    "current": "code as now",
    "seed": "seed",
    "device": "device",
    "versions": "versions",
    "seconds": "seconds",
    "finished": "finished",
    "git": "git revision",
    "parameters": "parameters",
}


def described(record: Mapping[str, Any], *, name: str, code: str) -> dict[str, str]:
    """Return a row of the table of provenance.

    Args:
        record: as written by ``requests.record``.
        name: of the record's file.
        code: the digest of the present code.

    Returns:
        What was made, whether the code has changed since, the digest of the code that made it, versions,
        device, seed, seconds, time, git revision, and all parameters as JSON. Entries that a record does not
        have are empty: figures, which are the same wherever they are drawn, record neither versions nor
        times.
    """
    request, environment = record["request"], record.get("environment", {})
    versions = {"python": environment["python"], **environment["versions"]} if environment else {}
    device = environment.get("device", {})
    git = environment.get("git") or {}
    return {
        "result": name.removesuffix(".json"),
        "code": request["code"],
        "current": "yes" if request["code"] == code else "no: the code has changed since",
        "seed": str(request["parameters"].get("seed", "")),
        "device": f"{device['name']}, {device['threads']} thread(s)" if device else "",
        "versions": ", ".join(f"{package} {version}" for package, version in versions.items()),
        "seconds": f"{environment['seconds']:g}" if environment else "",
        "finished": environment.get("finished", ""),
        "git": f"{git['revision'][:10]}{' with changes' if git['dirty'] else ''}" if git else "",
        "parameters": json.dumps(request["parameters"], indent=1, sort_keys=True),
    }
