"""Curves of bounds as products of the workflow: accountant, variable, points and fixed values."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass
from typing import Any

from shuffledp.accountants import Description, named, registry
from shuffledp.records.product import Product
from shuffledp.reproduction.tables import Table


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

    @functools.cached_property
    def entry(self) -> Description:
        """What is said of the accountant, from the registry or of a randomiser."""
        return named.description(self.accountant, **dict(self.randomizer))

    def product(self, results: str) -> Product:
        """Return the curve as a product of the workflow."""
        module = named.__name__ if self.randomizer else registry.get(self.accountant).compute.__module__
        own = {"randomizer": dict(self.randomizer)} if self.randomizer else {}
        return self.made(
            results,
            parameters={
                "accountant": {**asdict(self.entry), "needs": list(self.entry.needs)},
                "variable": self.variable,
                "values": list(self.values),
                "fixed": dict(self.fixed),
                **own,
            },
            modules=(module, "shuffledp.accountants.evaluation", "shuffledp.records.tables"),
            # its names, words and ranges do not decide numbers
            without=("shuffledp.variables",),
        )
