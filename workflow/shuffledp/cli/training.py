"""Commands that train: an experiment, its candidate learning rates, or recorded runs once more."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shuffledp import optional_packages
from shuffledp.cli import printing
from shuffledp.cli.errors import FAILED, check_choice
from shuffledp.cli.options import Number
from shuffledp.variables import SEEDS, THREADS, counts

if TYPE_CHECKING:
    from shuffledp.reproduction.config import Settings

DEFAULT_CONFIG = "config/config.yaml"

_DEVICES = ("auto", "cpu", "cuda")
_MOST_SEEDS = 1000
_Command = Callable[..., None]

_config = click.option(
    "--config",
    metavar="FILE",
    multiple=True,
    help=f"Configuration, which replaces {DEFAULT_CONFIG}; a later one is laid over those before it. To lay "
    f"a file over {DEFAULT_CONFIG}, name both: --config {DEFAULT_CONFIG} --config FILE.",
)
_data_folder = click.option("--data", metavar="DIR", help="Folder of the data, which must exist.")
_device = click.option("--device", metavar="DEVICE", default="auto", help="auto, cpu or cuda.")
_threads = click.option(
    "--threads",
    metavar="N",
    type=Number(counts(1), THREADS),
    default="1",
    help="CPU threads of a run; several runs at once use the CPU better.",
)


def _which_seeds(command: _Command) -> _Command:
    one = click.option("--seed", metavar="SEED", type=Number(counts(0), SEEDS), help="One run (default: 0).")
    several = click.option("--seeds", metavar="RANGE", help="Several runs, one after the other, such as 0-9.")
    return one(several(command))


@click.command()
@click.argument("experiment", required=False)
@_which_seeds
@_device
@_threads
@click.option("--out", metavar="DIR", help="Where to write (default: as the workflow does).")
@_data_folder
@_config
@click.option("--list", "show", is_flag=True, help="List the experiments and stop.")
def train(
    experiment: str | None,
    seed: int | None,
    seeds: str | None,
    device: str,
    threads: int,
    out: str | None,
    data: str | None,
    config: tuple[str, ...],
    show: bool,
) -> None:
    """Train an experiment of the configuration by CLDP-SGD.

    EXPERIMENT is one of those that --list names.

    The command writes DIR/seed<k>.csv with a row for each epoch, and a record beside it. A run that was
    killed goes on from its last epoch; a run that is recorded and up to date is not trained again.
    """
    wanted = _seeds(seed, seeds)
    _check_device(device)
    settings = _settings(config)
    if show:
        _print_experiments(settings)
        return
    if experiment is None:
        raise ValueError("name an experiment; `shuffledp train --list` lists them")
    from shuffledp.reproduction.trainings import recorded

    chosen = settings.experiment(experiment)
    folder = recorded.folder(chosen, settings.results) if out is None else out
    _check_folder("paths.results" if out is None else "--out", folder)
    optional_packages.need("torch", extra="training")
    from shuffledp.reproduction.trainings import commands

    _log_to_stderr()
    if out is None and wanted[-1] >= chosen.seeds:
        click.echo(
            f"the workflow has seeds 0 to {chosen.seeds - 1} of {experiment}: no figure uses a run of seed "
            f"{wanted[-1]}, unless `seeds` in the configuration is raised",
            err=True,
        )
    commands.train(
        chosen,
        seeds=wanted,
        device=device,
        threads=threads,
        folder=folder,
        root=_data(data, settings),
        say=click.echo,
    )


@click.command()
@click.argument("experiment")
@_which_seeds
@click.option(
    "--epochs",
    metavar="N",
    type=Number(counts(1)),
    default="1",
    help="Number of epochs of each run to train.",
)
@click.option(
    "--stamp", is_flag=True, help="Mark the records of runs that are reproduced as reproduced and current."
)
@_data_folder
@_config
def reproduce(
    experiment: str,
    seed: int | None,
    seeds: str | None,
    epochs: int,
    stamp: bool,
    data: str | None,
    config: tuple[str, ...],
) -> None:
    """Train recorded runs again and compare.

    EXPERIMENT is one of those that `shuffledp train --list` names.

    The command trains the first epochs on one CPU core and compares their rows with the recorded tables.
    Another kind of processor may give other last digits. The exit status is 1 if a value differs.
    """
    wanted = _seeds(seed, seeds)
    settings = _settings(config)
    chosen = settings.experiment(experiment)
    optional_packages.need("torch", extra="training")
    from shuffledp.reproduction.trainings import commands, recorded

    folder = recorded.folder(chosen, settings.results)
    for one in wanted:
        if one >= chosen.seeds and not Path(f"{folder}/seed{one}.csv").exists():
            asked = (
                "--seed must be that of a recorded run"
                if seeds is None
                else "--seeds must be of recorded runs"
            )
            raise ValueError(f"{asked} of {experiment}, 0 to {chosen.seeds - 1}, got {one}")
    if stamp:
        _check_folder("paths.results", folder)
    _log_to_stderr()
    reproduced = commands.reproduce(
        chosen,
        seeds=wanted,
        rows=epochs,
        stamp=stamp,
        folder=folder,
        root=_data(data, settings),
        say=click.echo,
    )
    if not reproduced:
        click.get_current_context().exit(FAILED)


@click.command()
@click.argument("experiment")
@_device
@_threads
@_data_folder
@_config
def tune(experiment: str, device: str, threads: int, data: str | None, config: tuple[str, ...]) -> None:
    """Try an experiment's learning rates on held-out images.

    EXPERIMENT is one of those under training.tuning in the configuration.

    The command writes tuning/<experiment>.csv among the results, and a record beside it. It chooses nothing:
    write the best learning rate into the configuration yourself.
    """
    _check_device(device)
    settings = _settings(config)
    asked = settings.tuning(experiment)
    _check_folder("paths.results", str(Path(asked.product(settings.results).record).parent))
    optional_packages.need("torch", extra="training")
    from shuffledp.reproduction.trainings import tuning

    _log_to_stderr()
    tuning.make(
        asked,
        results=settings.results,
        device=device,
        threads=threads,
        root=_data(data, settings),
        say=click.echo,
    )


COMMANDS = (train, reproduce, tune)


def _settings(files: tuple[str, ...]) -> Settings:
    """Return the settings of the files that the command line names, or else of ``DEFAULT_CONFIG``.

    Raises:
        ValueError: a file is not there, or the settings are wrong.
    """
    optional_packages.need("pydantic", extra="training")
    from shuffledp.reproduction import config as configuration

    if not (files or Path(DEFAULT_CONFIG).exists()):
        raise ValueError(
            f"{DEFAULT_CONFIG} is not in this folder; run the command in a clone of the repository, or name "
            "a file with --config"
        )
    return configuration.load(files or (DEFAULT_CONFIG,))


def _check_device(name: str) -> None:
    """Refuse a device that there is not, before anything is read."""
    check_choice("--device", name, _DEVICES, meant="cuda" if name.lower() == "gpu" else None)


def _check_folder(named: str, folder: str) -> None:
    """Refuse a folder that cannot be written to, before anything is computed."""
    from shuffledp.records import refusals

    why_not = refusals.of_folder(folder)
    if why_not:
        raise ValueError(f"{named} {why_not}")


def _data(folder: str | None, settings: Settings) -> str | None:
    """Return the folder of the data; that of the command line takes precedence over the environment's.

    Raises:
        ValueError: the folder that the command line names does not exist. It may be mistyped, so it is not
            created and filled.
    """
    from shuffledp.training.data import datasets

    if folder is None:
        return settings.data_root
    if not Path(folder).is_dir():
        raise ValueError(
            f"--data must name a folder that exists, got {folder!r}; create it first, or leave --data out to "
            f"use {settings.data_root or datasets.DEFAULT_ROOT}"
        )
    os.environ.pop(datasets.VARIABLE, None)
    return folder


def _seeds(seed: int | None, seeds: str | None) -> range:
    if seed is not None and seeds is not None:
        raise ValueError("give one of --seed and --seeds, got both")
    if seeds is None:
        only = seed or 0
        return range(only, only + 1)
    first, dash, last = seeds.partition("-")
    if not (dash and all(end.isascii() and end.isdecimal() for end in (first, last))):
        raise ValueError(f"--seeds must be a range such as 0-9, got {seeds!r}")
    # as doubles, since int() refuses a text of very many digits
    beyond = SEEDS.beyond(max(float(first), float(last)))
    if beyond:
        raise ValueError(f"--seeds {beyond}")
    if int(first) > int(last):
        raise ValueError(f"--seeds must be a range such as 0-9, got {seeds!r}")
    if int(last) - int(first) >= _MOST_SEEDS:
        raise ValueError(
            f"--seeds must be a range of at most {_MOST_SEEDS}, since each is a training, got {seeds!r}"
        )
    return range(int(first), int(last) + 1)


def _print_experiments(settings: Settings) -> None:
    from shuffledp.training.costs import core_seconds

    rows, minutes = [], 0.0
    for entry in settings.experiments:
        made = sum(run.is_current() for run in settings.trainings(entry))
        each = core_seconds(entry) / 60
        minutes += each * (entry.seeds - made)
        rows.append(
            [
                *(
                    entry.name,
                    entry.randomizer,
                    _optional(entry.eps0),
                    entry.clip,
                    _optional(entry.clip_norm),
                ),
                *(str(value) for value in (entry.n, entry.k, entry.total_epochs, entry.rounds)),
                *(entry.data, str(entry.seeds), str(made), f"{each:.2g}"),
            ]
        )
    columns = ["experiment", "randomizer", "eps0", "clip", "C", "n", "k", "epochs", "rounds"]
    printing.table([*columns, "data", "seeds", "made", "minutes each"], rows)
    click.echo(f"The runs that are not made yet take about {minutes:.0f} minutes of one CPU core.")
    for tuning in settings.tunings:
        if not tuning.product(settings.results).is_current():
            each = sum(core_seconds(entry) for entry in tuning.longest) / 60
            click.echo(f"shuffledp tune {tuning.experiment.name} takes {each:.0f} minutes more.")


def _optional(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _log_to_stderr() -> None:
    """Show the library's messages about long work, such as features, before the first line of a run."""
    import logging

    logging.basicConfig(format="%(message)s")
    logging.getLogger("shuffledp").setLevel(logging.INFO)
