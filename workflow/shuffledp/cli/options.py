"""Options that commands share, made from the table of variables, and how their numbers are read.

Numbers are read here and not by click, so that 1e6 is a count, and so that an error names option, value and
range in the same words as the library's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import click

from shuffledp.cli import drawing
from shuffledp.variables import OF_RANDOMIZERS, OF_SYSTEMS, VARIABLES, Limit, Range, Variable

Command = Callable[..., None]
_POINTS = 25  # at which a curve of a figure is computed


class Span(NamedTuple):
    """The two values between which a variable varies in a figure."""

    low: float
    high: float


class Plot(NamedTuple):
    """A figure that a command is to draw.

    Attributes:
        path: of the file to write.
        variable: on the x axis.
        span: ends of the x axis.
    """

    path: str
    variable: str
    span: Span

    def points(self) -> list[float]:
        """Return values from end to end, in equal steps or, over more than a decade, in equal ratios."""
        import numpy as np

        low, high = self.span
        spaced = np.geomspace if low > 0 and high > 10 * low else np.linspace
        found = spaced(low, high, _POINTS)
        if VARIABLES[self.variable].whole:
            return [int(point) for point in np.unique(np.rint(found)).tolist()]
        found[[0, -1]] = low, high
        return found.tolist()


class Number(click.ParamType[float]):
    """A finite number in a range; whole numbers are read exactly.

    Args:
        values: the range.
        limit: a narrower range beyond which nothing is computed, if there is one.
        hint: what an error message adds to the range.
        several: what an error message adds where several numbers are given.
        spans: whether a..b is read too.
    """

    name = "number"

    def __init__(
        self,
        values: Range,
        limit: Limit | None = None,
        hint: str = "",
        several: str = "",
        *,
        spans: bool = False,
    ) -> None:
        self._values = values
        self._limit = limit
        self._several = several
        self._hint = hint
        self._spans = spans

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number, or the ``Span`` of a..b, that a text means; a number is kept as it is."""
        if not (isinstance(value, str) and param):
            return value
        option, ends = param.opts[0], value.split("..")
        if len(ends) != 2 or not self._spans:
            return self.read(option, value)
        span = Span(*(self.read(option, end) for end in ends))
        if not span.low < span.high:
            raise ValueError(f"{option} must rise from its first end to its second, got {value!r}")
        return span

    def read(self, option: str, text: str) -> float:
        """Return the number that a text means.

        Raises:
            ValueError: it means no number, or one out of the range or beyond the limit; the message names
                the option.
        """
        if self._several and "," in text:
            raise ValueError(f"{option} must be one number, got {text!r}{self._several}")
        meant = _meant(text)
        number = self._values.number(meant)
        if number is None:
            unread = isinstance(meant, float) and math.isnan(meant)
            written = " (written 1000000 or 1e6)" if self._values.whole and unread else ""
            raise ValueError(f"{option} must be {self._values.words}{written}{self._hint}, got {text!r}")
        words = self._limit.beyond(number, zero=0 in self._values) if self._limit else None
        if words:
            raise ValueError(f"{option} {words}")
        return number


