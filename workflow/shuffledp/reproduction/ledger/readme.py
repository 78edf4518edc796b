"""The ledger as a table in a Markdown file, between two markers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from shuffledp.records import files, tables
from shuffledp.records.provenance import Product

BEGIN, END = "<!-- ledger: begin (written by the workflow) -->", "<!-- ledger: end -->"
HEADINGS = {
    "id": "",
    "paper": "paper",
    "statement": "claim",
    "stated": "stated",
    "ours": "ours",
    "verdict": "verdict",
    "reason": "why",
}


def render(ledger: pd.DataFrame) -> str:
    """Return the ledger as a Markdown table."""
    lines = [
        "| " + " | ".join(HEADINGS.values()) + " |",
        "|" + "---|" * len(HEADINGS),
    ]
    for row in ledger.astype(str).to_dict("records"):
        lines.append("| " + " | ".join(row[column].replace("|", r"\|") for column in HEADINGS) + " |")
    return "\n".join(lines)


def with_ledger(text: str, ledger: pd.DataFrame) -> str:
    """Return ``text`` with the table between its markers replaced; appended with markers if there are none.

    Raises:
        ValueError: there is only one of the two markers.
    """
    block = f"{BEGIN}\n{render(ledger)}\n{END}"
    if BEGIN not in text and END not in text:
        return f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{block}\n"
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the text must have both markers, {BEGIN!r} and {END!r}, in this order, or neither")
    return before + block + after


def update(readme: Path | str, ledger_path: Path | str) -> None:
    """Bring the table in a Markdown file up to date; a file that does not exist is made."""
    path = Path(readme)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    files.write_text(path, with_ledger(text, tables.read_table(ledger_path)))


@dataclass(frozen=True)
class LedgerInReadme(Product):
    """The table in the README, current if the table that the ledger gives stands there.

    No record is kept: the README changes for other reasons too.
    """

    def is_current(self) -> bool:
        """Return whether updating would change nothing."""
        try:
            text = Path(self.outputs[0]).read_text(encoding="utf-8")
            return with_ledger(text, tables.read_table(self.inputs[0])) == text
        except (OSError, ValueError):
            return False
