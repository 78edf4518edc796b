"""Tables of results: CSV files whose bytes are equal if their numbers are."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from numpy.typing import ArrayLike

from shuffledp import rounding
from shuffledp.records import files

_EXACT = functools.partial(rounding.shown, kind="exact", digits=None)


def write_table(path: Path | str, columns: Mapping[str, ArrayLike] | pd.DataFrame) -> None:
    """Write columns of one length as CSV: "\\n" line ends, no index.

    Every number is written with enough digits to read the same double back, so that bounds in a table, and
    the points at which they were computed, are exactly the accountant's.
    """
    with files.replacing(path) as temporary:
        pd.DataFrame(columns).to_csv(temporary, index=False, float_format=_EXACT, lineterminator="\n")


def read_recorded(path: Path | str, *, needs: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a table like ``read_table``, if it is the one that the record beside it is of.

    A product is made again if it is not, but a run is not trained again unasked.

    Raises:
        ValueError: as for ``read_table``; or the record is missing or no record, or that of another table.
    """
    table = read_table(path, needs=needs)
    record = Path(path).with_suffix(".json")
    remedy = f"take both files from version control, or delete both and run: snakemake --cores 1 {path}"
    try:
        (made,) = files.read_json(record)["outputs"].values()
    except (ValueError, OSError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{record} is not the record of {path}; {remedy}") from None
    if files.sha256(path) != made:
        raise ValueError(f"{path} is not the table that was recorded in {record}; {remedy}")
    return table


def read_table(path: Path | str, *, needs: tuple[str, ...] = ()) -> pd.DataFrame:
    """Read a table that ``write_table`` wrote, with the same numbers.

    Args:
        path: of the table.
        needs: columns that it must have.

    Raises:
        ValueError: the file is missing, no CSV, empty, or lacks one of the columns in ``needs``; the
            message names the file and the remedy.
    """
    remedy = f"delete it if it is there and run: snakemake --cores 1 {path}"
    try:
        table = pd.read_csv(path)
    except FileNotFoundError:
        raise ValueError(f"there is no table {path}; {remedy}") from None
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} is not a table of results ({error}); {remedy}") from None
    missing = [name for name in needs if name not in table.columns]
    if missing or table.empty:
        what = f"lacks the column(s) {', '.join(missing)}" if missing else "has no rows"
        raise ValueError(f"{path} {what}; {remedy}")
    return table
