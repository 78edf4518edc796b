"""The command line: what a deployment costs, and what fits into a budget.

Only parsing and printing live here; the numbers come from ``shuffledp.accountants``. That brings numpy and
scipy along, which take longer to load than help or a refusal may take, so commands import it once their
arguments have been read.
"""

from __future__ import annotations

import functools
import json
import logging
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

import shuffledp
from shuffledp import optional_packages, rounding
from shuffledp.records import refusals
from shuffledp.variables import THREADS, beyond

if TYPE_CHECKING:
    from shuffledp.accountants import Accountant
    from shuffledp.accountants.systems import System
    from shuffledp.reproduction.config import Settings

BAD_INPUT = 2
FAILED = 1
DEFAULT_CONFIG = "config/config.yaml"

_MOST_SEEDS = 1000
_LITTLE = 20.0  # an epsilon beyond which there is a warning
_PIPED_WIDTH = 350  # columns; a row stays one line where nobody reads it on a screen
_ORDER = ("upper", "estimate", "lower")
_SIGN = {"upper": "<=", "estimate": "~", "lower": ">="}


class _OneLineErrors(TyperGroup):
    """Reports whatever is wrong in one line on stderr, without usage and without traceback."""

    def main(self, *args: Any, **kwargs: Any) -> None:
        """Run the command line and exit: 0, 2 for bad input, 1 where the numerics give up."""
        try:
            code = super().main(*args, **{**kwargs, "standalone_mode": False}) or 0
        except TyperException as error:
            context = getattr(error, "ctx", None)
            wanted = _INSTEAD.get((getattr(context, "info_name", None), getattr(error, "option_name", None)))
            if wanted:
                sys.exit(_complain(wanted, BAD_INPUT))
            hint = f" (see {context.command_path} --help)" if context else ""
            code = _complain(error.format_message().rstrip(".") + hint, error.exit_code)
        except ValueError as error:
            code = _complain(_with_options(str(error)), BAD_INPUT)
        except ArithmeticError as error:
            code = _complain(_with_options(str(error)), FAILED)
        except OSError as error:
            code = _complain(refusals.of_system(error), FAILED)
        sys.exit(code)


def _complain(message: str, code: int) -> int:
    typer.echo(f"Error: {' '.join(message.split())}", err=True)
    return code


def _warn(message: str) -> None:
    typer.echo(f"Warning: {message}", err=True)


def _with_options(message: str) -> str:
    """Return a refusal of the library's with the options of the variables that it says must be otherwise."""
    return re.sub(
        r"(?<![\w-])([a-z]\w*)(?= must )",
        lambda found: _OPTIONS.get(found[1], _NUMBERS.get(found[1], found[1])),
        message,
    )


app = typer.Typer(
    cls=_OneLineErrors,
    add_completion=False,
    # rich help pages take twice as long to appear as plain ones
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Numbers arrive as text, so that 1e6 is a count and a refusal names option, value and range in our words.
Clients = Annotated[
    str | None, typer.Option("--clients", metavar="N", help="Number of clients, such as 1e6.")
]
PerRound = Annotated[
    str | None,
    typer.Option("--per-round", metavar="K", help="Clients drawn afresh for each round, at most N."),
]
Eps0 = Annotated[
    str | None, typer.Option("--eps0", metavar="EPS0", help="Local privacy parameter of the randomiser.")
]
Categories = Annotated[
    str | None, typer.Option("--categories", metavar="C", help="Symbols of a k-ary randomised response.")
]
Gamma = Annotated[
    str | None,
    typer.Option("--gamma", metavar="GAMMA", help="Probability that it answers uniformly at random."),
]
Rate = Annotated[
    str | None,
    typer.Option("--rate", metavar="RATE", help="Probability that a client checks in to a round."),
]
Slots = Annotated[
    str | None, typer.Option("--slots", metavar="M", help="Slots of the window in which a client checks in.")
]
Participation = Annotated[
    str | None,
    typer.Option("--participation", metavar="P", help="Probability that a client takes part in a window."),
]
Sigma = Annotated[
    str | None,
    typer.Option(
        "--sigma", metavar="SIGMA", help="Deviation of the Gaussian noise over the records' distance."
    ),
]
Delta0 = Annotated[
    str | None,
    typer.Option(
        "--delta0", metavar="DELTA0", help="Failure probability of an (EPS0, DELTA0)-LDP randomiser."
    ),
]
Share = Annotated[
    str | None,
    typer.Option(
        "--share",
        metavar="F",
        help="The randomiser has a blanket of mass 1/(1 + (e^EPS0 - 1) F), 0 < F <= 1/2.",
    ),
]
Tv = Annotated[
    str | None,
    typer.Option("--tv", metavar="TV", help="Bound on the total variation between reports of two records."),
]
Protocol = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        metavar="NAME",
        help="Who takes part: subsampled-shuffle (default), shuffle, shuffled-check-in, "
        "distributed-check-in, fixed-window, sliding-window, averaged-window.",
    ),
]
Mechanism = Annotated[
    str | None,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="What they send: ldp (any, the default), share, tv, blanket (what --share and --tv say), krr, "
        "gaussian, approximate-ldp (these three with protocol shuffle if none is named).",
    ),
]
Rounds = Annotated[str, typer.Option("--rounds", metavar="T", help="Number of rounds, such as 1e5.")]
Delta = Annotated[str, typer.Option("--delta", metavar="DELTA", help="Target delta; 0 asks for pure DP.")]
Name = Annotated[
    str | None,
    typer.Option(
        "--accountant",
        metavar="NAME",
        help="One of those that `shuffledp accountants` lists (default: the tightest upper bound as a rule).",
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json",
        help='Print JSON; an infinite number is the string "inf", one that was not computed is null.',
    ),
]


