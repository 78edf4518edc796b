"""Experiments, their data, and the learning rates to try."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from shuffledp import protocols
from shuffledp.randomizers import names
from shuffledp.reproduction.sections.model import LEFT_OUT, By, Count, OneOf, Section, Target
from shuffledp.reproduction.sections.places import fault
from shuffledp.reproduction.trainings import learning_rates
from shuffledp.training.experiment import AGGREGATES, CLIPS, DATA, HEADS, SCHEDULES, Experiment
from shuffledp.training.models import networks
from shuffledp.training.sgd.schedule import NO_RANDOMIZER

# Training images, of each digit for MNIST; generated ones are made in memory, some kilobytes each.
_MNIST_IMAGES = (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949)
_IMAGES = {"synthetic": 1_000_000, "cifar10": 50_000, "cifar10-jpeg": 50_000}

_MOST_ROUNDS = 1_000_000  # of an epoch
_MOST_EPOCHS = 100_000

Clients = Annotated[int, Count(1, 100_000_000)]
Epochs = Annotated[int, Count(1, _MOST_EPOCHS)]
Stretches = Annotated[
    list[Epochs],
    Field(
        min_length=1,
        max_length=1000,
        description="Lengths of the stretches of the learning rate; an epoch is n/k rounds, rounded down "
        "(k the "
        "expected number of messages, if the protocol does not fix it), or one run of a protocol of windows, "
        "unless epoch_rounds says otherwise; at most 1 000 of them, since each stretch is read and recorded; "
        "together at most 100 000, since an epoch is a row that is stored.",
    ),
]
Rates = Annotated[
    list[Annotated[float, Field(ge=0)]],
    Field(
        min_length=1,
        max_length=1000,
        description="Learning rates, one a stretch; at most 1 000 of them, since each stretch is read and "
        "recorded.",
    ),
]
Digits = Annotated[
    list[Annotated[int, Count(0, 9)]],
    Field(min_length=2, description="Keep the images of these digits alone; all ten if absent."),
]
Images = Annotated[
    Clients,
    Field(
        description="Number of clients, one training image each; at most 1e8, since a protocol keeps a "
        "number for "
        "each client; and without bootstrap at most as many as there are images."
    ),
]
ClipNorm = Annotated[float, Field(gt=0, description="Clip norm C.")]
Ball = Annotated[
    float, Field(gt=0, description="Radius of the l2 ball around 0 that the parameters are projected to.")
]
Mu = Annotated[float, Field(ge=0, description="mu of a term mu |theta|^2/2 in each client's loss.")]
EpochRounds = Annotated[
    int,
    Count(1, _MOST_ROUNDS),
    Field(
        description="Rounds of an epoch, if not n/k; at most 1e6, as n/k must be too, since the rounds of an "
        "epoch are trained one after the other, at most some 1 000 a second, without a checkpoint between "
        "them.",
    ),
]
Seeds = Annotated[
    int,
    Count(1, 1000),
    Field(
        description="How many runs, of seeds 0, 1 and so on; at most 1 000, since each is a training of "
        "its own, "
        "planned by every run of the workflow.",
    ),
]
TrainedDelta = Annotated[
    Target, Field(description="Target delta of the accounting; training does not depend on it.")
]


class ExperimentSection(Section):
    """One experiment."""

    data: Annotated[str, OneOf(DATA)]
    """The data set."""
    features: Annotated[str, OneOf(tuple(HEADS))] = LEFT_OUT
    """What the model sees of colour images: scattering coefficients, or what a network pre-trained without
    noise makes of them, on CIFAR-100 or (a surrogate) on a public half of the training images."""
    digits: Digits = LEFT_OUT
    model: Annotated[str, OneOf(networks.NAMES)]
    """The network."""
    n: Images
    k: Clients = LEFT_OUT
    """Clients drawn afresh for each round; for protocol subsampled-shuffle, and left out with any other; at
    most 1e8, since a protocol keeps a number for each client."""
    randomizer: Annotated[str, OneOf((*names.NAMES, NO_RANDOMIZER))]
    """Local randomiser; none for plain SGD."""
    clip: Annotated[str, OneOf(CLIPS)]
    """Project the drawn coordinate into the ball, scale the gradient into it, or neither."""
    clip_norm: ClipNorm = LEFT_OUT
    eps0: Annotated[float, Field(gt=0, le=100_000)] = LEFT_OUT
    """Local privacy parameter (nats); at most 100 000, since reports with a larger one hide nothing."""
    noise_multiplier: Annotated[float, Field(gt=0)] = LEFT_OUT
    """Standard deviation over C, of the gaussian randomiser."""
    delta: TrainedDelta = LEFT_OUT
    epochs: Stretches
    learning_rates: Rates
    protocol: Annotated[str, OneOf(tuple(protocols.PROTOCOLS))] = LEFT_OUT
    """Who takes part in a round; subsampled-shuffle (k clients that the server draws) if absent."""
    rate: Target = LEFT_OUT
    """Probability of taking part in a round, for protocol shuffled-check-in."""
    slots: Clients = LEFT_OUT
    """Slots that a client may choose from, for protocols of windows; at most 1e8, since a protocol keeps a
    number for each slot."""
    participation: Annotated[float, Field(ge=0, le=1)] = LEFT_OUT
    """Probability of taking part in a window, for protocol fixed-window; 1 if absent."""
    schedule: Annotated[str, OneOf(SCHEDULES)] = LEFT_OUT
    """Steps as long as the learning rate says, or those of Theorem 3 times the learning rate, with a column
    for the excess risk."""
    seeds: Seeds = LEFT_OUT
    aggregate: Annotated[str, OneOf(AGGREGATES)] = LEFT_OUT
    """Sum of the messages, or its Gaussian limit (l2_hemisphere and l2_privunit only)."""
    projection: Ball = LEFT_OUT
    regularization: Mu = LEFT_OUT
    bootstrap: bool = LEFT_OUT
    """Each client holds a training image drawn with replacement, for check-in protocols: n may be any
    number."""
    delta0: Target = LEFT_OUT
    """With eps0 and the gaussian randomiser, in place of a noise multiplier: its noise is the least with
    which it is (eps0, delta0)-LDP."""
    epoch_rounds: EpochRounds = LEFT_OUT


class Tuning(Section):
    """What to try for one experiment."""

    halving: bool = False
    """Whether the better half of the tries goes on for twice as long, until two are left, and these to the
    end of the experiment."""
    learning_rates: Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=1, max_length=100)]
    """Each is tried; at most 100 of them, since each is a whole training."""
    epochs: Epochs
    """Length of a try, or of its first stage with halving; at most 100 000, since an epoch is a row that is
    stored."""
    held_out: Annotated[int, Count(1, 60_000)]
    """Random training images that no client holds and accuracy is measured on; at most 60 000, since no data
    set has more training images."""


class DataSection(Section):
    """The data."""

    root: str = LEFT_OUT
    """Folder of the four MNIST files, or where they are fetched to, and of the files of CIFAR; those of
    Fashion-MNIST are in its subfolder fashion-mnist. SHUFFLEDP_DATA, of the environment, goes before it."""


class Training(Section):
    """Runs of CLDP-SGD, and their data."""

    data: DataSection = DataSection()
    """The data."""
    device: Annotated[str, OneOf(("auto", "cpu", "cuda"))] = "auto"
    """What the workflow trains on: cuda (an error where there is none; each job asks for a GPU), cpu, or
    auto, a GPU where a job was given one and torch can use it."""
    batch_seeds: bool = False
    """Whether one job trains all seeds of an experiment, one after the other, which suits a GPU; if not, or
    absent, each seed is a job, which suits CPUs."""
    experiments: Annotated[dict[str, ExperimentSection], By("experiment")] = Field(default={})
    """Experiments by name; each seed is a run, <results>/training/<experiment>/seed<k>.csv."""
    tuning: Annotated[dict[str, Tuning], By("experiment")] = Field(default={})
    """Learning rates to try before an experiment is run, by its name: <results>/tuning/<experiment>.csv."""


def experiment(
    name: str,
    setting: Mapping[str, Any],
    at: Sequence[str],
    files: Sequence[str],
    elsewhere: Mapping[str, Sequence[str]] | None = None,
) -> Experiment:
    """Return an experiment from its settings in the configuration.

    Raises:
        ValueError: the settings contradict each other.
    """
    lists = {key: tuple(value) for key, value in setting.items() if isinstance(value, list)}
    try:
        made = Experiment(name=name, **{**setting, **lists})
        _check_images(made)
        _check_length(made)
        return made
    except ValueError as error:
        wrong = next((key for key in setting if str(error).startswith(key)), None)
        place = (elsewhere or {}).get(wrong, [*at, wrong]) if wrong else at
        raise fault(str(error), place, files) from None


def _images(experiment: Experiment) -> int:
    """Return how many training images there are for an experiment's clients to hold."""
    if experiment.data in _IMAGES:
        return _IMAGES[experiment.data] // (2 if experiment.features == "public-half" else 1)
    return sum(_MNIST_IMAGES[digit] for digit in experiment.digits or range(10))