def _meant(text: str) -> float:
    """Return the number that a text means, a whole one exactly as int; nan if there is none."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return math.nan


def _option(variable: Variable, values: Range, words: str, *, required: bool) -> Callable[[Command], Command]:
    return click.option(
        variable.option,
        variable.name,
        metavar=variable.letter,
        type=Number(values, variable.limit, variable.hint, variable.several, spans=True),
        required=required,
        help=words,
    )


def of_variables(
    *needed: str, besides: tuple[str, ...] = (), ranges: Mapping[str, Range] | None = None
) -> Callable[[Command], Command]:
    """Give a command an option for each variable of the table, a named randomiser, and a figure to draw.

    The command takes the values as ``given``, the name as ``randomizer`` and the figure as ``plot``, None if
    there is none.

    Args:
        needed: variables of questions (rounds, delta, epsilon) that must be given.
        besides: variables of questions that may be given.
        ranges: narrower ranges that this command has for variables.
    """
    taken = [*(VARIABLES[name] for name in (*needed, *besides)), *OF_SYSTEMS, *OF_RANDOMIZERS]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_given(**options: Any) -> None:
            # the setting is printed in the order of the table
            found = {name: options.pop(name) for name in VARIABLES if name in options}
            given = {name: value for name, value in found.items() if value is not None}
            spans = {name: value for name, value in given.items() if isinstance(value, Span)}
            given = {name: value for name, value in given.items() if name not in spans}
            options["plot"] = _plot_of(options["plot"], spans)
            if options["plot"] is not None and options["as_json"]:
                raise ValueError("--json has no meaning with --plot, which prints no numbers; leave one out")
            k = spans["k"].high if "k" in spans else given.get("k", 0)
            n = spans["n"].low if "n" in spans else given.get("n", math.inf)
            if k > n:
                raise ValueError(
                    f"--per-round must be at most --clients: a round cannot draw {k} of {n} clients"
                )
            command(given=given, **options)

        decorated: Command = _randomizer(_plot(with_given))
        for variable in reversed(taken):
            decorated = _option(
                variable,
                (ranges or {}).get(variable.name, variable.range),
                f"{variable.meaning}{variable.hint}.",
                required=variable.name in needed,
            )(decorated)
        return decorated

    return decorate


def _plot_of(path: str | None, spans: Mapping[str, Span]) -> Plot | None:
    """Return the figure to draw, if one is asked for.

    Raises:
        ValueError: a figure is asked for and not exactly one variable varies, or a variable varies and no
            figure is asked for, or the file cannot be drawn.
    """
    varying = ", ".join(VARIABLES[name].option for name in spans)
    if path is None:
        if spans:
            told = ", ".join(
                f"{VARIABLES[name].option} {span.low:g}..{span.high:g}" for name, span in spans.items()
            )
            raise ValueError(
                f"{varying} must be one number, or --plot FILE be given to draw over the range, got {told}"
            )
        return None
    drawing.check(path)
    if len(spans) != 1:
        raise ValueError(
            f"--plot needs one variable as a..b, such as --rounds 1..1000, got {varying or 'none'}"
        )
    ((name, span),) = spans.items()
    return Plot(path, name, span)


_plot = click.option(
    "--plot",
    metavar="FILE",
    help="Draw against the one variable that is given as a..b; the suffix is .pdf, .png or .svg.",
)
_randomizer = click.option(
    "--randomizer",
    metavar="NAME",
    help="Account for this randomiser alone, such as krr with --categories; `shuffledp accountants "
    "--randomizers` lists all, and the options that each takes.",
)
_protocol = click.option(
    "--protocol",
    metavar="NAME",
    help="Who takes part, such as shuffle or shuffled-check-in; `shuffledp accountants` lists all protocols "
    "(default: subsampled-shuffle, or shuffle for a mechanism that it lacks; with --arriving, "
    "shuffle-with-dropouts).",
)
_mechanism = click.option(
    "--mechanism",
    metavar="NAME",
    help="What clients send, such as krr or gaussian; `shuffledp accountants` lists all mechanisms (default: "
    "ldp, any eps0-LDP report; with --share, --tv or both, share, tv or blanket).",
)
as_json = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help='Print JSON; an infinite number is the string "inf", a number that was not computed is null.',
)


OF_SYSTEM = ("--protocol", "--mechanism", "--accountant")


def of_system(accountant: str) -> Callable[[Command], Command]:
    """Give a command the options that select a system and an accountant, and --json.

    The command takes the values of ``OF_SYSTEM`` as ``chosen``, by option; None for an option that is left
    out.

    Args:
        accountant: help of the option that names an accountant.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_chosen(**given: Any) -> None:
            chosen = {option: given.pop(option.removeprefix("--")) for option in OF_SYSTEM}
            command(chosen=chosen, **given)

        by_name = click.option("--accountant", metavar="NAME", help=accountant)
        return _protocol(_mechanism(by_name(as_json(with_chosen))))

    return decorate