_UNUSUAL_ROUNDS = (
    "A client that sends two reports in a round: enter twice its EPS0 and one round, and count clients, not "
    "reports, in N and K. Fewer than K reports arrive: throw them away unread, and draw the round anew; or, "
    "where neither the records nor who a client is decide whether it drops out, enter the fewest that "
    "arrived in any round for K, and N times that over K, rounded down, for N, which leaves the rate K/N "
    "as it is."
)


@app.callback(invoke_without_command=True)
def _shuffledp(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Privacy accounting for the shuffle model: T rounds, each with K of N clients drawn afresh.

    Neighbouring data sets differ in the record of one client. Numbers may be written as 1e6.
    """
    if version:
        typer.echo(f"shuffledp {shuffledp.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(BAD_INPUT)


@app.command(epilog=_UNUSUAL_ROUNDS)
def epsilon(
    rounds: Rounds,
    delta: Delta,
    clients: Clients = None,
    per_round: PerRound = None,
    eps0: Eps0 = None,
    categories: Categories = None,
    gamma: Gamma = None,
    rate: Rate = None,
    slots: Slots = None,
    participation: Participation = None,
    sigma: Sigma = None,
    delta0: Delta0 = None,
    share: Share = None,
    tv: Tv = None,
    randomizer: Annotated[
        str | None,
        typer.Option(
            "--randomizer",
            metavar="NAME",
            help="The interval of this one: krr (--categories), subset-selection (--categories, --subset), "
            "local-hashing (--cells, --collision) with a hash drawn for each report and sent along, "
            "public-hashing (--cells) with one that is public for the round, privunit (--dimension), "
            "coordinate, hemisphere, laplace, piecewise, hadamard-response, oue, rappor.",
        ),
    ] = None,
    dimension: Annotated[
        str | None, typer.Option("--dimension", metavar="D", help="Of the vectors of a named randomiser.")
    ] = None,
    subset: Annotated[
        str | None, typer.Option("--subset", metavar="S", help="Categories that subset selection sends.")
    ] = None,
    cells: Annotated[
        str | None, typer.Option("--cells", metavar="G", help="Values of a hash of local hashing.")
    ] = None,
    collision: Annotated[
        str | None,
        typer.Option(
            "--collision",
            metavar="P",
            help="Least probability that two records have one hash, where each report draws its own.",
        ),
    ] = None,
    protocol: Protocol = None,
    mechanism: Mechanism = None,
    accountant: Annotated[
        str | None, typer.Option("--accountant", metavar="NAME", help="This one only (default: all).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print epsilon by every accountant.

    The tightest upper bound comes first, lower bounds last; then the interval that epsilon lies in for the
    worst eps0-LDP randomiser, or, where the mechanism is given, for the worst data sets. Upper bounds are
    shown rounded up, lower bounds rounded down. Lower bounds marked renyi speak of Renyi
    accounting only and take no part in the interval. With --randomizer, the interval of that randomiser.
    """
    given = {
        "n": clients,
        "k": per_round,
        "eps0": eps0,
        "categories": categories,
        "gamma": gamma,
        "rate": rate,
        "slots": slots,
        "participation": participation,
        "sigma": sigma,
        "delta0": delta0,
        "share": share,
        "tv": tv,
        "dimension": dimension,
        "subset": subset,
        "cells": cells,
        "collision": collision,
    }
    read = {**_read(given), "rounds": _count("--rounds", rounds, at_least=0), "delta": _delta(delta)}
    if randomizer is not None:
        chosen = {"--protocol": protocol, "--mechanism": mechanism, "--accountant": accountant}
        _of_randomizer(randomizer, read, chosen, as_json=as_json)
        return
    system = _system(protocol, mechanism, accountant, read)
    setting = _of_system(system, read)
    from shuffledp import accountants

    listed = accountants.names(protocol=system.protocol, mechanism=system.mechanism)
    entries = [accountants.get(name) for name in (listed if accountant is None else [accountant])]
    refused: list[accountants.Refusal] = []
    if accountant is None:
        # one accountant that cannot answer does not take the table down
        answers, refused = accountants.attempts(entries, **setting)
        rows = [(entry, {name: float(value) for name, value in row.items()}) for entry, row in answers]
    else:
        rows = [(entry, _details(entry, setting)) for entry in entries]
    rows.sort(key=lambda row: _tightest_first(row[0], row[1]["epsilon"]))
    bracket = _bracket(rows) if accountant is None else None
    if rows:
        _warn_of_little(setting, rows[0][1]["epsilon"])
    if as_json:
        found = [{**_described(entry), "epsilon": row["epsilon"], "details": row} for entry, row in rows]
        for name, reason in refused:
            found.append(
                {**_described(accountants.get(name)), "epsilon": None, "refused": _with_options(reason)}
            )
        _print_json({"setting": setting, "accountants": found, "bracket": bracket})
        return
    typer.echo(_in_words(setting))
    _print_table(
        ["accountant", "epsilon", "kind", "citation", "theorem"],
        [
            [
                entry.name,
                rounding.shown(row["epsilon"], entry.kind),
                _side(entry),
                entry.citation,
                entry.theorem,
            ]
            for entry, row in rows
        ]
        + [
            [name, "none", _side(entry), entry.citation, f"cannot answer: {_with_options(reason)}"]
            for name, reason in refused
            for entry in (accountants.get(name),)
        ],
    )
    if bracket:
        low, high = rounding.shown(bracket["lower"], "lower"), rounding.shown(bracket["upper"], "upper")
        ratio = rounding.shown(bracket["ratio"], "upper", digits=4)
        ratio = f", ratio {ratio}" if math.isfinite(bracket["ratio"]) else ""
        typer.echo(f"epsilon in [{low}, {high}] by {' and '.join(bracket['names'].values())}{ratio}")
    elif accountant is not None:
        ((entry, row),) = rows
        for column in list(row)[1:]:  # epsilon itself is in the table
            kind = entry.kind if column == "theorem_epsilon" else "estimate"
            typer.echo(f"{column} = {rounding.shown(row[column], kind)}")


@app.command(epilog=_UNUSUAL_ROUNDS)
def delta(
    rounds: Rounds,
    eps: Annotated[str, typer.Option("--eps", metavar="EPS", help="Epsilon at which delta is asked for.")],
    clients: Clients = None,
    per_round: PerRound = None,
    eps0: Eps0 = None,
    categories: Categories = None,
    gamma: Gamma = None,
    rate: Rate = None,
    slots: Slots = None,
    participation: Participation = None,
    sigma: Sigma = None,
    delta0: Delta0 = None,
    share: Share = None,
    tv: Tv = None,
    protocol: Protocol = None,
    mechanism: Mechanism = None,
    accountant: Name = None,
    as_json: AsJson = False,
) -> None:
    """Print delta at a given epsilon.

    The accountant computes epsilon from delta; this is inverted by bisection on log delta. An upper bound
    on delta is rounded up to seven digits, so that epsilon at the printed delta does not exceed EPS; a lower
    bound is rounded down.
    """
    given = {
        "n": clients,
        "k": per_round,
        "eps0": eps0,
        "categories": categories,
        "gamma": gamma,
        "rate": rate,
        "slots": slots,
        "participation": participation,
        "sigma": sigma,
        "delta0": delta0,
        "share": share,
        "tv": tv,
    }
    read = {**_read(given), "rounds": _count("--rounds", rounds, at_least=0)}
    asked = _real("--eps", eps)
    system = _system(protocol, mechanism, accountant, read)
    setting = _of_system(system, read)
    from shuffledp import accountants
    from shuffledp.accountants import calibration

    entry = accountants.get(system.default if accountant is None else accountant)
    found = calibration.delta_at(entry.name, eps=asked, **setting)
    # every mechanism is (eps, 1)-DP, so no accountant is asked about that
    recomputed = float(entry.epsilon(**setting, delta=found)) if found < 1 else None
    _warn_of_little(setting, asked)
    if as_json:
        result = {"delta": found, "eps": asked, "epsilon": recomputed}
        _print_json({"setting": setting, "accountant": _described(entry), **result})
        return
    typer.echo(_in_words(setting))
    typer.echo(f"delta {_SIGN[entry.kind]} {_digits(found)} at epsilon = {asked:.15g} by {_source(entry)}")
    if recomputed is not None:
        typer.echo(f"epsilon at that delta: {rounding.shown(recomputed, entry.kind)}")


@app.command(epilog=_UNUSUAL_ROUNDS)
def calibrate(
    target_eps: Annotated[
        str, typer.Option("--target-eps", metavar="EPS", help="The budget: epsilon must not exceed it.")
    ],
    delta: Delta,
    clients: Clients = None,
    per_round: PerRound = None,
    rounds: Annotated[
        str | None, typer.Option("--rounds", metavar="T", help="Given: find the largest EPS0.")
    ] = None,
    eps0: Annotated[
        str | None, typer.Option("--eps0", metavar="EPS0", help="Given: find the largest T.")
    ] = None,
    categories: Categories = None,
    gamma: Gamma = None,
    rate: Rate = None,
    slots: Slots = None,
    participation: Participation = None,
    sigma: Sigma = None,
    delta0: Delta0 = None,
    share: Share = None,
    tv: Tv = None,
    protocol: Protocol = None,
    mechanism: Mechanism = None,
    accountant: Name = None,
    as_json: AsJson = False,
) -> None:
    """Print the largest EPS0, or T, within a budget.

    With --rounds the largest EPS0, rounded down to seven digits; with --eps0 the largest whole T. Epsilon
    recomputed from the printed number does not exceed the budget. The accountant must be an upper bound.
    Where what is sent is not set by EPS0, as with --sigma, give neither of the two, and T is found.
    """
    target = _real("--target-eps", target_eps, zero=False)
    unknown = "rounds" if rounds is None else "eps0"
    given = {
        "n": clients,
        "k": per_round,
        "eps0": eps0,
        "categories": categories,
        "gamma": gamma,
        "rate": rate,
        "slots": slots,
        "participation": participation,
        "sigma": sigma,
        "delta0": delta0,
        "share": share,
        "tv": tv,
    }
    read = {**_read(given), "delta": _delta(delta)}
    if rounds is not None:
        read["rounds"] = _count("--rounds", rounds, at_least=1)
    system = _system(protocol, mechanism, accountant, read)
    if "eps0" not in system.variables and rounds is not None:
        raise ValueError(
            f"leave out --rounds, which are found: {system} is set by {_names(system)}, not by --eps0"
        )
    if "eps0" in system.variables and (rounds is None) == (eps0 is None):
        found = "neither" if rounds is None else "both"
        raise ValueError(f"give one of --rounds (to find eps0) and --eps0 (to find rounds), got {found}")
    setting = _of_system(system, read, but=unknown)
    from shuffledp import accountants
    from shuffledp.accountants import calibration

    find = {"eps0": calibration.largest_eps0, "rounds": calibration.most_rounds}[unknown]
    entry = accountants.get(system.default if accountant is None else accountant)
    found = find(entry.name, target_eps=target, **setting)
    recomputed = float(entry.epsilon(**setting, **{unknown: found}))
    _warn_of_little(setting, recomputed)
    if as_json:
        result = {"target_eps": target, unknown: found, "epsilon": recomputed}
        _print_json({"setting": setting, "accountant": _described(entry), **result})
        return
    typer.echo(_in_words(setting))
    shown = _digits(found) if unknown == "eps0" else str(found)
    typer.echo(f"{unknown} <= {shown} keeps epsilon <= {target:.15g} by {_source(entry)}")
    typer.echo(f"epsilon there: {rounding.shown(recomputed, entry.kind)}")


@app.command("accountants")
def list_accountants(as_json: AsJson = False) -> None:
    """List the accountants and their theorems."""
    from shuffledp import accountants

    names = [
        name
        for system in accountants.systems.systems()
        for name in accountants.names(protocol=system.protocol, mechanism=system.mechanism)
    ]
    entries = [_described(accountants.get(name)) for name in names]
    if as_json:
        _print_json(entries)
        return
    columns = ["name", "kind", "scope", "protocol", "mechanism", "citation", "theorem", "needs"]
    rows = [{**entry, "needs": ", ".join(entry["needs"])} for entry in entries]
    _print_table(columns, [[row[column] for column in columns] for row in rows])


@app.command()
def train(
    experiment: Annotated[str | None, typer.Argument(help="One of those that --list names.")] = None,
    seed: Annotated[str | None, typer.Option("--seed", metavar="SEED", help="One run (default: 0).")] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", metavar="RANGE", help="Several, one after the other, as 0-9.")
    ] = None,
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[
        str, typer.Option("--threads", metavar="N", help="Of the CPU; more runs at once use it better.")
    ] = "1",
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Where to write (default: as the workflow does)."),
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="DIR", help="Folder of the MNIST files.")
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="FILE", help="Configuration, each laid over those before it."),
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="List the experiments and stop.")] = False,
) -> None:
    """Train an experiment of the configuration by CLDP-SGD.

    Writes DIR/seed<k>.csv with a row an epoch, and a record beside it. A run that was killed goes on from its
    last epoch; one that is there and up to date is not done again.
    """
    wanted = _seeds(seed, seeds)
    cores = _count("--threads", threads, at_least=1)
    optional_packages.need("yaml", "jsonschema", extra="training")
    from shuffledp.reproduction import config as configuration

    settings = configuration.load(config or [DEFAULT_CONFIG])
    if show:
        _print_experiments(settings)
        return
    if experiment is None:
        raise ValueError("name an experiment; `shuffledp train --list` lists them")
    chosen = settings.experiment(experiment)
    folder = out or chosen.folder(settings.results)
    why_not = refusals.of_folder(folder)
    if why_not:
        raise ValueError(f"{'--out' if out else 'paths.results'} {why_not}")
    optional_packages.need("torch", extra="training")
    from shuffledp.reproduction.trainings import commands

    _hear()
    commands.train(
        chosen,
        seeds=wanted,
        device=device,
        threads=cores,
        folder=folder,
        root=_data(data, settings),
        say=typer.echo,
    )


