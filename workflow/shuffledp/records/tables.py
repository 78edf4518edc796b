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
