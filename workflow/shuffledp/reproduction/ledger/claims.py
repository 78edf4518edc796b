"""Claims, and how they are decided from cached curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pandas as pd

Verdict = Literal["reproduced", "reproduced under a stated reading", "not reproduced", "not computed"]

# Papers state ratios with two digits, often read off a plot.
TOLERANCE = 0.05


class CurveKey(NamedTuple):
    """Where a curve is: paper, figure, panel and accountant."""

    paper: str
    figure: str
    panel: str
    accountant: str


class RunKey(NamedTuple):
    """Where the history of a training run is: a folder, experiment and seed<k>."""

    folder: str
    experiment: str
    seed: str


Key = CurveKey | RunKey


class Decision(NamedTuple):
    """What came out: our value in words or digits, the verdict, and the reason for it."""

    ours: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    Attributes:
        id: short name, a letter for the paper and a number.
        paper: citation key.
        statement: what is claimed.
        stated: the value as the paper gives it.
        curves: the curves that decide it, by a name of their own.
        decide: from the tables of those curves to a decision.
    """

    id: str
    paper: str
    statement: str
    stated: str
    curves: Mapping[str, Key]
    decide: Callable[[Mapping[str, pd.DataFrame]], Decision]


_CLAIMS: list[Claim] = []


def claim(
    *, id: str, paper: str, statement: str, stated: str, curves: Mapping[str, Key]
) -> Callable[
    [Callable[[Mapping[str, pd.DataFrame]], Decision]], Callable[[Mapping[str, pd.DataFrame]], Decision]
]:
    """Enter the decorated function in the ledger; the fields are those of ``Claim``."""

    def enter(
        decide: Callable[[Mapping[str, pd.DataFrame]], Decision],
    ) -> Callable[[Mapping[str, pd.DataFrame]], Decision]:
        if any(known.id == id for known in _CLAIMS):
            raise ValueError(f"a claim {id!r} is in the ledger already")
        _CLAIMS.append(Claim(id, paper, statement, stated, curves, decide))
        return decide

    return enter


def claims() -> list[Claim]:
    """Return all claims, in the order in which they were entered."""
    return list(_CLAIMS)


def agrees(ours: float, stated: float) -> bool:
    """Return whether a value is within the ledger's tolerance (5%) of the stated one."""
    return abs(ours / stated - 1) <= TOLERANCE


def at(table: pd.DataFrame, **point: float) -> pd.Series:
    """Return the row of a curve at a point, such as rounds=1e5.

    Raises:
        ValueError: the curve has no such point, or several.
    """
    rows = table
    for name, value in point.items():
        rows = rows[rows[name] == value]
    if len(rows) != 1:
        raise ValueError(f"the curve has {len(rows)} rows at {point}; the claim needs exactly one")
    return rows.iloc[0]


def evaluate(table_of: Callable[[Key], pd.DataFrame | None]) -> pd.DataFrame:
    """Decide every claim.

    Args:
        table_of: reads the table of a curve; None where it has not been computed.

    Returns:
        One row a claim: id, paper, statement, stated, ours, verdict, reason.
    """
    rows = []
    for entry in claims():
        tables = {name: table_of(key) for name, key in entry.curves.items()}
        missing = ["/".join(entry.curves[name]) for name, table in tables.items() if table is None]
        if missing:
            decision = Decision("-", "not computed", f"needs {', '.join(missing)}")
        else:
            decision = entry.decide(tables)
        rows.append(
            {
                "id": entry.id,
                "paper": entry.paper,
                "statement": entry.statement,
                "stated": entry.stated,
                **decision._asdict(),
            }
        )
    return pd.DataFrame(rows)
