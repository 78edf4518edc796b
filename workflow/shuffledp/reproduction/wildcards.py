"""Regular expressions for wildcards of the workflow, made from the names in the configuration."""

from __future__ import annotations

from collections.abc import Iterable


def one_of(names: Iterable[str]) -> str:
    """Return a pattern that matches these names; it matches nothing if there are none."""
    return "|".join(sorted(set(names))) or "(?!)"


def papers(figures: Iterable[tuple[str, str]]) -> str:
    """Return a pattern that matches a paper followed by one of its own figures.

    Args:
        figures: paper and name of each figure.
    """
    names: dict[str, list[str]] = {}
    for paper, figure in figures:
        names.setdefault(paper, []).append(figure)
    return one_of(f"{paper}(?=/(?:{'|'.join(own)})[/.])" for paper, own in names.items())
