"""What to train: one experiment of a paper, checked. Nothing here needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from shuffledp import checks, protocols
from shuffledp.randomizers.names import NAMES
from shuffledp.training import specification
from shuffledp.training.data.checksums import CIFAR_SUMS, IDX_SHA256
from shuffledp.training.models import networks
from shuffledp.training.sgd import schedule
from shuffledp.training.sgd.schedule import CONSTANT, NO_RANDOMIZER, SAMPLING, THEOREM3

DATA = ("mnist", "fashion-mnist", "synthetic", "cifar10", "cifar10-jpeg")
# Features of colour images: the module that makes them, and the model that takes them.
_FEATURE_MODULES = {
    "scattering": "features.scattering",
    "cifar100": "features.pretraining",
    "public-half": "features.pretraining",
}
HEADS = {"scattering": "linear_972", "cifar100": "linear_128", "public-half": "linear_128"}
CLIPS = ("coordinate", "norm", "none")
AGGREGATES = ("sum", "clt")
# The randomisers whose Gaussian limit is known.
_WITH_LIMIT = ("l2_hemisphere", "l2_privunit")
SCHEDULES = (CONSTANT, THEOREM3)

_REALS = (
    *("clip_norm", "eps0", "noise_multiplier", "delta", "projection", "regularization"),
    *("rate", "participation", "delta0"),
)
_LISTS = ("epochs", "learning_rates", "digits")


@dataclass(frozen=True, kw_only=True)
class Experiment(specification.Experiment):
    """One experiment, checked: a specification of something that can be trained, with the same attributes."""

    def __post_init__(self) -> None:
        checks.choice("data", self.data, DATA)
        checks.choice("model", self.model, networks.NAMES)
        checks.choice("clip", self.clip, CLIPS)
        checks.choice("aggregate", self.aggregate, AGGREGATES)
        checks.choice("randomizer", self.randomizer, (*NAMES, NO_RANDOMIZER))
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
        numbers: dict[str, object] = {
            "n": n,
            "k": k,
            "epochs": epochs,
            "learning_rates": rates,
            "seeds": int(self.seeds),
        }
        numbers |= {
            field: None if getattr(self, field) is None else int(getattr(self, field))
            for field in ("slots", "epoch_rounds")
        }
        for field in _REALS:
            value = getattr(self, field)
            numbers[field] = None if value is None else float(value)
        for field, number in numbers.items():
            object.__setattr__(self, field, number)

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
        if self.aggregate == "clt" and self.randomizer not in _WITH_LIMIT:
            raise ValueError(
                f"aggregate 'clt' is for randomizers {' and '.join(_WITH_LIMIT)}, got {self.randomizer!r}; "
                "use 'sum'"
            )
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
        if self.data in IDX_SHA256:
            raise ValueError(f"features are of colour images, got data {self.data!r}; leave features out")
        if self.digits:
            raise ValueError(f"digits must be left out with features, got {tuple(self.digits)}")
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
    def rounds_per_epoch(self) -> int:
        """Rounds of an epoch; see ``schedule.rounds_per_epoch``."""
        return schedule.rounds_per_epoch(self)

    @property
    def total_epochs(self) -> int:
        """Length of a run in epochs."""
        return schedule.total_epochs(self)

    @property
    def rounds(self) -> int:
        """T, the number of rounds of a run, which the accounting takes."""
        return self.total_epochs * self.rounds_per_epoch

    @property
    def theorem3(self) -> dict[str, Any]:
        """What the constants of Theorem 3 of girgis2021 depend on; see ``schedule.theorem3``."""
        return schedule.theorem3(self, dimension=self.dimension)

    @property
    def diameter(self) -> float:
        """D, the diameter of the ball that theta is projected to; for an experiment with a projection."""
        return schedule.diameter(self)

    @property
    def feature_modules(self) -> tuple[str, ...]:
        """The modules whose code decides its features; for an experiment with features."""
        assert self.features is not None  # others are not asked
        own = _FEATURE_MODULES[self.features]
        return tuple(f"shuffledp.training.{name}" for name in ("data.colour_images", own))

    @property
    def sums(self) -> dict[str, str]:
        """Checksums of the files that its data consist of, by name; none for generated data."""
        if self.data == "synthetic":
            return {}
        public = CIFAR_SUMS["cifar100"] if self.features == "cifar100" else {}
        return {**(IDX_SHA256.get(self.data) or CIFAR_SUMS[self.data]), **public}

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
        """Return the experiment whose ``parameters`` these are."""
        setting = dict(parameters["experiment"])
        setting |= {key: tuple(setting[key]) for key in _LISTS if key in setting}
        return cls(name=name, **setting)
