"""The ledger and its table in the README as products of the workflow."""

from __future__ import annotations

from shuffledp import ledger
from shuffledp.config import Settings
from shuffledp.ledger.readme import LedgerInReadme
from shuffledp.provenance import Product


def claims(settings: Settings) -> Product:
    """Return the ledger of claims as a product, made from the curves that its claims name."""
    keys = dict.fromkeys(key for claim in ledger.claims() for key in claim.curves.values())
    paths = {key: f"{settings.results}/{'/'.join(key)}.csv" for key in keys}
    return Product(
        record=f"{settings.results}/claims.json",
        parameters={"curves": [[*key, path] for key, path in paths.items()]},
        modules=("shuffledp.ledger", "shuffledp.tables"),
        outputs=(f"{settings.results}/claims.csv",),
        inputs=tuple(paths.values()),
    )


def readme(settings: Settings) -> LedgerInReadme:
    """Return the table in the README as a product."""
    return LedgerInReadme(
        record=f"{settings.readme}.json",
        parameters={},
        modules=("shuffledp.ledger.readme",),
        outputs=(settings.readme,),
        inputs=(f"{settings.results}/claims.csv",),
    )
