"""Commands that account for privacy: epsilon, delta, what fits into a budget, and by whom."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from shuffledp.cli import drawing, options, printing
from shuffledp.cli.errors import with_options
from shuffledp.variables import OF_RANDOMIZERS, OF_SYSTEMS, POSITIVE, VARIABLES, counts

if TYPE_CHECKING:
    from shuffledp.accountants import Accountant
    from shuffledp.accountants.systems import System

_ORDER = ("upper", "estimate", "lower")
_UNUSUAL_ROUNDS = (
    "A client that sends two reports in a round: enter twice its EPS0 and one round, and count clients, not "
    "reports, in N and K.\n\n"
    "Fewer than K reports arrive: throw them away unread, and draw the round anew. Or, where neither the "
    "records nor who a client is decide whether it drops out, use them, and leave K as it is. Where who a "
    "client is may decide it, but no record, say with --arriving how many arrive at least, and throw rounds "
    "with fewer away unread. Where records decide it, nothing here holds."
)
_OTHER_PROTOCOLS = (
    " of rounds of all clients; to find --per-round, say --protocol subsampled-shuffle, and to find --rate, "
    "--protocol shuffled-check-in"
)
_ONE = "One of those that `shuffledp accountants` lists (default: the tightest upper bound as a rule)."


@click.command(epilog=_UNUSUAL_ROUNDS)
@options.of_variables("rounds", "delta", of_randomizers=True, plot=True)
@options.of_system("This one only (default: all).")
def epsilon(
    given: dict[str, Any],
    randomizer: str | None,
    chosen: dict[str, str | None],
    as_json: bool,
    drawn: options.Drawn | None,
) -> None:
    """Print epsilon by every accountant.

    The first line is the interval that epsilon lies in for the worst eps0-LDP randomiser, or, where the
    mechanism is given, for the worst data sets; then every accountant, the tightest upper bound first, lower
    bounds last. Upper bounds are shown rounded up, lower bounds rounded down. Lower bounds marked renyi speak
    of Renyi accounting only and take no part in the interval. With --randomizer the command prints the
    interval of that randomiser.
    """
    if drawn is not None:
        _draw_epsilon(drawn, randomizer, given, chosen)
        return
    if randomizer is not None:
        _of_randomizer(randomizer, given, chosen, as_json=as_json)
        return
    system, accountant = _system(chosen, given), chosen["--accountant"]
    setting = _of_system(system, given)
    from shuffledp import accountants, rounding

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
@options.of_variables("rounds", "epsilon", of_randomizers=True, plot=True)
@options.of_system(_ONE)
def delta(
    given: dict[str, Any],
    randomizer: str | None,
    chosen: dict[str, str | None],
    as_json: bool,
    drawn: options.Drawn | None,
) -> None:
    """Print delta at a given epsilon.

    The accountant computes epsilon from delta; this is inverted by bisection on log delta. An upper bound
    on delta is rounded up to seven digits, so that epsilon at the printed delta does not exceed EPS; a lower
    bound is rounded down. With --randomizer it takes the upper bound of that randomiser.
    """
    if drawn is not None:
        _draw_delta(drawn, randomizer, given, chosen)
        return
    asked = given.pop("epsilon")
    entry, setting, by_name = _entry(randomizer, given, chosen)
    from shuffledp import rounding
    from shuffledp.accountants import calibration

    found = calibration.delta_at(**by_name, eps=asked, **given)
    # every mechanism is (eps, 1)-DP, so no accountant is asked about that
    recomputed = float(entry.epsilon(**setting, delta=found)) if found < 1 else None
    printing.warn_of_little(({**given, "delta": found}, asked))
    if as_json:
        result = {"delta": found, "eps": asked, "epsilon": recomputed}
        whole = {**given, **_named(randomizer)}
        printing.as_json({"setting": whole, "accountant": printing.described(entry), **result})
        return
    click.echo(_in_words(given, randomizer))
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
@options.of_variables(
    besides=("rounds", "delta"),
    of_randomizers=True,
    ranges={"rounds": counts(1)},
    plot=True,
)
@options.of_system(_ONE)
def calibrate(
    target_eps: float,
    given: dict[str, Any],
    randomizer: str | None,
    chosen: dict[str, str | None],
    as_json: bool,
    drawn: options.Drawn | None,
) -> None:
    """Print what keeps a budget.

    It is the value of the one variable that is left out: the largest EPS0, T (--rounds), K (--per-round) or
    RATE whose epsilon does not exceed the budget, or the least N (--clients), SIGMA or DELTA. Whole numbers
    are printed whole, others to seven digits, rounded so that epsilon recomputed from what is printed stays
    within the budget. The accountant must be an upper bound. With --randomizer it takes the upper bound of
    that randomiser.
    """
    if drawn is not None:
        _draw_answers(drawn, target_eps, randomizer, given, chosen)
        return
    unknown = _left_out(randomizer, given, chosen)
    entry, setting, by_name = _entry(randomizer, given, chosen, but=unknown)
    from shuffledp import rounding
    from shuffledp.accountants import calibration

    answer = calibration.solve(**by_name, unknown=unknown, target_eps=target_eps, **given)
    recomputed = float(entry.epsilon(**setting, **{unknown: answer}))
    printing.warn_of_little(({**given, unknown: answer}, recomputed))
    if as_json:
        result = {"target_eps": target_eps, unknown: answer, "epsilon": recomputed}
        whole = {**given, **_named(randomizer)}
        printing.as_json({"setting": whole, "accountant": printing.described(entry), **result})
        return
    click.echo(_in_words(given, randomizer))
    shown = str(answer) if VARIABLES[unknown].whole else printing.digits(answer)
    sign = "<=" if VARIABLES[unknown].rises else ">="
    click.echo(f"{unknown} {sign} {shown} keeps epsilon <= {target_eps:.15g} by {printing.source(entry)}")
    click.echo(f"epsilon there: {rounding.shown(recomputed, entry.kind)}")


@click.command("accountants")
@click.option(
    "--system",
    metavar="NAME",
    help="Those of this alone: a protocol, a mechanism, or both, as in shuffle/krr (default: all).",
)
@options.as_json
def list_accountants(system: str | None, as_json: bool) -> None:
    """List the accountants and their theorems, by system.

    The one that calibrate and delta take where none is named comes first, then upper bounds, estimates and
    lower bounds.
    """
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


def _listed(system: System) -> list[Accountant]:
    """Return a system's accountants, its default first."""
    from shuffledp import accountants

    names = accountants.names(protocol=system.protocol, mechanism=system.mechanism)
    return sorted(
        map(accountants.get, names),
        key=lambda entry: (entry.name != system.default, _ORDER.index(entry.kind), entry.scope != "epsilon"),
    )


