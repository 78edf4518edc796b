"""Curves of bounds as products of the workflow: what an accountant is asked for."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from shuffledp import accountants
from shuffledp.accountants import named
from shuffledp.records.provenance import Product


@dataclass(frozen=True)
class Curve:
    """One curve of a figure: what to compute, and whether it is drawn."""

    paper: str
    figure: str
    panel: str
    accountant: str
    variable: str
    values: tuple[float, ...]
    fixed: tuple[tuple[str, float], ...]
    drawn: bool
    randomizer: tuple[tuple[str, Any], ...] = ()

    @property
    def entry(self) -> accountants.Accountant:
        """The accountant: of the registry, or of a randomiser."""
        return named.accountant(self.accountant, **dict(self.randomizer))

    def stem(self, results: str) -> str:
        """Return the path of the result without its suffix."""
        return f"{results}/{self.paper}/{self.figure}/{self.panel}/{self.accountant}"

    def product(self, results: str) -> Product:
        """Return the curve as a product of the workflow."""
        entry = self.entry
        about = {key: value for key, value in asdict(entry).items() if key != "compute"}
        stem = self.stem(results)
        own = {"randomizer": dict(self.randomizer)} if self.randomizer else {}
        return Product(
            record=f"{stem}.json",
            parameters={
                "accountant": {**about, "needs": list(entry.needs)},
                "variable": self.variable,
                "values": list(self.values),
                "fixed": dict(self.fixed),
                **own,
            },
            modules=(entry.compute.__module__, "shuffledp.accountants.curves", "shuffledp.records.tables"),
            outputs=(f"{stem}.csv",),
            # names, words and ranges decide no number
            without=("shuffledp.variables",),
        )
