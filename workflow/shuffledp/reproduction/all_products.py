"""All products that a configuration asks for, in one catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shuffledp.records.catalogue import Catalogue
from shuffledp.records.product import Product
from shuffledp.reproduction.config.settings import Settings
from shuffledp.reproduction.ledger import products as ledger_products


def catalogue(
    settings: Settings,
    figures: Mapping[tuple[str, str], Product],
    key_page: Product,
    *,
    folder: str,
    staged: bool,
) -> Catalogue:
    """Return all products, and stage those whose request has changed, so that the rules see it.

    Args:
        settings: the configuration.
        figures: products of its figures, by paper and name.
        key_page: the page of its keys.
        folder: where requests are kept.
        staged: as for ``Catalogue``.
    """
    found = Catalogue(folder, staged=staged)
    for experiment in settings.experiments:
        for run in settings.trainings(experiment):
            found.add("trainings", run)
    for table in settings.tables:
        found.add("results", table.product(settings.results))
    for figure in settings.plotted:
        found.add("figures", figures[figure.paper, figure.name])
    found.add("pages", settings.gallery())
    found.add("pages", key_page)
    found.add("results", ledger_products.claims(settings))
    found.add("pages", ledger_products.page(settings))
    return found


def reported(products: Catalogue) -> list[Product]:
    """Return the products whose origin the report shows: all except runs that were never made."""
    never = {run.record for run in products.products("trainings") if not Path(run.record).exists()}
    told = products.products("results", "trainings", "figures")
    return [product for product in told if product.record not in never]
