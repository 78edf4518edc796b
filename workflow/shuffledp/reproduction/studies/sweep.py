"""A large study: one experiment on a grid of eps0, k and randomiser, and accounting along it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shuffledp import accountants
from shuffledp.accountants import Accountant
from shuffledp.records.product import Product
from shuffledp.reproduction.curve import Curve
from shuffledp.reproduction.trainings import recorded
from shuffledp.training.costs import core_seconds
from shuffledp.training.experiment import Experiment

FOLDER = "sweep"
# Stands between name and value in a path, as in Snakemake's Paramspace.
SEPARATOR = "~"


def coordinates(*, eps0: float | None, k: int | None, randomizer: str) -> dict[str, str]:
    """Return a point of the grid as text for paths."""
    return {"eps0": f"{eps0:.10g}", "k": f"{k:.0f}", "randomizer": randomizer}


def parts(point: Mapping[str, str]) -> tuple[str, ...]:
    """Return the nested folders of a point of the grid."""
    return tuple(f"{name}{SEPARATOR}{value}" for name, value in point.items())


@dataclass(frozen=True)
class Sweep:
    """An experiment on a grid.

    Attributes:
        accountants: names of those that account for every point.
        cells: one experiment for each point of the grid; its name is the folder of its runs.
        curves: epsilon along the rounds, for each eps0, k and accountant.
    """

    accountants: tuple[str, ...]
    cells: tuple[Experiment, ...]
    curves: tuple[Curve, ...]

    @property
    def points(self) -> list[dict[str, str]]:
        """The cells of the grid as text for paths."""
        return [_point(cell) for cell in self.cells]

    @property
    def entries(self) -> list[Accountant]:
        """The accountants of the study, from the registry."""
        return [accountants.get(name) for name in self.accountants]

    def folder(self, results: str) -> str:
        """Return the folder of all its results."""
        return f"{results}/{FOLDER}"

    def trainings(self, results: str) -> list[tuple[Experiment, Product]]:
        """Return the runs, one for each cell and seed, with their experiments and as products."""
        return [
            (cell, recorded.product(cell, f"{self.folder(results)}/{cell.name}", seed))
            for cell in self.cells
            for seed in range(cell.seeds)
        ]

    def frontier(self, results: str) -> Product:
        """Return the table of points that no other point beats (``frontier``) as a product."""
        stem = f"{self.folder(results)}/frontier"
        runs: dict[str, list[str]] = {cell.name: [] for cell in self.cells}
        for cell, run in self.trainings(results):
            runs[cell.name] += run.outputs
        curves: dict[tuple[str, str], dict[str, str]] = {}
        for curve in self.curves:
            own = curves.setdefault((curve.figure, curve.panel), {})
            own[curve.accountant] = f"{curve.stem(results)}.csv"
        cells = [
            {
                "eps0": cell.eps0,
                "k": cell.k,
                "randomizer": cell.randomizer,
                "runs": runs[cell.name],
                "curves": curves[panel_of(cell)],
            }
            for cell in self.cells
        ]
        return Product(
            record=f"{stem}.json",
            parameters={"accountants": list(self.accountants), "cells": cells},
            modules=("shuffledp.reproduction.studies.frontier", "shuffledp.records.tables"),
            outputs=(f"{stem}.csv",),
            inputs=(
                *(run for own in runs.values() for run in own),
                *(path for own in curves.values() for path in own.values()),
            ),
        )

    def outlook(self, results: str, *, is_current: Callable[[str], bool]) -> str:
        """Return in one line what is still to be made, and roughly how long it takes.

        Args:
            results: folder of the results.
            is_current: function that says whether the output at a path is current.
        """
        left = [cell for cell, run in self.trainings(results) if not is_current(run.outputs[0])]
        curves = [curve for curve in self.curves if not is_current(f"{curve.stem(results)}.csv")]
        hours = sum(map(core_seconds, left)) / 3600
        cost = f"about {hours:.1f}" if hours >= 0.1 else "less than 0.1"
        jobs = f"{len(left)} trainings and {len(curves)} accounting jobs"
        return f"sweep: {jobs} left, {cost} core-hours of training"


def panel_of(cell: Experiment) -> tuple[str, str]:
    """Return the folders of the accounting of a cell, which is the same for all randomisers."""
    figure, panel, *_ = parts(_point(cell))
    return figure, panel


def _point(cell: Experiment) -> dict[str, str]:
    return coordinates(eps0=cell.eps0, k=cell.k, randomizer=cell.randomizer)
