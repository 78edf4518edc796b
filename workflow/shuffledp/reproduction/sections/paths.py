"""Where the workflow writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from shuffledp.records import refusals
from shuffledp.reproduction.sections.faults import Fault
from shuffledp.reproduction.sections.model import Section

Below = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$")]


class Paths(Section):
    """Where the workflow writes, relative to the repository."""

    results: Below
    """Folder of the cached results (CSV and records)."""
    figures: Below
    """Folder of the figures."""
    ledger: Below
    """Page of the claims (Markdown), whose record stands beside it; not claims.* in the folder of the
    results, where the table of the claims and its record stand."""


def wrong_path(paths: Mapping[str, str]) -> Fault | None:
    """Return the fault of a path that cannot be a product's, since a file is in the place of a folder, or the
    other way round; None if there is none."""
    for key, value in paths.items():
        is_file = key == "ledger"
        if is_file and Path(value).is_dir():
            return ["paths", key], f"{key} must be a file, got {value!r}, which is a folder"
        if is_file and Path(value).with_suffix("") == Path(paths["results"], "claims"):
            return ["paths", key], (
                f"{key} must not be claims.* in the folder of the results, got {value!r}: the table of the "
                f"claims and its record stand there; write {paths['results']}/pages/claims.md, for instance"
            )
        # a read-only copy may still be queried
        why_not = refusals.of_folder(str(Path(value).parent) if is_file else value, written=False)
        if why_not:
            return ["paths", key], f"{'the folder of ' if is_file else ''}{key} {why_not}"
    return None