COMMANDS = (epsilon, delta, calibrate, list_accountants)


def _left_out(randomizer: str | None, given: dict[str, Any], chosen: Mapping[str, str | None]) -> str:
    """Return the one variable that is not given, which is looked for.

    Raises:
        ValueError: more or fewer are left out, or one that is never looked for.
    """
    if randomizer is None:
        system = _system(chosen, given)
    else:
        from shuffledp.accountants import calibration

        _leave_out(chosen)
        system = calibration.of_randomizer(randomizer, given, protocol=chosen["--protocol"])[0].system
    asked = [name for name in (*system.variables, "rounds", "delta") if VARIABLES[name].rises is not None]
    missing = [name for name in asked if name not in given]
    # one that never is looked for, and one that is of another system, are told of first
    if randomizer is None:
        _of_system(system, {**dict.fromkeys(missing, 1.0), **given})
    if len(missing) != 1:
        listed = ", ".join(VARIABLES[name].option for name in asked)
        told = " and ".join(VARIABLES[name].option for name in missing)
        raise ValueError(
            f"leave out one of {listed}, which is found; "
            + (f"left out are {told}" if told else "got all")
            + (_OTHER_PROTOCOLS if randomizer and not told and system.protocol == "shuffle" else "")
        )
    return missing[0]


