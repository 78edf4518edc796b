"""The report as one page in HTML that needs no other files."""

from __future__ import annotations

import base64
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from docutils.core import publish_parts
from markupsafe import Markup, escape
from PIL import Image

from shuffledp.reproduction.report.brackets import HEADINGS as BRACKETS
from shuffledp.reproduction.report.provenance import HEADINGS as PROVENANCE

# The colour class of each verdict, in the order in which verdicts are counted.
_TONES = {
    "reproduced": "good",
    "reproduced under a stated reading": "reading",
    "not reproduced": "bad",
    "not tested as stated": "open",
    "not computed": "open",
}
_THUMBNAIL = 360, 260  # largest width and height in pixels


@dataclass(frozen=True)
class Shown:
    """A figure of the report: paper and name, title, the picture in PNG, and its caption in
    reStructuredText."""

    paper: str
    name: str
    title: str
    picture: bytes
    caption: str

    @property
    def anchor(self) -> str:
        """The name by which the page links to the figure."""
        return f"{self.paper}-{self.name}"


def title(paper: str, name: str) -> str:
    """Return the title of a figure: "girgis2021, figure 2", or "beyond, shuffled gaussian"."""
    numbered = re.fullmatch(r"fig(\d+[a-z]?)(?:_(.*))?", name)
    words = " ".join(["figure", *filter(None, numbered.groups())]) if numbered else name
    return f"{paper}, {words.replace('_', ' ')}"


def render(
    template: Path | str,
    *,
    ledger: Sequence[Mapping[str, str]],
    rules: Mapping[str, str],
    figures: Sequence[Shown],
    brackets: Sequence[Mapping[str, str]],
    provenance: Sequence[Mapping[str, str]],
) -> str:
    """Return the report.

    Args:
        template: of the page.
        ledger: rows of the ledger (``ledger.claims.evaluate``).
        rules: of the ledger, by name.
        figures: to be shown paper by paper, those with a number first.
        brackets: rows with the keys of ``report.brackets.HEADINGS``.
        provenance: rows with the keys of ``report.provenance.HEADINGS``.

    Returns:
        A page in which everything except the captions' markup is escaped. Rows of the ledger link to the
        figures that they name, and figures link back to them.

    Raises:
        jinja2.UndefinedError: a row lacks a key.
        KeyError: a row has a rule that is not among ``rules``.
        ValueError: a row has a verdict that is not known.
    """
    unknown = {row["verdict"] for row in ledger} - _TONES.keys()
    if unknown:
        raise ValueError(f"the ledger has a verdict that the report does not know: {min(unknown)}")
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    page = environment.from_string(Path(template).read_text(encoding="utf-8"))
    linked = [_linked(row, figures) for row in ledger]
    named = {one.anchor: [str(row["id"]) for row, found in linked if one in found] for one in figures}
    numbers = Counter(row["verdict"] for row in ledger)
    return page.render(
        counts=[
            {"verdict": verdict, "tone": tone, "number": numbers[verdict]}
            for verdict, tone in _TONES.items()
            if numbers[verdict]
        ],
        papers=[
            {
                "paper": paper,
                "figures": [
                    _described(one, named[one.anchor])
                    for one in sorted(figures, key=lambda one: (not one.name.startswith("fig"), one.name))
                    if one.paper == paper
                ],
            }
            for paper in dict.fromkeys(one.paper for one in figures)
        ],
        ledger=[row for row, _ in linked],
        rules={name: rules[name] for name in dict.fromkeys(row["rule"] for row in ledger)},
        brackets=brackets,
        bracket_headings=BRACKETS,
        provenance=provenance,
        provenance_headings=PROVENANCE,
    )


def _described(figure: Shown, claims: Sequence[str]) -> dict[str, object]:
    return {
        "anchor": figure.anchor,
        "name": figure.title.removeprefix(f"{figure.paper}, "),
        "title": figure.title,
        "picture": _embedded(figure.picture),
        "thumbnail": _embedded(_small(figure.picture)),
        "caption": _html(figure.caption),
        "claims": claims,
    }


def _embedded(picture: bytes) -> str:
    return f"data:image/png;base64,{base64.b64encode(picture).decode('ascii')}"


def _small(picture: bytes) -> bytes:
    with Image.open(io.BytesIO(picture)) as image:
        image.thumbnail(_THUMBNAIL)
        small = io.BytesIO()
        image.save(small, "png", optimize=True)
    return small.getvalue()


def _html(caption: str) -> Markup:
    """Return a caption in HTML; docutils raises an error if the caption is not reStructuredText."""
    settings = {"halt_level": 2, "report_level": 2, "file_insertion_enabled": False, "raw_enabled": False}
    return Markup(publish_parts(caption, writer="html5", settings_overrides=settings)["fragment"])


def _linked(row: Mapping[str, str], figures: Sequence[Shown]) -> tuple[dict[str, object], list[Shown]]:
    """Return a row with links to the figures that it names, and these figures."""
    of_paper = {one.name: one for one in figures if one.paper == row["paper"]}
    parts, found = [], []
    for part in re.split(r"(\w+)", row["figure"]):
        one = of_paper.get(part)
        found += [one] if one else []
        parts.append(Markup('<a href="#{}">{}</a>').format(one.anchor, part) if one else escape(part))
    return {**row, "figure": Markup("").join(parts), "tone": _TONES[row["verdict"]]}, found