@app.command()
def reproduce(
    experiment: Annotated[str, typer.Argument(help="One of those that `shuffledp train --list` names.")],
    seed: Annotated[str | None, typer.Option("--seed", metavar="SEED", help="One run (default: 0).")] = None,
    seeds: Annotated[str | None, typer.Option("--seeds", metavar="RANGE", help="Several, as 0-9.")] = None,
    epochs: Annotated[str, typer.Option("--epochs", metavar="N", help="How many of each run.")] = "1",
    stamp: Annotated[
        bool,
        typer.Option("--stamp", help="Let the records of runs that are reproduced say so, and be current."),
    ] = False,
    data: Annotated[str | None, typer.Option("--data", metavar="DIR", help="Folder of the data.")] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="FILE", help="Configuration, each laid over those before it."),
    ] = None,
) -> None:
    """Train recorded runs again and compare.

    The first epochs are trained, on one CPU core, and their rows compared with the tables. Another kind of
    processor may give other last digits. Exits with 1 if a value differs.
    """
    wanted, rows = _seeds(seed, seeds), _count("--epochs", epochs, at_least=1)
    optional_packages.need("yaml", "jsonschema", "torch", extra="training")
    from shuffledp.reproduction import config as configuration
    from shuffledp.reproduction.trainings import commands

    settings = configuration.load(config or [DEFAULT_CONFIG])
    chosen = settings.experiment(experiment)
    _hear()
    reproduced = commands.reproduce(
        chosen,
        seeds=wanted,
        rows=rows,
        stamp=stamp,
        folder=chosen.folder(settings.results),
        root=_data(data, settings),
        say=typer.echo,
    )
    if not reproduced:
        raise typer.Exit(1)