def _check_images(experiment: Experiment) -> None:
    most = _images(experiment)
    if not experiment.bootstrap and experiment.n > most:
        of = f" of {', '.join(map(str, experiment.digits))}" if experiment.digits else ""
        raise ValueError(
            f"n must be at most {most}, the training images of {experiment.data}{of}, one a client, got "
            f"{experiment.n}"
        )


def _check_length(experiment: Experiment) -> None:
    if experiment.total_epochs > _MOST_EPOCHS:
        raise ValueError(
            f"epochs must be at most {_MOST_EPOCHS} together, since each is a row that is stored, got "
            f"{experiment.total_epochs}"
        )
    rounds = experiment.rounds_per_epoch
    if rounds > _MOST_ROUNDS:
        raise ValueError(
            f"epoch_rounds must be given, at most {_MOST_ROUNDS}: an epoch would have {rounds:g} rounds, "
            "trained one after the other without a checkpoint between them"
        )


def experiments(training: Training, files: Sequence[str]) -> tuple[Experiment, ...]:
    """Return the experiments of a configuration.

    Raises:
        ValueError: the settings of one contradict each other.
    """
    return tuple(
        experiment(name, one.model_dump(exclude_unset=True), ["training", "experiments", name], files)
        for name, one in training.experiments.items()
    )


def tunings(
    training: Training, known: Sequence[Experiment], files: Sequence[str]
) -> tuple[learning_rates.Tuning, ...]:
    """Return the tunings of learning rates to try before experiments are run.

    Raises:
        ValueError: there is no such experiment, or the settings of its tries contradict each other.
    """
    by_name, found = {one.name: one for one in known}, []
    for name, one in training.tuning.items():
        at = ["training", "tuning", name]
        if name not in by_name:
            raise fault(
                f"tuning is of one of training.experiments ({', '.join(by_name)}), got {name!r}", at, files
            )
        try:
            tuning = learning_rates.Tuning(
                experiment=by_name[name],
                learning_rates=tuple(map(float, one.learning_rates)),
                epochs=one.epochs,
                held_out=one.held_out,
                halving=one.halving,
            )
        except ValueError as error:
            raise fault(str(error), at, files) from None
        found.append(tuning)
    return tuple(found)
