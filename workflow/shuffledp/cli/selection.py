"""What the options of a command select: the system that is accounted for, the accountant, and the setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shuffledp.cli import options, printing
from shuffledp.cli.errors import check_choice
from shuffledp.variables import OF_RANDOMIZERS, OF_SYSTEMS, VARIABLES

if TYPE_CHECKING:
    from shuffledp.accountants import Accountant
    from shuffledp.accountants.systems import System

_OTHER_PROTOCOLS = (
    " of rounds of all clients; to find --per-round, say --protocol subsampled-shuffle, and to find --rate, "
    "--protocol shuffled-check-in"
)


def system_of(chosen: Mapping[str, str | None], given: Mapping[str, float]) -> System:
    """Return the system that is accounted for.

    Options decide first, then what the accountant is for, then which variables are given; without any of
    these it is the subsampled shuffle of eps0-LDP reports.

    Args:
        chosen: values of ``options.OF_SYSTEM``, by option.
        given: the variables that are given.

    Raises:
        ValueError: there is no such system, or the accountant is for another one.
    """
    from shuffledp import accountants
    from shuffledp.accountants import systems

    protocol, mechanism, accountant = (chosen[option] for option in options.OF_SYSTEM)
    _check_names(chosen)
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


def accountant(
    randomizer: str | None,
    given: dict[str, Any],
    chosen: Mapping[str, str | None],
    *,
    but: str = "",
) -> tuple[Accountant, dict[str, Any], dict[str, Any]]:
    """Return the accountant that the options select, its setting, and the argument that names it (or the
    randomiser) to ``accountants.calibration``.

    Args:
        randomizer: name of the randomiser, if one is named.
        given: the variables that are given.
        chosen: values of ``options.OF_SYSTEM``, by option.
        but: the variable that is looked for and need not be given.

    Raises:
        ValueError: the options contradict each other, or a variable is missing or not of the system.
    """
    from shuffledp import accountants

    if randomizer is None:
        system = system_of(chosen, given)
        entry = accountants.get(chosen["--accountant"] or system.default)
        setting = checked(system, given, but=but, accountant=chosen["--accountant"])
        return entry, setting, {"accountant": entry.name}
    from shuffledp.accountants import calibration

    refuse_beside_randomizer(chosen)
    entry, setting = calibration.of_randomizer(randomizer, given, protocol=chosen["--protocol"])
    about = f"randomizer {randomizer} in protocol {entry.protocol}"
    return entry, checked(entry.system, setting, but=but, about=about), named(randomizer)


def left_out(randomizer: str | None, given: dict[str, Any], chosen: Mapping[str, str | None]) -> str:
    """Return the one variable that is left out, which the command looks for.

    Raises:
        ValueError: none or several are left out, or one that cannot be looked for.
    """
    if randomizer is None:
        system = system_of(chosen, given)
    else:
        from shuffledp.accountants import calibration

        refuse_beside_randomizer(chosen)
        system = calibration.of_randomizer(randomizer, given, protocol=chosen["--protocol"])[0].system
    asked = [name for name in (*system.variables, "rounds", "delta") if VARIABLES[name].rises is not None]
    missing = [name for name in asked if name not in given]
    # a missing variable that cannot be looked for, or one of another system, is the clearer message
    if randomizer is None:
        checked(system, {**dict.fromkeys(missing, 1.0), **given}, accountant=chosen["--accountant"])
    if len(missing) != 1:
        listed = ", ".join(VARIABLES[name].option for name in asked)
        told = " and ".join(VARIABLES[name].option for name in missing)
        raise ValueError(
            f"leave out one of {listed}, which is found; "
            + (f"left out are {told}" if told else "got all")
            + (_OTHER_PROTOCOLS if randomizer and not told and system.protocol == "shuffle" else "")
        )
    return missing[0]


def checked(
    system: System,
    given: dict[str, Any],
    *,
    but: str = "",
    accountant: str | None = None,
    about: str | None = None,
) -> dict[str, Any]:
    """Return the setting, if it has the system's variables and no others.

    Args:
        system: the system that is accounted for.
        given: the variables that are given.
        but: the variable that is looked for and need not be given.
        accountant: the accountant that decides the system, if one is named.
        about: how a message names the system; by its accountant, protocol and mechanism if left out.

    Raises:
        ValueError: a variable of the system is missing, or one of another system is given.
    """
    of = f"accountant {accountant} of " if accountant else ""
    about = about or f"{of}protocol {system.protocol} with mechanism {system.mechanism}"
    takes = _options(system)
    for name in system.variables:
        if name not in given and name != but:
            raise ValueError(f"{VARIABLES[name].option} is needed for {about}, which takes {takes}")
    for variable in (*OF_SYSTEMS, *OF_RANDOMIZERS):
        if variable.name in given and variable.name not in system.variables:
            raise ValueError(f"{variable.option} has no meaning for {about}, which takes {takes}")
    return given


def refuse_beside_randomizer(chosen: Mapping[str, str | None]) -> None:
    """Refuse options that have no meaning beside a named randomiser.

    Raises:
        ValueError: --mechanism or --accountant is given, or there is no such protocol.
    """
    _check_names(chosen)
    for option in ("--mechanism", "--accountant"):
        if chosen[option] is not None:
            raise ValueError(
                f"{option} has no meaning with --randomizer, got {chosen[option]!r}: the randomizer says it; "
                "leave it out"
            )


def _check_names(chosen: Mapping[str, str | None]) -> None:
    """Refuse a protocol or a mechanism that there is not.

    Raises:
        ValueError: naming the option, and the closest name, if one is close.
    """
    from shuffledp.accountants import systems

    for option, kind in (("--protocol", "protocol"), ("--mechanism", "mechanism")):
        name = chosen[option]
        if name is not None:
            known = dict.fromkeys(getattr(system, kind) for system in systems.systems())
            check_choice(option, name, list(known))


def _options(system: System) -> str:
    return ", ".join(VARIABLES[name].option for name in system.variables)


def named(randomizer: str | None) -> dict[str, str]:
    """Return a named randomiser as an argument of the library's functions; nothing if none is named."""
    return {} if randomizer is None else {"randomizer": randomizer}


def in_words(given: Mapping[str, float], randomizer: str | None) -> str:
    """Return the setting and, if one is named, the randomiser in a line."""
    own = [f"{key}={value}" for key, value in named(randomizer).items()]
    return ", ".join([printing.in_words(given), *own])
