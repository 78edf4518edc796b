"""Curves of bounds as products of the workflow: what an accountant is asked for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from shuffledp import accountants
from shuffledp.accountants import named
from shuffledp.records.product import Product
from shuffledp.reproduction.tables import Table


@dataclass(frozen=True)
class Curve(Table):
    """One curve of a figure: what to compute, and whether it is plotted."""

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
    def entry(self) -> accountants.Accountant:
        """The accountant, from the registry or of a randomiser."""
        return named.accountant(self.accountant, **dict(self.randomizer))

    def product(self, results: str) -> Product:
        """Return the curve as a product of the workflow."""
        entry = self.entry
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
            modules=(entry.compute.__module__, "shuffledp.accountants.curves", "shuffledp.records.tables"),
            # names, words and ranges decide no number
            without=("shuffledp.variables",),
        )
