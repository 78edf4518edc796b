"""Tables between computation and figures: the path of each, and the product that makes it."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shuffledp import accountants
from shuffledp.accountants import Accountant
from shuffledp.records.product import Product
from shuffledp.reproduction import simulations
from shuffledp.reproduction.trainings import recorded
from shuffledp.reproduction.trainings.accounting import FARTHEST, accounting, rounds_of_one
from shuffledp.training.experiment import Experiment


@dataclass(frozen=True)
class Table:
    """A table of one panel: its file is <results>/<paper>/<figure>/<panel>/<file>.csv, with its record."""

    paper: str
    figure: str
    panel: str

    @property
    def file(self) -> str:
        """The name of its file, without the suffix."""
        raise NotImplementedError

    def product(self, results: str) -> Product:
        """Return the table as a product of the workflow.

        Args:
            results: folder of the results.
        """
        raise NotImplementedError

    def stem(self, results: str) -> str:
        """Return the path of the table without its suffix."""
        return f"{results}/{self.paper}/{self.figure}/{self.panel}/{self.file}"

    def path(self, results: str) -> str:
        """Return the path of the table."""
        return f"{self.stem(results)}.csv"

    def made(
        self,
        results: str,
        *,
        parameters: Mapping[str, Any],
        modules: Sequence[str],
        inputs: Sequence[str] = (),
        without: Sequence[str] = (),
    ) -> Product:
        """Return the product whose output is the table, from the modules and parameters that decide it."""
        return Product(
            record=f"{self.stem(results)}.json",
            parameters=parameters,
            modules=modules,
            outputs=(self.path(results),),
            inputs=inputs,
            without=without,
        )


@dataclass(frozen=True)
class QuantityCurve(Table):
    """One quantity of a check-in protocol along one variable."""

    quantity: str
    variable: str
    values: tuple[float, ...]
    fixed: tuple[tuple[str, float], ...]

    @property
    def file(self) -> str:
        """The name of the quantity."""
        return self.quantity

    def product(self, results: str) -> Product:
        """Return the curve as a product of the workflow."""
        return self.made(
            results,
            parameters={
                "quantity": self.quantity,
                "variable": self.variable,
                "values": list(self.values),
                "fixed": dict(self.fixed),
            },
            modules=("shuffledp.reproduction.studies.quantities", "shuffledp.records.tables"),
        )


@dataclass(frozen=True)
class Utility(Table):
    """The accuracies of an experiment's runs, joined with epsilon by several accountants."""

    experiment: Experiment
    accountants: tuple[str, ...]
    distance: float = FARTHEST  # what sigma is over, in clip norms

    @property
    def file(self) -> str:
        """The name of its file: one table serves all accountants."""
        return "privacy_utility"

    @property
    def entries(self) -> list[Accountant]:
        """The accountants, from the registry."""
        return [accountants.get(name) for name in self.accountants]

    @functools.cached_property
    def _setting(self) -> dict[str, float]:
        """The variables of the accountants' systems; kept, since the share of a randomiser is computed."""
        setting: dict[str, float] = {}
        for entry in self.entries:
            system = entry.protocol, entry.mechanism
            setting |= accounting(self.experiment, distance=self.distance)[system]
        return setting

    def product(self, results: str) -> Product:
        """Return the table as a product of the workflow."""
        runs = recorded.runs(self.experiment, results)
        return self.made(
            results,
            parameters={
                "accountants": list(self.accountants),
                "setting": self._setting,
                "rounds_of_one": rounds_of_one(self.experiment),
                "runs": list(runs),
            },
            modules=(
                "shuffledp.reproduction.studies.accuracy_against_epsilon",
                "shuffledp.records.tables",
                *(entry.compute.__module__ for entry in self.entries),
            ),
            inputs=runs,
        )


@dataclass(frozen=True)
class Simulation(Table):
    """Monte Carlo estimates of the shuffled Gaussian's profile, for one number of clients."""

    n: int
    sigma: float
    eps: tuple[float, ...]
    points: int
    half_width: float
    seed: int

    @property
    def file(self) -> str:
        """The name of its file: one table serves all ways to draw the points."""
        return "monte-carlo"

    def product(self, results: str) -> Product:
        """Return the table of estimates as a product of the workflow."""
        keys = ("n", "sigma", "points", "half_width", "seed")
        return self.made(
            results,
            parameters={"eps": list(self.eps), **{key: getattr(self, key) for key in keys}},
            modules=simulations.MODULES,
        )