@app.command()
def tune(
    experiment: Annotated[str, typer.Argument(help="One of training.tuning of the configuration.")],
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[str, typer.Option("--threads", metavar="N", help="Of the CPU.")] = "1",
    data: Annotated[str | None, typer.Option("--data", metavar="DIR", help="Folder of the data.")] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="FILE", help="Configuration, each laid over those before it."),
    ] = None,
) -> None:
    """Try an experiment's learning rates on held-out images.

    Writes tuning/<experiment>.csv among the results, and a record beside it. Nothing is chosen: write the
    best into the configuration.
    """
    cores = _count("--threads", threads, at_least=1)
    optional_packages.need("yaml", "jsonschema", extra="training")
    from shuffledp.reproduction import config as configuration

    settings = configuration.load(config or [DEFAULT_CONFIG])
    grid = settings.grid(experiment)
    optional_packages.need("torch", extra="training")
    from shuffledp.reproduction.trainings import tuning

    _hear()
    tuning.make(
        grid,
        results=settings.results,
        device=device,
        threads=cores,
        root=_data(data, settings),
        say=typer.echo,
    )


# --- reading


def _data(folder: str | None, settings: Settings) -> str | None:
    """Return the folder of the data; one that the command line names goes before the environment."""
    from shuffledp.training.data import datasets

    if folder is not None:
        os.environ.pop(datasets.VARIABLE, None)
    return folder or settings.data_root


