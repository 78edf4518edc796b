"""Tables that are read only if they are the ones that were recorded."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from shuffledp.records import files, tables


def read(path: Path | str, *, needs: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a table like ``tables.read_table``, if it is the one that the record beside it is of.

    A product is made again if it is not, but a run is not trained again unasked.

    Raises:
        ValueError: as for ``tables.read_table``; or the record is missing, is none, or is of another table.
    """
    table = tables.read_table(path, needs=needs)
    record = Path(path).with_suffix(".json")
    remedy = f"take both files from version control, or delete both and run: snakemake --cores 1 {path}"
    try:
        (made,) = files.read_json(record)["outputs"].values()
    except (ValueError, OSError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{record} is not the record of {path}; {remedy}") from None
    if files.sha256(path) != made:
        raise ValueError(f"{path} is not the table that was recorded in {record}; {remedy}")
    return table
