"""Kinds of figures: each is one module of this package, which is found without being listed.

A module ``figures.<kind>`` defines one subclass of ``PaperFigure`` and a function ``draw`` that makes the
picture from the parameters of the figure's product alone. Nothing else lists the kinds: the configuration,
its page of keys, the workflow and the tests call ``kinds``. Kinds are also imported where figures are only
planned. So ``draw`` itself imports the packages for drawing, matplotlib above all.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from shuffledp.records.product import Product
from shuffledp.reproduction.figures.captions import render
from shuffledp.reproduction.sections.captions import Caption
from shuffledp.reproduction.sections.context import Context
from shuffledp.reproduction.sections.model import By, Section
from shuffledp.reproduction.tables import Table
from shuffledp.reproduction.trainings import recorded

# Modules that those of kinds import, but that do not decide a picture, which is drawn from the parameters of
# its product and from tables. All kinds share one list, since digests are cached by the modules left out.
_DECIDE_NOTHING = (
    "shuffledp.approximate_dp.composition",
    "shuffledp.reproduction.curve",
    "shuffledp.reproduction.figures.captions",
    "shuffledp.reproduction.figures.kind",
    "shuffledp.reproduction.figures.words",
    "shuffledp.reproduction.sections.axes",
    "shuffledp.reproduction.sections.captions",
    "shuffledp.reproduction.sections.context",
    "shuffledp.reproduction.sections.model",
    "shuffledp.reproduction.sections.panels",
    "shuffledp.reproduction.sections.study",
    "shuffledp.reproduction.studies.sweep",
    "shuffledp.reproduction.studies.quantities",
    "shuffledp.reproduction.tables",
    "shuffledp.reproduction.trainings.recorded",
    "shuffledp.training.experiment",
)


@dataclass(frozen=True)
class PaperFigure(ABC):
    """One figure, resolved.

    Attributes of a kind:
        kind: the name of its module.
        holds: the model of the section of one figure.
        about: words on the section of the kind, for the page of keys.
        place: sort key of the kind on the page of figures.
        details: template of the end of the caption.
        parts: the field whose parts are drawn only once the runs of their ``experiment`` are recorded.
        by_request: whether only a target of its own draws it.
        without: further modules that the kind's module imports and that do not decide the picture.

    Attributes:
        paper: citation key.
        name: of the figure, among those of its paper.
        settings: its section of the configuration.
        caption: the words of its caption from the configuration.
    """

    kind: ClassVar[str]
    holds: ClassVar[type[Section]]
    about: ClassVar[str]
    place: ClassVar[int]
    details: ClassVar[str]
    parts: ClassVar[str | None] = None
    by_request: ClassVar[bool] = False
    without: ClassVar[tuple[str, ...]] = ()

    paper: str
    name: str
    settings: Any
    caption: Caption

    def __init_subclass__(cls) -> None:
        """Name the kind after its module."""
        super().__init_subclass__()
        cls.kind = cls.__module__.rpartition(".")[2]

    @classmethod
    def section(cls) -> tuple[str, Any]:
        """Return the key of the configuration for figures of the kind, and the type of its value."""
        of_paper = Annotated[
            dict[str, cls.holds],  # type: ignore[name-defined]
            By("figure"),
            Field(description="Figures of one paper."),
        ]
        about = f"{cls.about}: papers by citation key, then figures by name."
        return cls.kind, Annotated[dict[str, of_paper], By("paper"), Field(description=about)]

    @classmethod
    def declared(cls, section: Any) -> Iterator[tuple[list[str], str, str, Any]]:
        """Yield the key, paper, name and section of each figure in the section of the kind."""
        for paper, by_name in section.items():
            for name, own in by_name.items():
                yield [cls.kind, paper, name], paper, name, own

    @classmethod
    @abstractmethod
    def resolve(cls, paper: str, name: str, settings: Any, caption: Caption, context: Context) -> Self:
        """Return the figure that a section of the configuration describes.

        Raises:
            ValueError: the section contradicts itself or other sections; the message has the key, its line
                and the remedy.
        """

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that are made for the figure."""
        return ()

    def inputs(self, results: str) -> Sequence[str]:
        """Return the paths of the files from which it is drawn."""
        return tuple(table.path(results) for table in self.tables)

    @abstractmethod
    def parameters(self, results: str) -> Mapping[str, Any]:
        """Return the argument of its module's ``draw``: JSON values, among them the paths of tables."""

    @abstractmethod
    def in_caption(self, results: str) -> Mapping[str, Any]:
        """Return the facts of its caption: ``setting``, a line for each panel, and those of ``details``."""

    def with_runs(self, results: str) -> Self | None:
        """Return the figure with those of its parts whose runs are recorded; None if there are none."""
        if self.parts is None:
            return self
        found = tuple(
            part for part in getattr(self, self.parts) if recorded.is_trained(part.experiment, results)
        )
        changes: dict[str, Any] = {self.parts: found}
        return replace(self, **changes) if found else None

    def product(self, *, results: str, figures: str) -> Product:
        """Return the figure as a product of the workflow."""
        stem = f"{figures}/{self.paper}/{self.name}"
        return Product(
            record=f"{stem}.json",
            parameters=self.parameters(results),
            modules=(type(self).__module__, "shuffledp.records.tables"),
            outputs=(f"{stem}.pdf", f"{stem}.png"),
            inputs=tuple(self.inputs(results)),
            without=(*_DECIDE_NOTHING, *self.without),
        )

    def text(self, results: str) -> str:
        """Return the caption, as reStructuredText."""
        about = {
            "paper": self.paper,
            "figure": self.name,
            "shows": self.caption.shows,
            "neighbours": self.caption.neighbours,
            "choices": self.caption.choices,
        }
        return render(self.details, {**about, **self.in_caption(results)})


@functools.cache
def kinds() -> dict[str, type[PaperFigure]]:
    """Return the kinds of figures by name, in the order of the page of figures."""
    package = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{package}.{module.name}")
    found = [one for one in PaperFigure.__subclasses__() if one.__module__.startswith(f"{package}.")]
    return {one.kind: one for one in sorted(found, key=lambda one: (one.place, one.kind))}