def _seeds(seed: str | None, seeds: str | None) -> range:
    if seed is not None and seeds is not None:
        raise ValueError("give one of --seed and --seeds, got both")
    if seeds is None:
        only = _count("--seed", seed or "0", at_least=0)
        return range(only, only + 1)
    first, dash, last = seeds.partition("-")
    if not (dash and first.isdigit() and last.isdigit() and int(first) <= int(last)):
        raise ValueError(f"--seeds must be a range such as 0-9, got {seeds!r}")
    if int(last) - int(first) >= _MOST_SEEDS:
        raise ValueError(
            f"--seeds must be a range of at most {_MOST_SEEDS}, since each is a training, got {seeds!r}"
        )
    return range(int(first), int(last) + 1)


def _number(option: str, text: str, wanted: str) -> float:
    """Return a finite number; whole ones as int, exactly."""
    try:
        number: float = int(text)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
    try:
        finite = math.isfinite(number)
    except OverflowError:  # an int that no float holds
        finite = False
    if not finite:
        raise ValueError(f"{option} must be {wanted}, got {text!r}")
    return number


def _count(option: str, text: str, *, at_least: int) -> int:
    wanted = f"a whole number >= {at_least} (1e6 will do)"
    number = _number(option, text, wanted)
    if number != int(number) or number < at_least:
        raise ValueError(f"{option} must be {wanted}, got {text!r}")
    return int(_limited(option, number))


