"""Pages in HTML that need nothing but themselves: one table each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2


def render(
    template: Path | str,
    *,
    title: str,
    about: str,
    headings: Mapping[str, str],
    rows: Sequence[Mapping[str, str]],
    folded: Sequence[str] = (),
) -> str:
    """Return a page with a table.

    Args:
        template: of the page.
        title: of the page.
        about: a sentence or two above the table.
        headings: what to show, in order: the rows' keys with the headings of their columns.
        rows: what the table holds; everything is escaped.
        folded: keys whose cells are long and stay folded until they are asked for.

    Raises:
        jinja2.UndefinedError: a row lacks a key.
    """
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    page = environment.from_string(Path(template).read_text(encoding="utf-8"))
    return page.render(title=title, about=about, headings=headings, rows=rows, folded=folded)
