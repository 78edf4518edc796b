"""Pages that follow from the code: the table of accountants, and the figures with their captions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

from shuffledp import accountants
from shuffledp.accountants import systems
from shuffledp.variables import VARIABLES

FOLDER = "_generated"


def accountants_page() -> str:
    """Return the accountants of every system, by system, as Markdown."""
    return "\n".join(_accountants()) + "\n"


def _accountants() -> Iterator[str]:
    for system in systems.systems():
        names = accountants.names(protocol=system.protocol, mechanism=system.mechanism)
        options = ", ".join(f"`{VARIABLES[name].option}`" for name in system.variables)
        yield f"## {system.protocol} with {system.mechanism}\n"
        yield f"{_sentence(system.words)} Neighbours by {system.neighbours}. Variables: {options}."
        yield f"Default of `calibrate` and `delta`: `{system.default}`.\n"
        for entry in map(accountants.get, names):
            scope = "" if entry.scope == "epsilon" else f" on what accounting by {entry.scope} can report"
            yield f"`{entry.name}`"
            words = f"{_cell(entry.label)} ({_cell(entry.theorem)}; {entry.citation})"
            yield f": **{entry.kind}{scope}.** {words}."
            yield f"  Needs: {', '.join(entry.needs)}. {_cell(entry.note)}\n"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _cell(text: str) -> str:
    """Return a text in which Markdown finds nothing to interpret."""
    return re.sub(r"([*_<>\[\]|$])", r"\\\1", text)


def figures_page(gallery: str) -> str:
    """Return the gallery, which the workflow writes into the folder of the figures, for a page in docs."""
    return re.sub(r"^\.\. image:: ", ".. image:: /../figures/", gallery, flags=re.MULTILINE)


def _write(app: Sphinx) -> None:
    source = Path(app.srcdir)
    folder = source / FOLDER
    folder.mkdir(exist_ok=True)
    gallery = (source.parent / "figures/README.rst").read_text(encoding="utf-8")
    for name, text in (("accountants.md", accountants_page()), ("figures.rst", figures_page(gallery))):
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before others include them."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