def _limited(option: str, number: float) -> float:
    words = THREADS.beyond(number) if option == "--threads" else beyond(_VARIABLES.get(option, ""), number)
    if words:
        raise ValueError(f"{option} {words}")
    return number


def _read(given: dict[str, str | None]) -> dict[str, float]:
    """Return the variables that were given, each read and within its range."""
    read = {name: _READERS[name](_OPTIONS[name], text) for name, text in given.items() if text is not None}
    if read.get("k", 0) > read.get("n", math.inf):
        raise ValueError(
            f"--per-round must be at most --clients: a round cannot draw {read['k']} of {read['n']} clients"
        )
    return read


def _of_randomizer(
    name: str, read: dict[str, float], chosen: dict[str, str | None], *, as_json: bool
) -> None:
    """Print the interval of a named randomiser; the protocol follows from the variables."""
    for option, value in chosen.items():
        if value is not None:
            raise ValueError(
                f"{option} has no meaning with --randomizer, got {value!r}: --per-round, --rate or neither "
                "set the protocol; leave it out"
            )
    from shuffledp import accountants

    found = accountants.bracket(**read, randomizer=name)
    _warn_of_little(read, found.upper)
    ratio = found.upper / found.lower if found.lower > 0 else math.inf
    if as_json:
        _print_json(
            {
                "setting": {**read, "randomizer": name},
                "bracket": {
                    "lower": found.lower,
                    "upper": found.upper,
                    "ratio": ratio,
                    "names": dict(zip(("lower", "upper"), found.names, strict=True)),
                },
            }
        )
        return
    typer.echo(f"{_in_words(read)}, randomizer={name}")
    low, high = rounding.shown(found.lower, "lower"), rounding.shown(found.upper, "upper")
    words = f", ratio {ratio:.4g}" if math.isfinite(ratio) else ""
    typer.echo(f"epsilon in [{low}, {high}] by {found.names[0]}, and {found.names[1]}{words}")


def _system(
    protocol: str | None, mechanism: str | None, accountant: str | None, read: dict[str, float]
) -> System:
    """Return what is accounted for: what the options say, the accountant is for, or the main system."""
    from shuffledp import accountants
    from shuffledp.accountants import systems

    if protocol is not None and mechanism is None and accountant is None:
        having = systems.mechanisms(protocol)
        mechanism = having[0] if len(having) == 1 else None
    known = [name for name in ("share", "tv") if name in read]
    if known and mechanism is None and accountant is None:
        mechanism = known[0] if len(known) == 1 else "blanket"
        if protocol is None and "k" not in read:
            protocol = "shuffled-check-in" if "rate" in read else "shuffle"
    meant = accountants.get(accountant).system if accountant is not None else systems.get(*systems.MAIN)
    if protocol is None and accountant is None and mechanism is not None:
        known = [system.protocol for system in systems.systems() if system.mechanism == mechanism]
        if meant.protocol not in known:
            protocol = known[0] if len(known) == 1 else "shuffle"
    asked = systems.get(protocol or meant.protocol, mechanism or meant.mechanism)
    if accountant is not None and asked != meant:
        raise ValueError(
            f"accountant {accountant!r} is for {meant.words} (protocol {meant.protocol}, mechanism "
            f"{meant.mechanism}), not for {asked.words}; leave out --protocol and --mechanism, or name "
            f"another"
        )
    return asked


