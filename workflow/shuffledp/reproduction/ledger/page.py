"""The ledger as a page in Markdown: counts, a table a paper, each claim in full, and the rules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import get_args

import pandas as pd

from shuffledp.reproduction.ledger.claims import RULES, Verdict

# Columns of a paper's table, and what stands above them.
_BRIEF = {"statement": "claim", "stated": "stated", "ours": "ours", "verdict": "verdict"}
_ABOUT = (
    "What the papers state in numbers or as an order, what comes out here, and why they differ where they "
    "do. The page is made from `results/claims.csv`, which is computed from the cached curves and the "
    "recorded runs: each row by one function in `workflow/shuffledp/reproduction/ledger/`, which also names "
    "the curves that it reads. Below its table each claim is told in full."
)


def counts(ledger: pd.DataFrame) -> dict[str, int]:
    """Return the number of claims by verdict, the best first; verdicts of no claim are left out."""
    found = ledger["verdict"].value_counts()
    return {verdict: int(found[verdict]) for verdict in get_args(Verdict) if verdict in found}


def summary(ledger: pd.DataFrame) -> str:
    """Return the counts in words."""
    return f"{len(ledger)} claims: {', '.join(f'{count} {name}' for name, count in counts(ledger).items())}"


def render(ledger: pd.DataFrame, figures: Mapping[str, str]) -> str:
    """Return the page.

    Args:
        ledger: one row for each claim, as returned by ``evaluate``.
        figures: maps "<paper>/<figure>" to the path of the picture, relative to the page.
    """
    rows = ledger.astype(str).to_dict("records")
    papers = list(dict.fromkeys(row["paper"] for row in rows))
    lines = ["# Do the papers' numbers come out?", "", _ABOUT, "", f"{summary(ledger)}.", ""]
    verdicts = list(counts(ledger))
    by_paper = [
        [
            paper,
            *(
                str(sum(row["paper"] == paper and row["verdict"] == name for row in rows))
                for name in verdicts
            ),
        ]
        for paper in papers
    ]
    lines += _table(["paper", *verdicts], by_paper)
    for paper in papers:
        lines += ["", f"## {paper}", ""]
        mine = [row for row in rows if row["paper"] == paper]
        brief = [[f"[{row['id']}](#{row['id'].lower()})", *(row[name] for name in _BRIEF)] for row in mine]
        lines += _table(["", *_BRIEF.values()], brief)
        for row in mine:
            lines += ["", *_in_full(row, figures)]
    lines += ["", "## Rules", "", "By these the claims are decided; each row names its own.", ""]
    lines += _table(["rule", "what it asks"], [[name, text] for name, text in RULES.items()])
    return "\n".join(lines) + "\n"


def _in_full(row: Mapping[str, str], figures: Mapping[str, str]) -> list[str]:
    return [
        f"### {row['id']}",
        "",
        f"{row['statement']}.",
        "",
        f'- **{row["verdict"]}**, by the rule "{row["rule"]}"',
        f"- stated: {row['stated']}",
        f"- ours: {row['ours']}",
        f"- why: {row['reason']}",
        f"- setting: {row['setting']}",
        f"- figure: {_linked(row['paper'], row['figure'], figures)}",
    ]


def _linked(paper: str, shown: str, figures: Mapping[str, str]) -> str:
    """Return the figures and panels, as links where they exist."""

    def link(one: str) -> str:
        name = re.match(r"\w+", one)
        path = figures.get(f"{paper}/{name[0]}") if name else None
        return f"[{one}]({path})" if path else one

    return "; ".join(link(one) for one in shown.split("; "))


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    return [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)] + [
        f"| {' | '.join(row)} |" for row in cells
    ]
