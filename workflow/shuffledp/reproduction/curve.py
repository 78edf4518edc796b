"""Curves of bounds as products of the workflow: accountant, variable, points and fixed values."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, replace
from typing import Any, NoReturn

from shuffledp.accountants import Accountant, named
from shuffledp.records.product import Product
from shuffledp.reproduction.tables import Table


def _computes_nothing(**_: Any) -> NoReturn:
    raise NotImplementedError("a curve is computed by its script, which asks for the accountant by name")


@dataclass(frozen=True)
class Curve(Table):
    """One curve of a figure: what is computed, and whether it is plotted."""

    accountant: str
    variable: str
    values: tuple[float, ...]
    fixed: tuple[tuple[str, float], ...]
    plotted: bool
    randomizer: tuple[tuple[str, Any], ...] = ()

    @property
    def file(self) -> str:
        """The name of the accountant."""
        return self.accountant

    @property
    def entry(self) -> Accountant:
        """What is said of the accountant, from the registry or of a randomiser; it computes nothing."""
        return self._described[0]

    @functools.cached_property
    def _described(self) -> tuple[Accountant, str]:
        """What is said of the accountant, and the module that computes.

        It is kept with the settings, since to check a randomiser's parameters may take as long as planning.
        """
        found = named.accountant(self.accountant, **dict(self.randomizer))
        return replace(found, compute=_computes_nothing), found.compute.__module__

    def product(self, results: str) -> Product:
        """Return the curve as a product of the workflow."""
        entry, module = self._described
        about = {key: value for key, value in asdict(entry).items() if key != "compute"}
        own = {"randomizer": dict(self.randomizer)} if self.randomizer else {}
        return self.made(
            results,
            parameters={
                "accountant": {**about, "needs": list(entry.needs)},
                "variable": self.variable,
                "values": list(self.values),
                "fixed": dict(self.fixed),
                **own,
            },
            modules=(module, "shuffledp.accountants.evaluation", "shuffledp.records.tables"),
            # its names, words and ranges do not decide numbers
            without=("shuffledp.variables",),
        )
