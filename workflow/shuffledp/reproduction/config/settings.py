"""The resolved configuration: every figure, experiment and study, with all defaults filled in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from shuffledp.records.product import Product
from shuffledp.reproduction.curve import Curve
from shuffledp.reproduction.figures import captions
from shuffledp.reproduction.figures.kind import PaperFigure
from shuffledp.reproduction.sections.faults import close_to
from shuffledp.reproduction.studies.sweep import Sweep
from shuffledp.reproduction.tables import Table
from shuffledp.reproduction.trainings import recorded
from shuffledp.reproduction.trainings.learning_rates import Tuning
from shuffledp.training.experiment import Experiment

_Table = TypeVar("_Table", bound=Table)


@dataclass(frozen=True)
class Settings:
    """The resolved configuration.

    Attributes:
        results: folder of the results.
        figures: folder of the figures.
        ledger: path of the page of claims.
        declared: all figures, in the order of their page.
        experiments: all experiments.
        tunings: learning rates to try before experiments are run.
        data_root: folder of the data; None for the library's default.
        device: on which the workflow trains.
        batch_seeds: whether one job trains all seeds of an experiment.
    """

    results: str
    figures: str
    ledger: str
    declared: tuple[PaperFigure, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    tunings: tuple[Tuning, ...] = ()
    data_root: str | None = None
    device: str = "auto"
    batch_seeds: bool = False

    @property
    def plotted(self) -> tuple[PaperFigure, ...]:
        """The figures that are drawn by default, each with those of its parts whose runs are recorded."""
        return self._with_runs(figure for figure in self.declared if not figure.by_request)

    @property
    def drawable(self) -> tuple[PaperFigure, ...]:
        """The figures of ``plotted``, and those that are drawn only by a target of their own."""
        return self._with_runs(self.declared)

    def _with_runs(self, figures: Iterable[PaperFigure]) -> tuple[Any, ...]:
        found = (figure.with_runs(self.results) for figure in figures)
        return tuple(figure for figure in found if figure is not None)

    def left_out(self) -> str:
        """Return in a line which experiments are left out for want of runs; "" if there are none."""
        missing = [(one, recorded.missing(one, self.results)) for one in self.experiments]
        names = [
            one.name + (f" (seed {', '.join(map(str, seeds))})" if len(seeds) < one.seeds else "")
            for one, seeds in missing
            if seeds
        ]
        return f"left out of figures and claims, as runs are missing: {', '.join(names)}" if names else ""

    def of(self, kind: str, *, untrained: bool = False) -> tuple[Any, ...]:
        """Return the figures of a kind that can be drawn; with ``untrained`` all of them."""
        figures = tuple(figure for figure in self.declared if figure.kind == kind)
        return figures if untrained else self._with_runs(figures)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables of figures that can be drawn."""
        return tuple(table for figure in self.plotted for table in figure.tables)

    def tables_of(self, kind: type[_Table]) -> tuple[_Table, ...]:
        """Return the tables of one kind, such as ``tables.Simulation``."""
        return tuple(table for table in self.tables if isinstance(table, kind))

    @property
    def curves(self) -> tuple[Curve, ...]:
        """All curves of all figures of bounds."""
        return self.tables_of(Curve)

    @property
    def sweep(self) -> Sweep | None:
        """The large study, if there is one."""
        return next((figure.sweep for figure in self.of("frontier")), None)

    def experiment(self, name: str) -> Experiment:
        """Return the experiment of that name.

        Raises:
            ValueError: the configuration has none.
        """
        for experiment in self.experiments:
            if experiment.name == name:
                return experiment
        known = [experiment.name for experiment in self.experiments]
        raise ValueError(
            f"the configuration has no experiment {name!r}; {close_to(name, known)}it has {', '.join(known)}"
        )

    def tuning(self, name: str) -> Tuning:
        """Return the tuning of learning rates to try before the experiment of that name is run.

        Raises:
            ValueError: the configuration has none for it.
        """
        for tuning in self.tunings:
            if tuning.experiment.name == name:
                return tuning
        known = [tuning.experiment.name for tuning in self.tunings]
        raise ValueError(
            f"the configuration has no tuning of {name!r}; {close_to(name, known)}it has "
            f"{', '.join(known) or 'none'}"
        )

    def trainings(self, experiment: Experiment) -> tuple[Product, ...]:
        """Return the runs of an experiment, one for each seed, as products of the workflow."""
        folder = recorded.folder(experiment, self.results)
        return tuple(recorded.product(experiment, folder, seed) for seed in range(experiment.seeds))

    def figure(self, paper: str, name: str) -> Any:
        """Return the figure of that name, with those of its parts whose runs are recorded.

        Raises:
            ValueError: the configuration has none, or no run of it is recorded.
        """
        # looking for the runs of all other figures would take long
        asked = (figure for figure in self.declared if (figure.paper, figure.name) == (paper, name))
        for figure in self._with_runs(asked):
            return figure
        raise ValueError(f"the configuration has no figure {name!r} of {paper!r}")

    def product(self, figure: PaperFigure) -> Product:
        """Return a figure as a product of the workflow."""
        return figure.product(results=self.results, figures=self.figures)

    def gallery(self) -> Product:
        """Return the page of figures and captions as a product of the workflow."""
        entries = [
            [f"{figure.paper}, {figure.name}", f"{figure.paper}/{figure.name}.png", figure.text(self.results)]
            for figure in self.plotted
        ]
        return Product(
            record=f"{self.figures}/README.json",
            parameters={"entries": entries},
            modules=(captions.__name__,),
            outputs=(f"{self.figures}/README.rst",),
        )