def _draw(drawn: options.Drawn, label: str, curves: Mapping[str, list[float]], *, tiny: bool = False) -> None:
    """Draw curves against the variable that varies, and say so."""
    low, high = drawn.span
    drawing.draw(
        drawn.path,
        x=drawn.points(),
        curves=curves,
        labels=(VARIABLES[drawn.variable].label, label),
        logarithmic=(low > 0 and high > 10 * low, tiny),
    )
    for name, values in curves.items():
        drawing.warn_of_left_out(name, values, logarithmic=tiny)
    click.echo(f"{drawn.path}: {', '.join(curves)}, from {low:g} to {high:g}")


def _draw_epsilon(
    drawn: options.Drawn, randomizer: str | None, given: dict[str, Any], chosen: Mapping[str, str | None]
) -> None:
    """Draw epsilon by the accountant that is meant, and the largest lower bound where none is named."""
    points = drawn.points()
    rows = [{**given, drawn.variable: point} for point in points]
    entry, _, _ = _entry(randomizer, rows[0], chosen)
    own = [_entry(randomizer, row, chosen)[1] for row in rows] if randomizer else rows
    curves = {entry.name: [float(entry.epsilon(**row)) for row in own]}
    printing.warn_of_little(*zip(rows, curves[entry.name], strict=True))
    if randomizer is None and chosen["--accountant"] is None:
        from shuffledp import accountants

        of = {"protocol": entry.protocol, "mechanism": entry.mechanism}
        below = [accountants.get(name) for name in accountants.names("lower", **of)]
        below = [one for one in below if one.scope == "epsilon"]
        if below:
            found = [accountants.attempts(below, **row)[0] for row in rows]
            curves["largest lower bound"] = [
                max((float(columns["epsilon"]) for _, columns in answers), default=0.0) for answers in found
            ]
    _draw(drawn, VARIABLES["epsilon"].label, curves)


def _draw_delta(
    drawn: options.Drawn, randomizer: str | None, given: dict[str, Any], chosen: Mapping[str, str | None]
) -> None:
    """Draw delta by the accountant that is meant."""
    found, guarantees = [], []
    for point in drawn.points():
        row = {**given, drawn.variable: point}
        asked = row.pop("epsilon")
        entry, _, by_name = _entry(randomizer, row, chosen)
        from shuffledp.accountants import calibration

        found.append(calibration.delta_at(**by_name, eps=asked, **row))
        guarantees.append(({**row, "delta": found[-1]}, asked))
    printing.warn_of_little(*guarantees)
    _draw(drawn, VARIABLES["delta"].label, {entry.name: found}, tiny=True)


def _draw_answers(
    drawn: options.Drawn,
    target_eps: float,
    randomizer: str | None,
    given: dict[str, Any],
    chosen: Mapping[str, str | None],
) -> None:
    """Draw the variable that is left out, at the points where it has an answer."""
    found, guarantees, without = [], [], []
    for point in drawn.points():
        row = {**given, drawn.variable: point}
        unknown = _left_out(randomizer, row, chosen)
        entry, _, by_name = _entry(randomizer, row, chosen, but=unknown)
        from shuffledp.accountants import calibration

        try:
            answer = float(calibration.solve(**by_name, unknown=unknown, target_eps=target_eps, **row))
        except ValueError as error:
            without.append((point, error))
            found.append(math.nan)
            continue
        found.append(answer)
        guarantees.append(({**row, unknown: answer}, target_eps))
    if without:
        point, why = without[0]
        if not guarantees:
            raise why
        printing.warn(
            f"{len(without)} of the {len(found)} points of {entry.name} are left out, having no answer; at "
            f"{drawn.variable}={point:g}: {with_options(str(why))}"
        )
    printing.warn_of_little(*guarantees)
    _draw(drawn, VARIABLES[unknown].label, {entry.name: found}, tiny=unknown == "delta")


def _of_randomizer(
    name: str, given: dict[str, Any], chosen: Mapping[str, str | None], *, as_json: bool
) -> None:
    """Print the interval of a named randomiser; the protocol follows from the variables."""
    _leave_out(chosen)
    if chosen["--protocol"] is not None:  # it must be the one that the variables set
        _entry(name, given, chosen)
    from shuffledp import accountants

    found = accountants.bracket(**given, randomizer=name)
    printing.warn_of_little((given, found.upper))
    if as_json:
        setting: dict[str, Any] = {**given, **_named(name)}
        printing.as_json({"setting": setting, "bracket": printing.bracket_as_json(found)})
        return
    click.echo(f"{_in_words(given, name)}; neighbours by {found.neighbours}")
    click.echo(printing.bracket_in_words(found, joined=", and "))


