"""Whatever is wrong is told in one line on stderr, in the words of the command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

import click

from shuffledp.variables import VARIABLES

BAD_INPUT = 2
FAILED = 1

# What the library calls by other names than the command line, besides the variables.
_OPTIONS = {name: one.option for name, one in VARIABLES.items()} | {
    name: f"--{name.replace('_', '-')}"
    for name in ("eps", "target_eps", "protocol", "mechanism", "accountant", "randomizer", "device")
}
# What a command is asked for, or calls otherwise; the closest option in letters is a false friend.
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
    """Commands that report whatever is wrong in one line on stderr, without usage and without traceback."""

    _asked: click.Command | None = None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return what the arguments ask for, and remember it for the words of a refusal."""
        found = super().resolve_command(ctx, args)
        self._asked = found[1]
        return found

    def _in_words(self, error: Exception) -> str:
        """Return a message in the options of the command that was asked for; keys of its files stay keys."""
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
        # which click words otherwise in every other version
        close = f". Did you mean {' or '.join(error.possibilities)}?" if error.possibilities else ""
        message = f"No such option: {error.option_name}{close}"
    return message + (f" (see {context.command_path} --help)" if context else "")


def _complain(message: str, code: int) -> int:
    click.echo(f"Error: {' '.join(message.split())}", err=True)
    return code


def with_options(message: str, having: Iterable[str] = tuple(_OPTIONS.values())) -> str:
    """Return a refusal of the library's with the options of the variables that it says must be otherwise, or
    be given, left out, raised or lowered, and of the budget, which is no variable of a setting.

    Args:
        message: the refusal, which calls variables by their names.
        having: the options of the command; other variables keep their names.
    """
    options = {name: option for name, option in _OPTIONS.items() if option in set(having)}
    variable = r"(?<![\w-])(?<=%s)([a-z]\w*)(?=%s)"
    places = [("", " must "), ("; give ", "$"), ("; leave ", " out(?:$|,)"), (" or ", "$")]
    places += [("^", "=.* is (?:too small|met by)")]
    places += [(f"{change} ", "(?:$|,| or )") for change in ("raise", "lower", "smaller", "larger")]
    for before, after in places:
        message = re.sub(variable % (before, after), lambda found: options.get(found[1], found[1]), message)
    return message
