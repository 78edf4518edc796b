"""The ledger and its page as products of the workflow."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from shuffledp.records import recorded_tables
from shuffledp.records.product import Product
from shuffledp.reproduction import ledger
from shuffledp.reproduction.config import Settings
from shuffledp.reproduction.tables import Utility
from shuffledp.reproduction.trainings import recorded
from shuffledp.training.experiment import Experiment

# The settings of an experiment that a row has; k only if it is fixed, and not a mean number.
_TOLD = (
    *("data", "model", "randomizer", "clip", "n", "k", "rate", "slots", "participation"),
    *("noise_multiplier", "eps0", "delta0", "delta"),
)


class Source(NamedTuple):
    """The path of the table of a curve, or those of an experiment's runs, and the settings that these lack.

    Attributes:
        paths: of the tables.
        setting: value by column, the same in all rows.
    """

    paths: tuple[str, ...]
    setting: dict[str, Any]

    def read(self) -> pd.DataFrame:
        """Return the tables as one, with the settings as columns and the number of the table as "run".

        Raises:
            ValueError: from ``recorded_tables.read``.
        """
        runs = [recorded_tables.read(path).assign(run=run) for run, path in enumerate(self.paths)]
        return pd.concat(runs, ignore_index=True).assign(**self.setting)


def sources(settings: Settings) -> dict[ledger.Key, Source]:
    """Return the sources of the claims' curves and runs, as far as these are made or will be made."""
    made: dict[ledger.Key, Source] = {}
    for table in settings.tables:
        key: ledger.Key = ledger.CurveKey(table.paper, table.figure, table.panel, table.file)
        setting = {}
        if isinstance(table, Utility):
            key = ledger.AccuracyKey(table.paper, table.figure, table.experiment.name)
            setting = _setting(table.experiment)
        made[key] = Source((table.path(settings.results),), setting)
    for experiment in settings.experiments:
        if recorded.is_trained(experiment, settings.results):
            runs = recorded.runs(experiment, settings.results)
            made[ledger.RunsKey("training", experiment.name)] = Source(runs, _setting(experiment))
    wanted = dict.fromkeys(key for claim in ledger.claims() for key in claim.curves.values())
    return {key: made[key] for key in wanted if key in made}


def _setting(experiment: Experiment) -> dict[str, Any]:
    told = {name: value for name, value in asdict(experiment).items() if name in _TOLD and value is not None}
    if experiment.protocol != "subsampled-shuffle":
        del told["k"]
    if experiment.features:
        told["data"] += f", {experiment.features} features"
    if experiment.bootstrap:
        told["data"] += ", drawn with replacement"
    return told


def claims(settings: Settings) -> Product:
    """Return the ledger of claims as a product, made from the curves that its claims name."""
    found = sources(settings)
    return Product(
        record=f"{settings.results}/claims.json",
        parameters={"curves": [[[*key], [*one.paths], one.setting] for key, one in found.items()]},
        modules=("shuffledp.reproduction.ledger", "shuffledp.records.tables"),
        outputs=(f"{settings.results}/claims.csv",),
        inputs=tuple(path for source in found.values() for path in source.paths),
    )


def page(settings: Settings) -> Product:
    """Return the page of the ledger as a product."""
    folder = os.path.dirname(settings.ledger) or "."
    figures = {
        f"{figure.paper}/{figure.name}": os.path.relpath(
            f"{settings.figures}/{figure.paper}/{figure.name}.png", folder
        )
        for figure in settings.plotted
    }
    return Product(
        record=str(Path(settings.ledger).with_suffix(".json")),
        parameters={"figures": figures},
        modules=("shuffledp.reproduction.ledger.page", "shuffledp.records.tables"),
        outputs=(settings.ledger,),
        inputs=(f"{settings.results}/claims.csv",),
    )