def _named(randomizer: str | None) -> dict[str, str]:
    return {} if randomizer is None else {"randomizer": randomizer}


def _in_words(given: Mapping[str, float], randomizer: str | None) -> str:
    named = [f"{key}={value}" for key, value in _named(randomizer).items()]
    return ", ".join([printing.in_words(given), *named])


def _leave_out(chosen: Mapping[str, str | None]) -> None:
    """Refuse options that have no meaning beside a named randomiser."""
    for option in ("--mechanism", "--accountant"):
        if chosen[option] is not None:
            raise ValueError(
                f"{option} has no meaning with --randomizer, got {chosen[option]!r}: the randomizer says it; "
                "leave it out"
            )


def _entry(
    randomizer: str | None,
    given: dict[str, Any],
    chosen: Mapping[str, str | None],
    *,
    but: str = "",
) -> tuple[Accountant, dict[str, Any], dict[str, Any]]:
    """Return the accountant that is meant, its system's setting, and what ``calibration`` knows it by."""
    from shuffledp import accountants

    if randomizer is None:
        system = _system(chosen, given)
        entry = accountants.get(chosen["--accountant"] or system.default)
        return entry, _of_system(system, given, but=but), {"accountant": entry.name}
    from shuffledp.accountants import calibration

    _leave_out(chosen)
    entry, setting = calibration.of_randomizer(randomizer, given, protocol=chosen["--protocol"])
    about = f"randomizer {randomizer} in protocol {entry.protocol}"
    return entry, _of_system(entry.system, setting, but=but, about=about), _named(randomizer)


def _system(chosen: Mapping[str, str | None], given: Mapping[str, float]) -> System:
    """Return what is accounted for: what the options say, the accountant is for, or the main system."""
    from shuffledp import accountants
    from shuffledp.accountants import systems

    protocol, mechanism, accountant = (chosen[option] for option in options.OF_SYSTEM)
    if "arriving" in given and protocol is None and accountant is None:
        protocol = accountants.dropouts.PROTOCOL
    if protocol is not None and mechanism is None and accountant is None:
        having = systems.mechanisms(protocol)
        mechanism = having[0] if len(having) == 1 else None
    known = [name for name in ("share", "tv") if name in given]
    if known and mechanism is None and accountant is None:
        mechanism = known[0] if len(known) == 1 else "blanket"
        if protocol is None and "k" not in given:
            protocol = "shuffled-check-in" if "rate" in given else "shuffle"
    meant = (
        accountants.get(accountant).system
        if accountant is not None
        else systems.get(*systems.SUBSAMPLED_SHUFFLE)
    )
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
    return ", ".join(VARIABLES[name].option for name in system.variables)


def _of_system(
    system: System, given: dict[str, Any], *, but: str = "", about: str | None = None
) -> dict[str, Any]:
    """Return the setting, which must name the system's variables (all but the one that is looked for)."""
    about = about or f"protocol {system.protocol} with mechanism {system.mechanism}"
    takes = _names(system)
    for name in system.variables:
        if name not in given and name != but:
            raise ValueError(f"{VARIABLES[name].option} is needed for {about}, which takes {takes}")
    for variable in (*OF_SYSTEMS, *OF_RANDOMIZERS):
        if variable.name in given and variable.name not in system.variables:
            raise ValueError(f"{variable.option} has no meaning for {about}, which takes {takes}")
    return given


def _details(entry: Accountant, setting: dict[str, Any]) -> dict[str, Any]:
    """Return an accountant's columns; where its numerics give up, say whose."""
    try:
        found = entry.details(**setting)
    except ArithmeticError as error:
        raise ArithmeticError(f"{entry.name}: {error}; choose another by --accountant") from error
    return {column: float(value) for column, value in found.items()}


def _tightest_first(entry: Accountant, value: float) -> tuple[int, bool, float]:
    # a lower bound on what Renyi accounting reports is no rival of one on epsilon
    return _ORDER.index(entry.kind), entry.scope != "epsilon", -value if entry.kind == "lower" else value
