"""The ledger and its table in the README as products of the workflow."""

from __future__ import annotations

from pathlib import Path

from shuffledp.records.provenance import Product
from shuffledp.reproduction import ledger
from shuffledp.reproduction.config import Settings
from shuffledp.reproduction.ledger.readme import LedgerInReadme
from shuffledp.reproduction.trainings import recorded


def claims(settings: Settings) -> Product:
    """Return the ledger of claims as a product, made from the curves that its claims name."""
    made = {f"{curve.stem(settings.results)}.csv" for curve in settings.curves}
    for quantities in settings.of("quantities"):
        made |= {f"{curve.stem(settings.results)}.csv" for curve in quantities.curves}
    for figure in settings.of("accuracy"):
        made |= {f"{panel.stem(settings.results)}.csv" for panel in figure.panels}
    for experiment in settings.experiments:
        made |= {run for run in recorded.runs(experiment, settings.results) if Path(run).exists()}
    made |= {f"{panel.stem(settings.results)}.csv" for panel in settings.simulations}
    keys = dict.fromkeys(key for claim in ledger.claims() for key in claim.curves.values())
    paths = {key: f"{settings.results}/{'/'.join(key)}.csv" for key in keys}
    paths = {key: path for key, path in paths.items() if path in made}
    return Product(
        record=f"{settings.results}/claims.json",
        parameters={"curves": [[*key, path] for key, path in paths.items()]},
        modules=("shuffledp.reproduction.ledger", "shuffledp.records.tables"),
        outputs=(f"{settings.results}/claims.csv",),
        inputs=tuple(paths.values()),
    )


def readme(settings: Settings) -> LedgerInReadme:
    """Return the table in the README as a product."""
    return LedgerInReadme(
        record=f"{settings.readme}.json",
        parameters={},
        modules=("shuffledp.reproduction.ledger.readme",),
        outputs=(settings.readme,),
        inputs=(f"{settings.results}/claims.csv",),
    )