def _names(system: System) -> str:
    return ", ".join(_OPTIONS[name] for name in system.variables)


def _of_system(system: System, read: dict[str, float], *, but: str = "") -> dict[str, float]:
    """Return the setting, which must name the system's variables (all but the one that is looked for)."""
    about = f"protocol {system.protocol} with mechanism {system.mechanism}"
    takes = _names(system)
    for name in system.variables:
        if name not in read and name != but:
            raise ValueError(f"{_OPTIONS[name]} is needed for {about}, which takes {takes}")
    for name in _OPTIONS:
        if name in read and name not in system.variables:
            raise ValueError(f"{_OPTIONS[name]} has no meaning for {about}, which takes {takes}")
    return read


def _real(option: str, text: str, *, zero: bool = True) -> float:
    wanted = f"a finite number {'>=' if zero else '>'} 0"
    number = float(_number(option, text, wanted))
    if number < 0 or (number == 0 and not zero):
        raise ValueError(f"{option} must be {wanted}, got {text!r}")
    return _limited(option, number)


def _delta(text: str) -> float:
    wanted = "a number in [0, 1); 0 asks for pure DP"
    number = float(_number("--delta", text, wanted))
    if not 0 <= number < 1:
        raise ValueError(f"--delta must be {wanted}, got {text!r}")
    return number


def _probability(option: str, text: str) -> float:
    wanted = "a number in (0, 1)"
    number = float(_number(option, text, wanted))
    if not 0 < number < 1:
        raise ValueError(f"{option} must be {wanted}, got {text!r}")
    return number


def _share(option: str, text: str) -> float:
    wanted = "a number in [0, 1]"
    number = float(_number(option, text, wanted))
    if not 0 <= number <= 1:
        raise ValueError(f"{option} must be {wanted}, got {text!r}")
    return number


_OPTIONS = {
    "n": "--clients",
    "k": "--per-round",
    "eps0": "--eps0",
    "categories": "--categories",
    "gamma": "--gamma",
    "rate": "--rate",
    "slots": "--slots",
    "participation": "--participation",
    "sigma": "--sigma",
    "delta0": "--delta0",
    "share": "--share",
    "tv": "--tv",
    "dimension": "--dimension",
    "subset": "--subset",
    "cells": "--cells",
    "collision": "--collision",
}
# what the library calls by the names of options
_NUMBERS = {"target_eps": "--target-eps"} | {
    name: f"--{name}"
    for name in ("rounds", "delta", "eps", "protocol", "mechanism", "accountant", "randomizer", "device")
}
_VARIABLES = {option: name for name, option in {**_OPTIONS, **_NUMBERS, "threads": "--threads"}.items()}
# what a command is asked for, or calls otherwise; the closest option in letters is a false friend
_INSTEAD = {
    ("delta", "--delta"): (
        "--delta is what this command prints: give --eps, the epsilon at which it is asked for; epsilon at a "
        "given delta is printed by `shuffledp epsilon`"
    ),
    ("epsilon", "--eps"): (
        "--eps is what this command prints: give --delta; delta at a given epsilon is printed by "
        "`shuffledp delta`, and the local privacy parameter is --eps0"
    ),
    (
        "epsilon",
        "--target-eps",
    ): "--target-eps is an option of `shuffledp calibrate`; this command prints epsilon",
    ("delta", "--target-eps"): "--target-eps is an option of `shuffledp calibrate`; give --eps",
    ("calibrate", "--eps"): (
        "--eps is ambiguous here: the budget is --target-eps, and the local privacy parameter is --eps0"
    ),
}
_READERS: dict[str, Callable[[str, str], float]] = {
    "n": functools.partial(_count, at_least=1),
    "k": functools.partial(_count, at_least=1),
    "eps0": _real,
    "categories": functools.partial(_count, at_least=2),
    "gamma": _probability,
    "rate": _probability,
    "slots": functools.partial(_count, at_least=1),
    "participation": _share,
    "sigma": functools.partial(_real, zero=False),
    "delta0": _share,
    "share": functools.partial(_real, zero=False),
    "tv": _share,
    "dimension": functools.partial(_count, at_least=1),
    "subset": functools.partial(_count, at_least=1),
    "cells": functools.partial(_count, at_least=2),
    "collision": _share,
}


