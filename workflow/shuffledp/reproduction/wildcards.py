"""Regular expressions that wildcards of the workflow must match, made from the names in the configuration."""

from __future__ import annotations

from collections.abc import Iterable


def one_of(names: Iterable[str]) -> str:
    """Return a pattern of one of these, and of nothing if there are none."""
    return "|".join(sorted(set(names))) or "(?!)"


def papers(figures: Iterable[tuple[str, str]]) -> str:
    """Return a pattern of a paper that is followed by one of its own figures, and by none of another paper.

    Args:
        figures: paper and name of each figure.
    """
    names: dict[str, list[str]] = {}
    for paper, figure in figures:
        names.setdefault(paper, []).append(figure)
    return one_of(f"{paper}(?=/(?:{'|'.join(own)})[/.])" for paper, own in names.items())
