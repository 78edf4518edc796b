"""Commands that account for privacy: epsilon, delta, calibrate, and the list of accountants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from shuffledp.cli import options, plots, printing, selection
from shuffledp.cli.errors import with_options
from shuffledp.variables import POSITIVE, VARIABLES, counts

if TYPE_CHECKING:
    from shuffledp.accountants import Accountant
    from shuffledp.accountants.systems import System

_ORDER = ("upper", "estimate", "lower")
_UNUSUAL_ROUNDS = (
    "If a client sends two reports in a round: enter twice its EPS0 (and twice its DELTA0) and one round, "
    "with mechanism ldp or approximate-ldp, and let N and K count clients, not reports. What is known of one "
    "report, such as its TV, does not hold for two.\n\n"
    "If fewer than K reports arrive: throw them away unread, and draw the round anew. Or, if neither the "
    "records nor who a client is decide whether it drops out, use the reports that arrive, and leave K as it "
    "is. If who a client is may decide it, but no record does, give with --arriving how many reports arrive "
    "at least, and throw rounds with fewer away unread. If records decide it, no guarantee here holds."
)
_ONE = (
    "Accountant to use, one that `shuffledp accountants` lists (default: as a rule the tightest upper bound)."
)


@click.command(epilog=_UNUSUAL_ROUNDS)
@options.of_variables("rounds", "delta")
@options.of_system("Use this accountant only (default: all of the system).")
def epsilon(
    given: dict[str, Any],
    randomizer: str | None,
    chosen: dict[str, str | None],
    as_json: bool,
    plot: options.Plot | None,
) -> None:
    """Print epsilon by every accountant.

    The first line is the interval that epsilon lies in for the worst eps0-LDP randomiser or, where the
    mechanism is given, for the worst data sets. Below it stands every accountant, the tightest upper bound
    first and lower bounds last. Upper bounds are rounded up, lower bounds are rounded down. Lower bounds
    marked renyi hold for Renyi accounting only and take no part in the interval. With --randomizer the
    command prints the interval of that randomiser.
    """
    if plot is not None:
        plots.epsilon(plot, randomizer, given, chosen)
        return
    if randomizer is not None:
        _of_randomizer(randomizer, given, chosen, as_json=as_json)
        return
    system, accountant = selection.system_of(chosen, given), chosen["--accountant"]
    setting = selection.checked(system, given, accountant=accountant)
    from shuffledp import accountants, rounding

    listed = accountants.names(protocol=system.protocol, mechanism=system.mechanism)
    entries = [accountants.get(name) for name in (listed if accountant is None else [accountant])]
    refused: list[accountants.Refusal] = []
    if accountant is None:
        # an accountant that cannot answer must not cost the others their rows
        answers, refused = accountants.attempts(entries, **setting)
        rows = [(entry, {name: float(value) for name, value in row.items()}) for entry, row in answers]
    else:
        rows = [(entry, _details(entry, setting)) for entry in entries]
    rows.sort(key=lambda row: _tightest_first(row[0], row[1]["epsilon"]))
    bracket = accountants.bracket_of(rows, refused) if accountant is None else None
    if rows:
        printing.warn_of_little((setting, rows[0][1]["epsilon"]))
    if as_json:
        found = [
            {**printing.described(entry), "epsilon": row["epsilon"], "details": row} for entry, row in rows
        ]
        for name, reason in refused:
            about = printing.described(accountants.get(name))
            found.append({**about, "epsilon": None, "refused": with_options(reason)})
        as_one = {
            "setting": setting,
            "accountants": found,
            "bracket": printing.bracket_as_json(bracket),
        }
        printing.as_json(as_one)
        return
    click.echo(f"{printing.in_words(setting)}; neighbours by {system.neighbours}")
    if bracket:
        click.echo(printing.bracket_in_words(bracket, joined=" and "))
    cells = [
        [rounding.shown(row["epsilon"], entry.kind), printing.side(entry), entry.citation, entry.theorem]
        for entry, row in rows
    ]
    silent = [accountants.get(name) for name, _ in refused]
    cells += [
        ["none", printing.side(entry), entry.citation, f"cannot answer: {with_options(reason)}"]
        for entry, (_, reason) in zip(silent, refused, strict=True)
    ]
    answering = [entry for entry, _ in rows]
    printing.table(
        ["accountant", "epsilon", "kind", "citation", "theorem"],
        [[entry.name, *row] for entry, row in zip([*answering, *silent], cells, strict=True)],
    )
    if accountant is not None:
        ((entry, row),) = rows
        for column in list(row)[1:]:  # epsilon itself is in the table
            kind = entry.kind if column == "theorem_epsilon" else "estimate"
            click.echo(f"{column} = {rounding.shown(row[column], kind)}")


@click.command(epilog=_UNUSUAL_ROUNDS)
@options.of_variables("rounds", "epsilon")
@options.of_system(_ONE)
def delta(
    given: dict[str, Any],
    randomizer: str | None,
    chosen: dict[str, str | None],
    as_json: bool,
    plot: options.Plot | None,
) -> None:
    """Print delta at a given epsilon.

    The accountant computes epsilon from delta, and the command inverts this by bisection on log delta. An
    upper bound on delta is rounded up to seven digits, so that epsilon at the printed delta does not exceed
    EPS; a lower bound is rounded down. With --randomizer the command uses the upper bound of that randomiser.
    """
    if plot is not None:
        plots.delta(plot, randomizer, given, chosen)
        return
    asked = given.pop("epsilon")
    entry, setting, by_name = selection.accountant(randomizer, given, chosen)
    from shuffledp import rounding
    from shuffledp.accountants import calibration

    found = calibration.delta_at(**by_name, eps=asked, **given)
    # every mechanism is (eps, 1)-DP, so there is nothing to recompute at delta = 1
    recomputed = float(entry.epsilon(**setting, delta=found)) if found < 1 else None
    printing.warn_of_little(({**given, "delta": found}, asked))
    if as_json:
        result = {"delta": found, "eps": asked, "epsilon": recomputed}
        whole = {**given, **selection.named(randomizer)}
        printing.as_json({"setting": whole, "accountant": printing.described(entry), **result})
        return
    click.echo(f"{selection.in_words(given, randomizer)}; neighbours by {entry.system.neighbours}")
    said = f"delta {printing.SIGN[entry.kind]} {printing.digits(found)}"
    click.echo(f"{said} at epsilon = {asked:.15g} by {printing.source(entry)}")
    if recomputed is not None:
        click.echo(f"epsilon at that delta: {rounding.shown(recomputed, entry.kind)}")


@click.command(epilog=_UNUSUAL_ROUNDS)
@click.option(
    "--target-eps",
    metavar="EPS",
    type=options.Number(POSITIVE),
    required=True,
    help="The budget: epsilon must not exceed it.",
)
@options.of_variables(besides=("rounds", "delta"), ranges={"rounds": counts(1)})
@options.of_system(_ONE)
def calibrate(
    target_eps: float,
    given: dict[str, Any],
    randomizer: str | None,
    chosen: dict[str, str | None],
    as_json: bool,
    plot: options.Plot | None,
) -> None:
    """Print the value that keeps epsilon within a budget.

    It is the value of the one variable that is left out: the largest within the budget where epsilon rises
    with it, as with EPS0 or T (--rounds), the least where it falls, as with N (--clients). Whole numbers
    are printed in full, others to seven digits and rounded such that epsilon at the printed value stays
    within the budget. The accountant must be an upper bound. With --randomizer the command uses the upper
    bound of that randomiser.
    """
    if plot is not None:
        plots.answers(plot, target_eps, randomizer, given, chosen)
        return
    unknown = selection.left_out(randomizer, given, chosen)
    entry, setting, by_name = selection.accountant(randomizer, given, chosen, but=unknown)
    from shuffledp import rounding
    from shuffledp.accountants import calibration

    answer = calibration.solve(**by_name, unknown=unknown, target_eps=target_eps, **given)
    recomputed = float(entry.epsilon(**setting, **{unknown: answer}))
    printing.warn_of_little(({**given, unknown: answer}, recomputed))
    if as_json:
        result = {"target_eps": target_eps, unknown: answer, "epsilon": recomputed}
        whole = {**given, **selection.named(randomizer)}
        printing.as_json({"setting": whole, "accountant": printing.described(entry), **result})
        return
    click.echo(f"{selection.in_words(given, randomizer)}; neighbours by {entry.system.neighbours}")
    shown = str(answer) if VARIABLES[unknown].whole else printing.digits(answer)
    sign = "<=" if VARIABLES[unknown].rises else ">="
    click.echo(f"{unknown} {sign} {shown} keeps epsilon <= {target_eps:.15g} by {printing.source(entry)}")
    click.echo(f"epsilon there: {rounding.shown(recomputed, entry.kind)}")


@click.command("accountants")
@click.option(
    "--system",
    metavar="NAME",
    help="List this system only: a protocol, a mechanism, or both, as in shuffle/krr (default: all).",
)
@click.option(
    "--randomizers",
    is_flag=True,
    help="List the names that --randomizer of other commands takes, each with the options that it needs.",
)
@options.as_json
def list_accountants(system: str | None, randomizers: bool, as_json: bool) -> None:
    """List the accountants and their theorems, by system.

    The accountant that calibrate and delta use where none is named comes first, then upper bounds, estimates
    and lower bounds. With --randomizers the command lists the randomisers that other commands take by name.
    """
    if randomizers:
        if system is not None:
            raise ValueError(f"--system has no meaning with --randomizers, got {system!r}; leave it out")
        _list_randomizers(as_json=as_json)
        return
    from shuffledp.accountants import systems

    wanted = systems.systems() if system is None else systems.matching(system)
    entries = {one: _listed(one) for one in wanted}
    if as_json:
        printing.as_json([printing.described(entry) for found in entries.values() for entry in found])
        return
    for index, (one, found) in enumerate(entries.items()):
        if index:
            click.echo()
        click.echo(str(one))
        printing.paragraph(f"{one.words}; neighbours by {one.neighbours}")
        taken = " ".join(f"{VARIABLES[name].option} {VARIABLES[name].letter}" for name in one.variables)
        printing.paragraph(f"--protocol {one.protocol} --mechanism {one.mechanism} {taken}")
        click.echo()
        printing.table(
            ["accountant", "kind", "citation", "theorem", "needs"],
            [
                [entry.name, printing.side(entry), entry.citation, entry.theorem, ", ".join(entry.needs)]
                for entry in found
            ],
        )


def _list_randomizers(*, as_json: bool) -> None:
    """List the randomisers that accountants know by name, with the options that each takes."""
    from shuffledp.profiles import named_randomizers

    found = {name: named_randomizers.parameters(name) for name in named_randomizers.NAMES}
    if as_json:
        printing.as_json(
            [
                {
                    "name": name,
                    "needs": [one for one, needed in takes.items() if needed],
                    "takes": list(takes),
                    "words": named_randomizers.words(name),
                }
                for name, takes in found.items()
            ]
        )
        return
    rows = []
    for name, takes in found.items():
        shown = {one: f"{VARIABLES[one].option} {VARIABLES[one].letter}" for one in takes}
        needed = " ".join(text if takes[one] else f"[{text}]" for one, text in shown.items())
        rows.append([name, needed, named_randomizers.words(name)])
    printing.table(["randomizer", "options", "words"], rows)


def _listed(system: System) -> list[Accountant]:
    """Return a system's accountants, its default first."""
    from shuffledp import accountants

    names = accountants.names(protocol=system.protocol, mechanism=system.mechanism)
    return sorted(
        map(accountants.get, names),
        key=lambda entry: (entry.name != system.default, _ORDER.index(entry.kind), entry.scope != "epsilon"),
    )