# --- computing


def _details(entry: Accountant, setting: dict[str, float]) -> dict[str, float]:
    """Return an accountant's columns; where its numerics give up, say whose."""
    try:
        found = entry.details(**setting)
    except ArithmeticError as error:
        raise ArithmeticError(f"{entry.name}: {error}; choose another by --accountant") from error
    return {column: float(value) for column, value in found.items()}


def _warn_of_little(setting: dict[str, float], epsilon: float) -> None:
    """Say where a guarantee, though it holds, promises little."""
    n, delta = setting.get("n"), setting.get("delta", 0.0)
    if n is not None and delta >= 1 / n:
        _warn(
            f"delta = {delta:g} is at least 1/n = {1 / n:g}: a mechanism that publishes the record of a "
            "random client whole would pass; take a delta far below 1/n"
        )
    if math.isinf(epsilon):
        _warn("epsilon = inf is no guarantee: no finite bound was found here")
    elif epsilon > _LITTLE:
        _warn(
            f"epsilon = {epsilon:.4g} promises next to nothing: what is published may be e^{epsilon:.4g} "
            "times as likely with one record as with another"
        )


def _tightest_first(entry: Accountant, value: float) -> tuple[int, bool, float]:
    # a lower bound on what Renyi accounting reports is no rival of one on epsilon
    return _ORDER.index(entry.kind), entry.scope != "epsilon", -value if entry.kind == "lower" else value


def _bracket(rows: Sequence[tuple[Accountant, dict[str, float]]]) -> dict[str, Any] | None:
    """Return what ``accountants.bracket`` would, from rows in order and without computing them again.

    None for a system without bounds on both sides.
    """
    found = [(e.kind, (row["epsilon"], e.name)) for e, row in reversed(rows) if e.scope == "epsilon"]
    first = dict(found)
    if not {"lower", "upper"} <= first.keys():
        return None
    lower, upper = first["lower"][0], first["upper"][0]
    return {
        "lower": lower,
        "upper": upper,
        "ratio": upper / lower if lower > 0 else math.inf,
        "names": {kind: first[kind][1] for kind in ("lower", "upper")},
    }


# --- printing


def _described(entry: Accountant) -> dict[str, Any]:
    fields = (
        "name",
        "kind",
        "scope",
        "protocol",
        "mechanism",
        "citation",
        "theorem",
        "needs",
        "label",
        "note",
    )
    return {**{field: getattr(entry, field) for field in fields}, "needs": list(entry.needs)}


def _side(entry: Accountant) -> str:
    return entry.kind if entry.scope == "epsilon" else f"{entry.kind} ({entry.scope})"


def _source(entry: Accountant) -> str:
    return f"{entry.name} [{_side(entry)}; {entry.citation}: {entry.theorem}]"


def _in_words(setting: dict[str, float]) -> str:
    return ", ".join(f"{name}={value:.15g}" for name, value in setting.items())


def _digits(value: float) -> str:
    """Write an answer of ``calibration``, which has no more digits than these; trailing zeros included."""
    return f"{value:g}" if value in (0, 1) else f"{value:#.{rounding.DIGITS}g}"


def _print_table(columns: list[str], rows: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console = Console(width=_PIPED_WIDTH)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=column not in ("citation", "theorem"), overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


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
    _print_table([*columns, "data", "seeds", "made", "minutes each"], rows)
    typer.echo(f"What is not made yet takes about {minutes:.0f} minutes of one CPU core.")
    for grid in settings.grids:
        if not grid.product(settings.results).is_current():
            each = sum(core_seconds(entry) for entry in grid.longest) / 60
            typer.echo(f"shuffledp tune {grid.experiment.name}: {each:.0f} minutes before that.")


def _optional(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _hear() -> None:
    """Show what the library says of work that takes long before the first line of a run."""
    logging.basicConfig(format="%(message)s")
    logging.getLogger("shuffledp").setLevel(logging.INFO)


def _print_json(content: Any) -> None:
    typer.echo(json.dumps(_finite(content), indent=2, allow_nan=False))


def _finite(content: Any) -> Any:
    """Return the content with what JSON can write in place of numbers that are not finite.

    "inf" and "-inf" are read as numbers by ``float``, ``pandas.to_numeric`` and R's ``as.numeric``, and jq
    puts them above all numbers, where it has null below them.
    """
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None if math.isnan(content) else rounding.shown(content, "exact")
    return content


def main() -> None:
    """Run the command line; its name is the same however it was started."""
    app(prog_name="shuffledp")
