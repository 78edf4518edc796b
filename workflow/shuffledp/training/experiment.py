"""What to train: one experiment of a paper, checked. Nothing here needs torch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from shuffledp import checks, protocols
from shuffledp.profiles import named_randomizers
from shuffledp.profiles.gaussian import gaussian_noise
from shuffledp.randomizers import registry
from shuffledp.records.provenance import Product
from shuffledp.training.data.checksums import CIFAR_SUMS, MNIST_SHA256
from shuffledp.training.models import networks
from shuffledp.training.sgd import schedule
from shuffledp.training.sgd.schedule import CONSTANT, NO_RANDOMIZER, SAMPLING, THEOREM3

DATA = ("mnist", "synthetic", "cifar10", "cifar10-jpeg")
# Features of colour images: the module that makes them, and the model that takes them.
_FEATURE_MODULES = {
    "scattering": "features.scattering",
    "cifar100": "features.pretraining",
    "public-half": "features.pretraining",
}
HEADS = {"scattering": "linear_972", "cifar100": "linear_128", "public-half": "linear_128"}
CLIPS = ("coordinate", "norm", "none")
AGGREGATES = ("sum", "clt")
SCHEDULES = (CONSTANT, THEOREM3)

_REALS = (
    *("clip_norm", "eps0", "noise_multiplier", "delta", "projection", "regularization"),
    *("rate", "participation", "delta0"),
)
_LISTS = ("epochs", "learning_rates", "digits")


# Behind a run, and deciding no number of it: the first refuses arguments or takes them as they are, the
# others say in which module a name is looked for, and the run names that module itself.
_DECIDE_NOTHING = ("shuffledp.checks", "shuffledp.training.models.networks", "shuffledp.randomizers.names")
# Modules that the training loop imports, and which runs use them.
_USED: dict[str, Callable[[Experiment], bool]] = {
    "shuffledp.protocols": lambda run: run.protocol != SAMPLING,
    "shuffledp.training.sgd.checkin_sgd": lambda run: run.protocol != SAMPLING,
    "shuffledp.training.data.population": lambda run: run.bootstrap,
    "shuffledp.training.models.convex": lambda run: run.schedule == THEOREM3,
    "shuffledp.convergence.step_size": lambda run: run.schedule == THEOREM3,
    "shuffledp.randomizers.registry": lambda run: run.randomizer != NO_RANDOMIZER,
    "shuffledp.randomizers.clt": lambda run: run.aggregate == "clt",
}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment; each of its seeds is a run of its own.

    Attributes:
        name: by which the command line and the results know it.
        data: "mnist", "synthetic", "cifar10" or "cifar10-jpeg" (CIFAR-10 re-encoded as JPEG).
        features: what the model sees of colour images: "scattering", "cifar100" (of a network pre-trained on
            CIFAR-100 without noise) or "public-half" (pre-trained on half of the training images, which the
            clients do not hold); None for the images themselves.
        model: a network of ``training.models``.
        digits: keep the images of these digits alone, whose labels become 0, 1, ... in the order given; ()
            for all ten.
        n: number of clients; client i holds training image i (of those kept), unless ``bootstrap`` is set.
        k: clients per round. With any protocol but "subsampled-shuffle" it is left out, and becomes the
            expected number of messages, rounded and at least 1: n rate in shuffled check-in. Of the training
            it then decides the rounds of an epoch alone.
        randomizer: one of ``randomizers.registry.NAMES``, or "none" for plain SGD.
        clip: "coordinate" or "norm"; "none" without a randomiser.
        clip_norm: C; None without a randomiser.
        eps0: local privacy parameter; None for "none", and for "gaussian" with a noise multiplier.
        noise_multiplier: of "gaussian" alone; see ``noise``.
        delta0: of "gaussian" alone, with eps0 in place of a noise multiplier.
        delta: for the accounting; training does not depend on it.
        epochs: lengths of the stretches of the learning rate; an epoch is ``epoch_rounds`` rounds or, if that
            is None, n // k, or one run of a protocol of windows.
        learning_rates: one a stretch.
        protocol: who takes part in a round, one of ``protocols.PROTOCOLS``.
        rate: probability of taking part in a round, of "shuffled-check-in" alone.
        slots: those that a client may choose from, of windows alone.
        participation: probability of taking part in a window, of "fixed-window" alone; None for 1.
        schedule: "constant" within a stretch, or "girgis2021-theorem3": the step sizes D/(G sqrt t) of that
            theorem, times the learning rate.
        seeds: how many runs: seeds 0, 1, ...
        aggregate: "sum" of messages, or "clt" for its Gaussian limit (l_2 randomisers).
        projection: radius of the l_2 ball that theta is projected to, or None.
        regularization: mu of mu |theta|^2/2 in each client's loss.
        epoch_rounds: rounds of an epoch, after each of which accuracy is measured; None for the default.
        bootstrap: each client holds a training image drawn with replacement, so that n may be any number.
    """

    name: str
    data: str
    model: str
    n: int
    k: int | None = None
    randomizer: str
    clip: str
    epochs: tuple[int, ...]
    learning_rates: tuple[float, ...]
    seeds: int = 1
    clip_norm: float | None = None
    eps0: float | None = None
    noise_multiplier: float | None = None
    delta: float | None = None
    aggregate: str = "sum"
    projection: float | None = None
    regularization: float = 0.0
    digits: tuple[int, ...] = ()
    schedule: str = CONSTANT
    protocol: str = SAMPLING
    rate: float | None = None
    slots: int | None = None
    participation: float | None = None
    delta0: float | None = None
    epoch_rounds: int | None = None
    bootstrap: bool = False
    features: str | None = None

    def __post_init__(self) -> None:
        checks.choice("data", self.data, DATA)
        checks.choice("model", self.model, networks.NAMES)
        checks.choice("clip", self.clip, CLIPS)
        checks.choice("aggregate", self.aggregate, AGGREGATES)
        checks.choice("randomizer", self.randomizer, (*registry.NAMES, NO_RANDOMIZER))
        n = checks.count("n", self.n)
        k = self._checked_messages()
        checks.count("seeds", self.seeds)
        checks.real("regularization", self.regularization, at_least=0.0)
        epochs = tuple(checks.count("epochs", value) for value in self.epochs)
        rates = tuple(checks.real("learning_rates", value, at_least=0.0) for value in self.learning_rates)
        if len(epochs) != len(rates) or not epochs:
            raise ValueError(
                f"epochs and learning_rates must have one entry a stretch, got {len(epochs)} and {len(rates)}"
            )
        for label, value in (("projection", self.projection), ("clip_norm", self.clip_norm)):
            if value is not None and checks.real(label, value) <= 0:
                raise ValueError(f"{label} must be a finite number > 0, got {value!r}")
        if self.delta is not None:
            checks.probability("delta", self.delta)
        self._check_randomizer()
        self._check_population()
        self._check_features()
        self._check_digits()
        self._check_schedule()
        numbers = {"n": n, "k": k, "epochs": epochs, "learning_rates": rates, "seeds": int(self.seeds)}
        numbers |= {
            field: None if getattr(self, field) is None else int(getattr(self, field))
            for field in ("slots", "epoch_rounds")
        }
        for field in _REALS:
            value = getattr(self, field)
            numbers[field] = None if value is None else float(value)
        for field, value in numbers.items():
            object.__setattr__(self, field, value)

    def _checked_messages(self) -> int:
        """Return k, as given or as the protocol has it."""
        kind = protocols.PROTOCOLS[checks.choice("protocol", self.protocol, tuple(protocols.PROTOCOLS))]
        for field in ("rate", "slots", "participation"):
            value = getattr(self, field)
            if value is not None and field not in kind.settings:
                raise ValueError(
                    f"protocol {self.protocol!r} takes no {field}, got {value!r}; it is set by "
                    f"{', '.join(kind.settings)}"
                )
        lacking = [
            field for field in kind.settings if field != "participation" and getattr(self, field) is None
        ]
        if lacking:
            raise ValueError(f"protocol {self.protocol!r} needs {lacking[0]}, got none")
        expected = schedule.protocol_of(self, seed=0).expected
        k = max(1, round(expected))
        if self.k is not None and self.k != k:
            raise ValueError(
                f"k must be left out with protocol {self.protocol!r}, which expects {expected:g} messages a "
                f"round, got {self.k!r}"
            )
        return k

    def _check_randomizer(self) -> None:
        if (self.randomizer == NO_RANDOMIZER) != (self.clip == "none"):
            raise ValueError(
                f"clip must be 'none' without a randomiser and only then, got {self.clip!r} with "
                f"{self.randomizer!r}"
            )
        if self.clip == "coordinate" and self.randomizer != "linf_coordinate":
            raise ValueError(
                f"clip 'coordinate' is for randomizer 'linf_coordinate' alone, got {self.randomizer!r}; use "
                "'norm'"
            )
        if self.aggregate == "clt" and not self.randomizer.startswith("l2_"):
            raise ValueError(f"aggregate 'clt' is for l2 randomisers, got {self.randomizer!r}; use 'sum'")
        strength = {"eps0"}
        if self.randomizer == "gaussian":
            local = self.delta0 is not None or self.eps0 is not None
            strength = {"eps0", "delta0"} if local else {"noise_multiplier"}
        wanted = set() if self.randomizer == NO_RANDOMIZER else {"clip_norm"} | strength
        for field in ("clip_norm", "eps0", "noise_multiplier", "delta0"):
            value = getattr(self, field)
            if (value is not None) != (field in wanted):
                verb = "needs" if field in wanted else "takes no"
                raise ValueError(f"randomizer {self.randomizer!r} {verb} {field}, got {value!r}")
            if value is not None and checks.real(field, value) <= 0:
                raise ValueError(f"{field} must be a finite number > 0, got {value!r}")

        if self.delta0 is not None:
            checks.probability("delta0", self.delta0)

    def _check_population(self) -> None:
        if self.epoch_rounds is not None:
            checks.count("epoch_rounds", self.epoch_rounds)
        if not isinstance(self.bootstrap, bool):
            raise ValueError(f"bootstrap must be true or false, got {self.bootstrap!r}")
        if self.bootstrap and self.protocol == SAMPLING:
            raise ValueError(
                f"bootstrap is for check-in protocols alone, got protocol {SAMPLING!r}; use one of "
                f"{', '.join(name for name in protocols.PROTOCOLS if name != SAMPLING)}"
            )

    def _check_features(self) -> None:
        if self.features is None:
            if self.data.startswith("cifar"):
                raise ValueError(
                    f"features must be one of {', '.join(HEADS)} for data {self.data!r}, got none"
                )
            if self.model in HEADS.values():
                raise ValueError(f"model {self.model!r} needs features ({', '.join(HEADS)}), got none")
            return
        checks.choice("features", self.features, tuple(HEADS))
        if self.data == "mnist" or self.digits:
            raise ValueError(f"features are of colour images, all of them, got data {self.data!r}")
        if self.model != HEADS[self.features]:
            raise ValueError(
                f"model must be {HEADS[self.features]!r} with features {self.features!r}, got {self.model!r}"
            )

    def _check_digits(self) -> None:
        digits = tuple(self.digits)
        if len(set(digits)) != len(digits) or not set(digits) <= set(range(10)) or len(digits) == 1:
            raise ValueError(f"digits must be two or more different ones of 0 to 9, got {digits}")
        if self.model == "logistic_binary" and len(digits) != 2:
            raise ValueError(f"digits must be two for model 'logistic_binary', got {digits}")
        object.__setattr__(self, "digits", tuple(int(digit) for digit in digits))

    def _check_schedule(self) -> None:
        checks.choice("schedule", self.schedule, SCHEDULES)
        if self.schedule != THEOREM3:
            return
        wanted = {
            "a convex loss (model 'logistic_binary')": self.model == "logistic_binary",
            "a projection": self.projection is not None,
            "an l2 randomiser": self.randomizer.startswith("l2_"),
            f"protocol {SAMPLING!r}": self.protocol == SAMPLING,
        }
        lacking = [name for name, there in wanted.items() if not there]
        if lacking:
            raise ValueError(f"schedule {THEOREM3!r} needs {', '.join(lacking)}")

    @property
    def dimension(self) -> int:
        """Number of parameters d."""
        return networks.DIMENSIONS[self.model]

    @functools.cached_property
    def noise(self) -> float | None:
        """z of the gaussian randomiser, which adds N(0, z^2 C^2 I): as given, or the least with which it is
        (eps0, delta0)-LDP (``profiles.gaussian``), two clipped gradients being 2 C apart at most. Ten digits,
        rounded up. None for any other randomiser."""
        if self.delta0 is None:
            return self.noise_multiplier
        least = 2 * gaussian_noise(eps=self.eps0, delta=self.delta0)
        return float(f"{least * (1 + 1e-9):.10g}")

    @property
    def rounds_per_epoch(self) -> int:
        """As ``schedule`` has it."""
        return schedule.rounds_per_epoch(self)

    @property
    def total_epochs(self) -> int:
        """Length of a run."""
        return schedule.total_epochs(self)

    @property
    def rounds(self) -> int:
        """T, for the accounting."""
        return self.total_epochs * self.rounds_per_epoch

    @property
    def theorem3(self) -> dict[str, Any]:
        """What the constants of Theorem 3 of girgis2021 take of it, as ``schedule`` has them."""
        return schedule.theorem3(self, dimension=self.dimension)

    @property
    def diameter(self) -> float:
        """D, of the ball that theta is projected to; for an experiment with a projection."""
        return schedule.diameter(self)

    @property
    def accounting(self) -> dict[tuple[str, str], dict[str, Any]]:
        """The systems that account for its privacy (protocol and mechanism), and for each its variables with
        delta; none if there is no delta, or no system whose rounds are those of the training.

        sigma is over the largest distance of two clipped gradients, 2 C.
        """
        checked_in = self.protocol == protocols.ShuffledCheckIn.name
        if (
            self.delta is None
            or self.randomizer == NO_RANDOMIZER
            or not (checked_in or self.protocol == SAMPLING)
        ):
            return {}
        who = {"n": self.n, "rate": self.rate} if checked_in else {"n": self.n, "k": self.k}
        if self.randomizer != "gaussian":
            pure = {**who, "eps0": self.eps0, "delta": self.delta}
            return {(self.protocol, "ldp"): pure, (self.protocol, "share"): {**pure, "share": self._share}}
        if not checked_in:
            return {}
        noisy = {**who, "sigma": self.noise / 2, "delta": self.delta}
        if self.delta0 is None:
            return {("distributed-check-in", "gaussian"): noisy}
        return {
            (self.protocol, "approximate-ldp"): {
                **who,
                "eps0": self.eps0,
                "delta": self.delta,
                "delta0": self.delta0,
            },
            (self.protocol, "gaussian"): noisy,
        }

    @property
    def _share(self) -> float:
        """The share of the high region of its pure randomiser."""
        named, given = named_randomizers.of_training(
            self.randomizer, dimension=networks.DIMENSIONS[self.model]
        )
        return named_randomizers.named(named, eps0=self.eps0, **given).share

    @property
    def feature_modules(self) -> tuple[str, ...]:
        """The modules whose code decides its features; for an experiment with features."""
        return tuple(
            f"shuffledp.training.{name}" for name in ("data.colour_images", _FEATURE_MODULES[self.features])
        )

    @property
    def sums(self) -> dict[str, str]:
        """Checksums of the files that its data are, by name; none for generated data."""
        if self.data == "synthetic":
            return {}
        public = CIFAR_SUMS["cifar100"] if self.features == "cifar100" else {}
        return {**(MNIST_SHA256 if self.data == "mnist" else CIFAR_SUMS[self.data]), **public}

    def parameters(self, seed: int) -> dict[str, Any]:
        """Return what decides the numbers of one run, apart from code: JSON values.

        What is at its default is left out, so that a new setting changes no run that does not use it.
        """
        defaults = {field.name: field.default for field in fields(self)}
        setting = {
            key: value
            for key, value in asdict(self).items()
            if key not in ("name", "seeds", "delta") and value != defaults[key]
        }
        setting |= {key: list(setting[key]) for key in _LISTS if key in setting}
        found = {"experiment": setting, "seed": seed, "sha256": self.sums}
        return found if self.delta0 is None else {**found, "noise_multiplier": self.noise}

    @classmethod
    def from_parameters(cls, name: str, parameters: Mapping[str, Any]) -> Experiment:
        """Return the experiment that ``parameters`` gave these of."""
        setting = dict(parameters["experiment"])
        setting |= {key: tuple(setting[key]) for key in _LISTS if key in setting}
        return cls(name=name, **setting)

    def folder(self, results: str) -> str:
        """Return where its runs are kept."""
        return f"{results}/training/{self.name}"

    def runs(self, results: str) -> tuple[str, ...]:
        """Return the paths of the histories of all seeds."""
        return tuple(f"{self.folder(results)}/seed{seed}.csv" for seed in range(self.seeds))

    def is_trained(self, results: str) -> bool:
        """Return whether the histories of all seeds exist, with their records."""
        runs = [Path(run) for run in self.runs(results)]
        return all(run.exists() and run.with_suffix(".json").exists() for run in runs)

    def product(self, folder: str, seed: int) -> Product:
        """Return one run as a product of the workflow: ``folder``/seed<k>.csv with its record."""
        modules = ["shuffledp.training.sgd.loop", "shuffledp.training.data.dataset"]
        modules.append(f"shuffledp.training.models.{networks.MODULES[self.model]}")
        if self.randomizer != NO_RANDOMIZER:
            modules.append(f"shuffledp.randomizers.{self.randomizer}")
        if self.features is not None:
            modules += self.feature_modules
        if self.data == "synthetic":
            modules.append("shuffledp.training.data.synthetic")
        return Product(
            record=f"{folder}/seed{seed}.json",
            parameters=self.parameters(seed),
            modules=tuple(modules),
            outputs=(f"{folder}/seed{seed}.csv",),
            without=(*_DECIDE_NOTHING, *(module for module, used in _USED.items() if not used(self))),
        )
