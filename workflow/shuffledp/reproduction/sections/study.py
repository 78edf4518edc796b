"""A large study: an experiment on a grid, and accounting along it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from shuffledp import accountants
from shuffledp.accountants import systems
from shuffledp.randomizers import names
from shuffledp.reproduction.curve import Curve
from shuffledp.reproduction.sections.context import Context
from shuffledp.reproduction.sections.model import LEFT_OUT, OneOf, Section, Unique
from shuffledp.reproduction.sections.training import (
    Ball,
    Clients,
    ClipNorm,
    Digits,
    EpochRounds,
    Images,
    Mu,
    Rates,
    Seeds,
    Stretches,
    TrainedDelta,
    experiment,
)
from shuffledp.reproduction.studies.sweep import FOLDER, Sweep, coordinates, panel_of, parts
from shuffledp.reproduction.trainings.accounting import accounting
from shuffledp.training.experiment import HEADS, Experiment
from shuffledp.training.models import networks

SECTION = "sweep"
_MOST_TRAININGS = 100_000  # since every run of the workflow plans them all
_PURE = tuple(name for name in names.NAMES if name != "gaussian")
# Those that see images: a grid has no features, which the others need.
_MODELS = tuple(name for name in networks.NAMES if name not in HEADS.values())


class Common(Section):
    """What all points of the grid have in common; the clip is norm, and the protocol subsampled-shuffle."""

    data: Annotated[str, OneOf(("mnist", "fashion-mnist", "synthetic"))]
    """The data set."""
    digits: Digits = LEFT_OUT
    model: Annotated[str, OneOf(_MODELS)]
    """The network."""
    n: Images
    epochs: Stretches
    epoch_rounds: EpochRounds = LEFT_OUT
    projection: Ball = LEFT_OUT
    regularization: Mu = LEFT_OUT
    delta: TrainedDelta
    seeds: Seeds = LEFT_OUT


class OwnRandomizer(Section):
    """A local randomiser and what depends on it."""

    name: Annotated[str, OneOf(_PURE)]
    """An eps0-LDP randomiser."""
    clip_norm: ClipNorm
    learning_rates: Rates


class Axes(Section):
    """The values whose combinations are trained, each seed a job:
    <results>/sweep/eps0~<eps0>/k~<k>/randomizer~<randomizer>/seed<number>.csv."""

    eps0: Annotated[
        list[Annotated[float, Field(gt=0, le=100_000)]], Unique(), Field(min_length=1, max_length=1000)
    ]
    """Local privacy parameters (nats); at most 1 000 of them, since each is trained with every other value,
    and planned by every run of the workflow."""
    k: Annotated[list[Clients], Unique(), Field(min_length=1, max_length=1000)]
    """Clients drawn afresh for each round; at most 1 000 of them, since each is trained with every other
    value, and planned by every run of the workflow."""
    randomizer: Annotated[list[OwnRandomizer], Field(min_length=1, max_length=100)]
    """Local randomisers, each with what depends on it: name, clip_norm and learning_rates; at most 100 of
    them, since each is trained with every other value."""


class Study(Section):
    """A large study: an experiment on a grid, and accounting along it. Trained, accounted for and drawn by
    the target all_sweep alone."""

    experiment: Common
    """What all points of the grid have in common; the clip is norm, and the protocol subsampled-shuffle."""
    grid: Axes
    """The values whose combinations are trained, each seed a job:
    <results>/sweep/eps0~<eps0>/k~<k>/randomizer~<randomizer>/seed<number>.csv."""
    curves: Annotated[list[str], Unique(), Field(min_length=1, max_length=100)]
    """Accountants of the subsampled shuffle, each a line of the figure and, for each eps0 and k, a job:
    <results>/sweep/eps0~<eps0>/k~<k>/<accountant>.csv; at most 100 of them, since each is a job for each eps0
    and k."""


def sweep(study: Study, context: Context) -> Sweep:
    """Return the experiments and the curves of a study.

    Raises:
        ValueError: a value is repeated, there are too many trainings, the settings of one contradict each
            other, or an accountant is not of their system.
    """
    axes: dict[str, list[Any]] = {
        "eps0": study.grid.eps0,
        "k": study.grid.k,
        "randomizer": [one.name for one in study.grid.randomizer],
    }
    _check_axes(axes, study, context)
    cells = _cells(study, context)
    for index, accountant in enumerate(study.curves):
        place = [SECTION, "curves", str(index)]
        context.check_accountant(accountant, place)
        context.check_system(accountant, cells[0], place)
        if accountants.get(accountant).mechanism != systems.SUBSAMPLED_SHUFFLE[1]:
            raise context.fault(
                f"sweep.curves must be bounds by eps0 alone, which serve all randomisers, got "
                f"{accountant!r}; "
                f"leave it out",
                place,
            )
    curves = [
        Curve(
            FOLDER,
            *panel_of(cell),
            accountant,
            variable="rounds",
            values=tuple(float(epoch * cell.rounds_per_epoch) for epoch in range(1, cell.total_epochs + 1)),
            fixed=tuple(
                (key, float(value)) for key, value in accounting(cell)[systems.SUBSAMPLED_SHUFFLE].items()
            ),
            plotted=True,
        )
        # these accountants use eps0 alone, so one cell for each eps0 and k is enough
        for cell in {(cell.eps0, cell.k): cell for cell in cells}.values()
        for accountant in study.curves
    ]
    return Sweep(tuple(study.curves), tuple(cells), tuple(curves))


def _check_axes(axes: Mapping[str, list[Any]], study: Study, context: Context) -> None:
    first = {axis: values[0] for axis, values in axes.items()}
    for axis, values in axes.items():
        seen = Counter(coordinates(**{**first, axis: value})[axis] for value in values)
        value, times = seen.most_common(1)[0]
        if times > 1:
            raise context.fault(
                f"{axis} must name each value once, numbers to ten digits, got {value} {times} times",
                [SECTION, "grid", axis],
            )
    trainings = math.prod(map(len, axes.values())) * (study.experiment.seeds or 1)
    if trainings > _MOST_TRAININGS:
        raise context.fault(
            f"grid and seeds must make at most {_MOST_TRAININGS} trainings, since every run of the workflow "
            f"plans them all, got {trainings}",
            [SECTION, "grid"],
        )


def _cells(study: Study, context: Context) -> list[Experiment]:
    at, grid, found = [SECTION, "grid"], study.grid, []
    common = study.experiment.model_dump(exclude_unset=True)
    for (row, eps0), (column, k), (layer, randomizer) in itertools.product(
        enumerate(grid.eps0), enumerate(grid.k), enumerate(grid.randomizer)
    ):
        own = randomizer.model_dump(exclude={"name"})
        elsewhere = {key: [*at, "randomizer", str(layer), key] for key in own}
        elsewhere |= {"eps0": [*at, "eps0", str(row)], "k": [*at, "k", str(column)]}
        name = "/".join(parts(coordinates(eps0=eps0, k=k, randomizer=randomizer.name)))
        setting = {**common, **own, "eps0": eps0, "k": k, "randomizer": randomizer.name, "clip": "norm"}
        found.append(experiment(name, setting, [SECTION, "experiment"], context.files, elsewhere))
    return found
