"""Learning rates to try before an experiment is run, where a paper leaves them open. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from shuffledp import checks
from shuffledp.records.product import Product
from shuffledp.reproduction.trainings import recorded
from shuffledp.training.experiment import Experiment
from shuffledp.training.sgd.schedule import SAMPLING

SEED = 10_000  # of every try; it is the seed of no run


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Learning rates to try on a held-out part of the training set.

    Attributes:
        experiment: the experiment whose learning rate is sought, with all its other settings.
        learning_rates: to try; each is constant during a try.
        epochs: length of a try.
        held_out: number of random training images that no client holds, on which accuracy is measured.
        halving: whether the better half of the tries goes on for twice as long, again and again until two are
            left, which go on to the length of the experiment (successive halving). The best rate for a short
            run is often too high for a long one. The last two tries take the time of two runs; four rates
            that are tried for a quarter of a run take half a run more.
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
        """For each stage, the number of tries that go on, and the epoch at which it ends."""
        if not self.halving:
            return ((len(self.learning_rates), self.epochs),)
        found, left = [], len(self.learning_rates)
        for length in self._lengths[:-1]:
            found.append((left, length))
            left = -(-left // 2)
        return (*found, (2, self._lengths[-1]))

    @property
    def tries(self) -> tuple[Experiment, ...]:
        """The experiments of the first stage, one for each learning rate. If each client has an image of its
        own, there are fewer clients by the number of images that are held out."""
        clients = self.experiment.n - (0 if self.experiment.bootstrap else self.held_out)
        # with other protocols k follows from the number of clients, and is found anew
        setting = {"n": clients, "k": self.experiment.k if self.experiment.protocol == SAMPLING else None}
        return tuple(
            replace(self.experiment, **setting, epochs=(self.epochs,), learning_rates=(rate,))  # type: ignore[arg-type]
            for rate in self.learning_rates
        )

    @property
    def longest(self) -> tuple[Experiment, ...]:
        """The experiments of the tries, each with the length that it reaches in the end."""
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
