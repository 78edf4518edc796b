"""Which learning rates to try before an experiment is run, where a paper leaves them open. No torch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shuffledp import checks
from shuffledp.records.product import Product
from shuffledp.reproduction.trainings import recorded
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
        halving: whether the better half of the tries goes on for twice as long, again and again until two are
            left, and these for as long as the experiment (successive halving). A rate that is the best for a
            short run is often too high for a long one. The two that end cost twice a run; what comes before
            adds half a run for four rates that are tried for a quarter of its length.
    """

    experiment: Experiment
    learning_rates: tuple[float, ...]
    epochs: int
    held_out: int
    halving: bool = False

    def __post_init__(self) -> None:
        checks.count("epochs", self.epochs)
        checks.count("held_out", self.held_out)
        if not self.experiment.bootstrap and self.held_out >= self.experiment.n:
            raise ValueError(
                f"held_out must be less than the {self.experiment.n} clients' images, got {self.held_out}"
            )
        if not self.halving:
            return
        if len(self.learning_rates) < 3:
            raise ValueError(
                f"halving needs three or more learning_rates, got {len(self.learning_rates)}; name more, or "
                "leave it out"
            )
        longest, epochs = self._lengths[-2:]
        if longest >= epochs:
            raise ValueError(
                "epochs must be so few that the tries before the last two are shorter than the "
                f"{epochs} of the experiment, got {self.epochs} for {len(self.learning_rates)} rates, "
                f"which lead to {longest}"
            )

    @property
    def _lengths(self) -> tuple[int, ...]:
        """Length of the tries after each stage, in epochs."""
        lengths, left = [self.epochs], len(self.learning_rates)
        while left > 4:
            left = -(-left // 2)
            lengths.append(2 * lengths[-1])
        return (*lengths, self.experiment.total_epochs)

    @property
    def stages(self) -> tuple[tuple[int, int], ...]:
        """Number of tries that go on, and the epoch until which they do, stage by stage."""
        if not self.halving:
            return ((len(self.learning_rates), self.epochs),)
        found, left = [], len(self.learning_rates)
        for length in self._lengths[:-1]:
            found.append((left, length))
            left = -(-left // 2)
        return (*found, (2, self._lengths[-1]))

    @property
    def tries(self) -> tuple[Experiment, ...]:
        """The experiments of the first stage, one a learning rate. Where each client has an image of its own,
        they have as many clients fewer as images are held out."""
        clients = self.experiment.n - (0 if self.experiment.bootstrap else self.held_out)
        setting = {"n": clients, "k": None if self.experiment.rate is not None else self.experiment.k}
        return tuple(
            replace(self.experiment, **setting, epochs=(self.epochs,), learning_rates=(rate,))  # type: ignore[arg-type]
            for rate in self.learning_rates
        )

    @property
    def longest(self) -> tuple[Experiment, ...]:
        """The experiments that the tries cost, each of the length that it has in the end."""
        counts = [*(count for count, _ in self.stages), 0]
        return tuple(
            replace(self.tries[0], epochs=(epochs,))
            for (count, epochs), after in zip(self.stages, counts[1:], strict=True)
            for _ in range(count - after)
        )

    def product(self, results: str) -> Product:
        """Return the table of tries as a product: ``results``/tuning/<experiment>.csv with its record."""
        stem = f"{results}/tuning/{self.experiment.name}"
        run = recorded.product(self.experiment, "", SEED)
        return Product(
            record=f"{stem}.json",
            parameters={
                "tries": [entry.parameters(SEED) for entry in self.tries],
                "held_out": self.held_out,
                **({"stages": [list(stage) for stage in self.stages]} if self.halving else {}),
            },
            modules=(*run.modules, "shuffledp.reproduction.trainings.tries"),
            outputs=(f"{stem}.csv",),
            without=run.without,
        )
