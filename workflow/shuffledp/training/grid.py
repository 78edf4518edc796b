"""Which learning rates to try before an experiment is run, where a paper leaves them open. No torch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shuffledp import checks
from shuffledp.provenance import Product
from shuffledp.training.experiment import Experiment

SEED = 10_000  # of every try; no run has it


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Learning rates to try on a held-out part of the training set.

    Attributes:
        experiment: the one whose learning rate is sought, with all its other settings.
        learning_rates: for the whole of a try.
        epochs: length of a try.
        held_out: training images, drawn at random, that no client holds and accuracy is measured on.
    """

    experiment: Experiment
    learning_rates: tuple[float, ...]
    epochs: int
    held_out: int

    def __post_init__(self) -> None:
        checks.count("epochs", self.epochs)
        checks.count("held_out", self.held_out)
        if not self.experiment.bootstrap and self.held_out >= self.experiment.n:
            raise ValueError(
                f"held_out must be less than the {self.experiment.n} clients' images, got {self.held_out}"
            )

    @property
    def tries(self) -> tuple[Experiment, ...]:
        """An experiment a learning rate; where each client holds an image, with as many clients fewer."""
        clients = self.experiment.n - (0 if self.experiment.bootstrap else self.held_out)
        setting = {"n": clients, "k": None if self.experiment.rate is not None else self.experiment.k}
        return tuple(
            replace(self.experiment, **setting, epochs=(self.epochs,), learning_rates=(rate,))
            for rate in self.learning_rates
        )

    def product(self, results: str) -> Product:
        """Return the table of tries as a product: ``results``/tuning/<experiment>.csv with its record."""
        stem = f"{results}/tuning/{self.experiment.name}"
        run = self.experiment.product("", SEED)
        return Product(
            record=f"{stem}.json",
            parameters={
                "tries": [entry.parameters(SEED) for entry in self.tries],
                "held_out": self.held_out,
            },
            modules=(*run.modules, "shuffledp.training.tries"),
            outputs=(f"{stem}.csv",),
            without=run.without,
        )
