"""The report as a product of the workflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shuffledp.accountants.systems import dependent_variable
from shuffledp.records.product import Product
from shuffledp.reproduction.config import Settings
from shuffledp.reproduction.curve import Curve


def report(settings: Settings, results: Sequence[Product]) -> Product:
    """Return the report as a product, which is not tracked.

    Args:
        settings: the configuration.
        results: products that exist or will exist then, whose records the report shows.
    """
    folder = f"{settings.results}/report"
    panels = _bracketed(settings)
    records = {result.record: result.request()["code"] for result in results}
    ledger = f"{settings.results}/claims.csv"
    curves = [path for panel in panels for _, _, path in panel["curves"]]
    figures = [
        [
            figure.paper,
            figure.name,
            f"{settings.figures}/{figure.paper}/{figure.name}.png",
            figure.text(settings.results),
        ]
        for figure in settings.plotted
    ]
    return Product(
        record=f"{folder}/report.json",
        parameters={"panels": panels, "ledger": ledger, "figures": figures, "records": records},
        modules=tuple(
            f"shuffledp.reproduction.report.{name}" for name in ("pages", "brackets", "provenance")
        ),
        outputs=(f"{folder}/report.html",),
        inputs=(ledger, *dict.fromkeys(curves), *(picture for _, _, picture, _ in figures), *records),
    )


def _bracketed(settings: Settings) -> list[dict[str, Any]]:
    """Return the panels that have curves of epsilon on both sides, of one system and at one setting."""
    found: list[dict[str, Any]] = []
    for figure in settings.of("bounds"):
        groups: dict[Any, list[Curve]] = {}
        for curve in figure.curves:
            entry = curve.entry
            if (
                entry.scope == "epsilon"
                and entry.kind != "estimate"
                and dependent_variable(curve.variable) == "epsilon"
            ):
                words = ": ".join([entry.system.words, *(entry.needs if curve.randomizer else ())])
                groups.setdefault((curve.panel, words, curve.fixed), []).append(curve)
        for (panel, words, fixed), curves in groups.items():
            if {curve.entry.kind for curve in curves} == {"lower", "upper"}:
                found.append(
                    {
                        "figure": f"{figure.paper}, {figure.name}, {panel}",
                        "system": words,
                        "setting": ", ".join(f"{key} = {value:g}" for key, value in fixed),
                        "variable": curves[0].variable,
                        "curves": [
                            [curve.entry.kind, curve.accountant, f"{curve.stem(settings.results)}.csv"]
                            for curve in curves
                        ],
                        "needs": {curve.accountant: ", ".join(curve.entry.needs) for curve in curves},
                    }
                )
    return found
