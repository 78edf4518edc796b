"""Errors of the command line: one line on stderr that names options as the command line does."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import click

from shuffledp.variables import VARIABLES

BAD_INPUT = 2
FAILED = 1

# The option of each argument of the library: of the variables, and of arguments besides these.
_OPTIONS = {name: one.option for name, one in VARIABLES.items()} | {
    name: f"--{name.replace('_', '-')}"
    for name in ("eps", "target_eps", "protocol", "mechanism", "accountant", "randomizer", "device")
}
# By command and option, hints for options that a command does not have, because it prints that variable or
# has another name for it. click would suggest the option that is spelt most alike, which differs in meaning.
_INSTEAD = {
    ("delta", "--delta"): (
        "--delta is what this command prints: give --eps, the epsilon at which it is asked for; epsilon at a "
        "given delta is printed by `shuffledp epsilon`"
    ),
    ("epsilon", "--eps"): (
        "--eps is what this command prints: give --delta; delta at a given epsilon is printed by "
        "`shuffledp delta`, and the local privacy parameter is --eps0"
    ),
    ("epsilon", "--target-eps"): (
        "--target-eps is an option of `shuffledp calibrate`; this command prints epsilon"
    ),
    ("delta", "--target-eps"): "--target-eps is an option of `shuffledp calibrate`; give --eps",
    ("calibrate", "--eps"): (
        "--eps is ambiguous here: the budget is --target-eps, and the local privacy parameter is --eps0"
    ),
}


class OneLineErrors(click.Group):
    """Commands that report every error in one line on stderr, without usage and without traceback."""

    _asked: click.Command | None = None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, and remember it for the words of an error."""
        found = super().resolve_command(ctx, args)
        self._asked = found[1]
        return found

    def _in_words(self, error: Exception) -> str:
        """Return a message with the options of the named command; keys of its files stay as they are."""
        having = [option for one in (self._asked.params if self._asked else ()) for option in one.opts]
        return with_options(str(error), having)

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run the command line and exit: 0, 2 for bad input, 1 where the numerics give up."""
        try:
            code = super().main(*args, **{**kwargs, "standalone_mode": False}) or 0
        except click.ClickException as error:
            code = _complain(_of_usage(error), error.exit_code)
        except click.Abort:
            code = _complain("interrupted", FAILED)
        except ValueError as error:
            code = _complain(self._in_words(error), BAD_INPUT)
        except ArithmeticError as error:
            code = _complain(self._in_words(error), FAILED)
        except OSError as error:
            from shuffledp.records import refusals

            code = _complain(refusals.of_system(error), FAILED)
        sys.exit(code)


def _of_usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    asked = getattr(context, "info_name", None), getattr(error, "option_name", None)
    if asked in _INSTEAD:
        return _INSTEAD[asked]
    message = error.format_message().rstrip(".")
    if isinstance(error, click.NoSuchOption):
        # the wording of click differs between its versions
        close = f". Did you mean {' or '.join(error.possibilities)}?" if error.possibilities else ""
        message = f"No such option: {error.option_name}{close}"
    return message + (f" (see {context.command_path} --help)" if context else "")


def _complain(message: str, code: int) -> int:
    click.echo(f"Error: {' '.join(message.split())}", err=True)
    return code


def check_choice(option: str, value: str, known: Sequence[str], *, meant: str | None = None) -> None:
    """Refuse a value that is none of those which an option takes.

    Args:
        option: the option.
        value: what was given.
        known: what it takes.
        meant: the known value that is meant, if the spelling does not tell.

    Raises:
        ValueError: it is none of them; the message has the closest one, if one is close.
    """
    if value in known:
        return
    close = [meant] if meant else difflib.get_close_matches(value, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"{option} must be one of {', '.join(known)}, got {value!r}{hint}")


def with_options(message: str, having: Iterable[str] = tuple(_OPTIONS.values())) -> str:
    """Return an error message of the library with options in place of the names of arguments.

    Only names are replaced that the message says must be different, or be given, left out, raised or lowered.

    Args:
        message: the library's message, which calls arguments by their names.
        having: the options of the command; names without one of these are kept.
    """
    options = {name: option for name, option in _OPTIONS.items() if option in set(having)}
    variable = r"(?<![\w-])(?<=%s)([a-z]\w*)(?=%s)"
    places = [("", " must "), ("; give ", "$"), ("; leave ", " out(?:$|,)"), (" or ", "$")]
    places += [("^", "=.* is (?:too small|met by)")]
    places += [(f"{change} ", "(?:$|,| or )") for change in ("raise", "lower", "smaller", "larger")]
    for before, after in places:
        message = re.sub(variable % (before, after), lambda found: options.get(found[1], found[1]), message)
    return message
