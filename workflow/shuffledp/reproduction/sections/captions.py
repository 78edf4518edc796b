"""Captions: words on what a figure shows and which choices were made; those of a paper have a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from shuffledp.reproduction.sections.faults import hint
from shuffledp.reproduction.sections.model import LEFT_OUT, By, Section
from shuffledp.reproduction.sections.places import fault, refuse_repeated
from shuffledp.reproduction.sections.reading import caption_files, overlay, read


class Caption(Section):
    """The caption of one figure."""

    shows: str
    """What the figure shows, one sentence or more."""
    neighbours: str = LEFT_OUT
    """Which data sets are neighbours, and who is the privacy unit; left out of figures that say nothing of
    privacy alone."""
    choices: list[str] = Field(default=[])
    """What differs from the paper, and every choice made where it leaves the setting open."""


OfPaper = Annotated[dict[str, Caption], By("figure"), Field(description="Captions of one paper.")]
Captions = Annotated[
    dict[str, OfPaper],
    By("paper"),
    Field(
        description="Captions: papers by citation key, then figures by name. Those of a paper stand in the "
        "file "
        "captions/<paper>.yaml beside the configuration, figures by name; what stands here goes before it."
    ),
]


def with_captions(data: dict[str, Any], papers: Iterable[str], files: Sequence[str]) -> dict[str, Any]:
    """Return a configuration with the captions of these papers added from the papers' own files.

    Raises:
        ValueError: a file cannot be read.
    """
    found: dict[str, Any] = {}
    for paper in papers:
        for name in caption_files(paper, files):
            if Path(name).exists():
                refuse_repeated(name)
                found[paper] = overlay(found.get(paper, {}), read(name))
    return {**data, "captions": overlay(found, data.get("captions", {}))}


def check_captions(
    captions: Mapping[str, Mapping[str, Caption]],
    declared: Iterable[tuple[Sequence[str], str, str]],
    files: Sequence[str],
) -> None:
    """Make sure that each figure has a caption, and each caption a figure.

    Args:
        captions: by paper and name.
        declared: key, paper and name of each figure.
        files: the files of the configuration.

    Raises:
        ValueError: naming the caption or the figure, its line and the remedy.
    """
    places = {(paper, name): at for at, paper, name in declared}
    papers = list(dict.fromkeys(paper for paper, _ in places))
    for paper, by_name in captions.items():
        if paper not in papers:
            raise fault(f"unknown paper {paper!r}: {hint(paper, papers)}", ["captions", paper], files)
        known = [name for of, name in places if of == paper]
        for name in by_name:
            if name not in known:
                message = f"unknown figure {name!r} of {paper!r}: {hint(name, known)}"
                raise fault(message, ["captions", paper, name], files)
    for (paper, name), at in places.items():
        if name not in captions.get(paper, {}):
            wanted = caption_files(paper, files)[:1] or [f"captions.{paper}"]
            raise fault(
                f"figure {name!r} of {paper!r} has no caption; say under {name!r} in {wanted[0]} what it "
                f"shows",
                at,
                files,
            )