def _of_randomizer(
    name: str, given: dict[str, Any], chosen: Mapping[str, str | None], *, as_json: bool
) -> None:
    """Print the interval of a named randomiser; the protocol follows from the variables."""
    selection.refuse_beside_randomizer(chosen)
    if chosen["--protocol"] is not None:  # it must be the one that the variables set
        selection.accountant(name, given, chosen)
    from shuffledp import accountants

    found = accountants.bracket(**given, randomizer=name)
    printing.warn_of_little((given, found.upper))
    if as_json:
        setting: dict[str, Any] = {**given, **selection.named(name)}
        printing.as_json({"setting": setting, "bracket": printing.bracket_as_json(found)})
        return
    click.echo(f"{selection.in_words(given, name)}; neighbours by {found.neighbours}")
    click.echo(printing.bracket_in_words(found, joined=", and "))


def _details(entry: Accountant, setting: dict[str, Any]) -> dict[str, Any]:
    """Return an accountant's columns; a failure of its numerics is told with its name."""
    try:
        found = entry.details(**setting)
    except ArithmeticError as error:
        raise ArithmeticError(f"{entry.name}: {error}; choose another by --accountant") from error
    return {column: float(value) for column, value in found.items()}


def _tightest_first(entry: Accountant, value: float) -> tuple[int, bool, float]:
    # a lower bound on what Renyi accounting reports cannot be compared with one on epsilon
    return _ORDER.index(entry.kind), entry.scope != "epsilon", -value if entry.kind == "lower" else value


COMMANDS = (epsilon, delta, calibrate, list_accountants)
