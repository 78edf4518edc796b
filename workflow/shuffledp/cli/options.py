"""Options that commands share, made from the table of variables, and how numbers are read.

Numbers arrive as text, so that 1e6 is a count and a refusal names option, value and range in our words.
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
_POINTS = 25  # of a figure


class Span(NamedTuple):
    """Two ends between which a variable varies in a figure."""

    low: float
    high: float


class Drawn(NamedTuple):
    """What a command is to draw.

    Attributes:
        path: into which file.
        variable: against which variable.
        span: from where to where.
    """

    path: str
    variable: str
    span: Span

    def points(self) -> list[float]:
        """Return values from one end to the other, in equal ratios where they span more than a decade."""
        import numpy as np

        low, high = self.span
        spaced = np.geomspace if low > 0 and high > 10 * low else np.linspace
        found = spaced(low, high, _POINTS)
        if VARIABLES[self.variable].whole:
            return [int(point) for point in np.unique(np.rint(found)).tolist()]
        found[[0, -1]] = low, high
        return found.tolist()


class Number(click.ParamType[float]):
    """A finite number of a range; whole ones are read exactly.

    Args:
        values: what it may be.
        limit: how far it is computed, if that is less.
        hint: what a refusal adds to the range.
        several: what a refusal adds where several numbers are given.
    """

    name = "number"

    def __init__(self, values: Range, limit: Limit | None = None, hint: str = "", several: str = "") -> None:
        self._values = values
        self._limit = limit
        self._several = several
        self._wanted = values.words + (" (1e6 will do)" if values.whole else "") + hint

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number that a text means; what is a number already stays one."""
        if not (isinstance(value, str) and param):
            return value
        option, ends = param.opts[0], value.split("..")
        if len(ends) != 2:
            return self.read(option, value)
        span = Span(*(self.read(option, end) for end in ends))
        if not span.low < span.high:
            raise ValueError(f"{option} must rise from its first end to its second, got {value!r}")
        return span

    def read(self, option: str, text: str) -> float:
        """Return the number that a text means.

        Raises:
            ValueError: it means none, or one out of the range or beyond the limit; the message names the
                option.
        """
        if self._several and "," in text:
            raise ValueError(f"{option} must be one number, got {text!r}{self._several}")
        number = _finite(text)
        if number not in self._values:
            raise ValueError(f"{option} must be {self._wanted}, got {text!r}")
        number = int(number) if self._values.whole else float(number)
        words = self._limit.beyond(number, zero=0 in self._values) if self._limit else None
        if words:
            raise ValueError(f"{option} {words}")
        return number


def _finite(text: str) -> float:
    """Return a finite number, whole ones as int, exactly; nan for all that is none."""
    try:
        number: float = int(text)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            return math.nan
    try:
        return number if math.isfinite(number) else math.nan
    except OverflowError:  # an int that no float holds
        return math.nan


def _option(variable: Variable, values: Range, words: str, *, required: bool) -> Callable[[Command], Command]:
    return click.option(
        variable.option,
        variable.name,
        metavar=variable.letter,
        type=Number(values, variable.limit, variable.hint, variable.several),
        required=required,
        help=words,
    )


def of_variables(
    *needed: str,
    besides: tuple[str, ...] = (),
    of_randomizers: bool = False,
    ranges: Mapping[str, Range] | None = None,
    words: Mapping[str, str] | None = None,
    plot: bool = False,
) -> Callable[[Command], Command]:
    """Give a command an option for each variable of the table; it takes what was given as ``given``.

    Args:
        needed: variables of questions that must be given.
        besides: variables of questions that may be.
        of_randomizers: whether a randomiser may be named: its own variables and the option of its name.
        ranges: of variables that this command narrows.
        words: help of variables that mean more to this command than the table says.
        plot: whether the command draws: it takes what to draw, and where to, as ``drawn``; None for nothing.
    """
    of_questions = [VARIABLES[name] for name in (*needed, *besides)]
    taken = [*of_questions, *OF_SYSTEMS, *(OF_RANDOMIZERS if of_randomizers else ())]

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_given(**options: Any) -> None:
            # in the order of the table, in which the setting is printed
            found = {name: options.pop(name) for name in VARIABLES if name in options}
            given = {name: value for name, value in found.items() if value is not None}
            spans = {name: value for name, value in given.items() if isinstance(value, Span)}
            given = {name: value for name, value in given.items() if name not in spans}
            if plot:
                options["drawn"] = _drawn(options.pop("plot"), spans)
            elif spans:
                raise ValueError(f"{VARIABLES[next(iter(spans))].option} must be one number here")
            if given.get("k", 0) > given.get("n", math.inf):
                raise ValueError(
                    f"--per-round must be at most --clients: a round cannot draw {given['k']} of "
                    f"{given['n']} clients"
                )
            command(given=given, **options)

        decorated: Command = with_given
        if plot:
            decorated = _plot(decorated)
        if of_randomizers:
            decorated = _randomizer(decorated)
        for variable in reversed(taken):
            decorated = _option(
                variable,
                (ranges or {}).get(variable.name, variable.range),
                (words or {}).get(variable.name, f"{variable.meaning}{variable.hint}."),
                required=variable.name in needed,
            )(decorated)
        return decorated

    return decorate


def _drawn(path: str | None, spans: Mapping[str, Span]) -> Drawn | None:
    """Return what is to be drawn.

    Raises:
        ValueError: a figure is asked for and not one variable varies, or the other way round, or it cannot be
            drawn.
    """
    varying = ", ".join(VARIABLES[name].option for name in spans)
    if path is None:
        if spans:
            raise ValueError(f"{varying} must be one number, or --plot FILE be given to draw from a to b")
        return None
    drawing.check(path)
    if len(spans) != 1:
        raise ValueError(
            f"--plot needs one variable as a..b, such as --rounds 1..1000, got {varying or 'none'}"
        )
    ((name, span),) = spans.items()
    return Drawn(path, name, span)


_plot = click.option(
    "--plot",
    metavar="FILE",
    help="Draw against the one variable that is given as a..b; the suffix is .pdf, .png or .svg.",
)
_randomizer = click.option(
    "--randomizer",
    metavar="NAME",
    help="Of this one alone: krr (--categories), subset-selection (--categories, --subset), "
    "local-hashing (--cells, --collision) with a hash drawn for each report and sent along, its "
    "lower end that of the worst family of hash functions, such as independent values, public-hashing "
    "(--cells) with one that is public for the round, privunit (--dimension), coordinate, hemisphere, "
    "laplace, piecewise, hadamard-response, oue, rappor.",
)
_protocol = click.option(
    "--protocol",
    metavar="NAME",
    help="Who takes part: subsampled-shuffle (default), shuffle, shuffle-with-dropouts (the default with "
    "--arriving), shuffled-check-in, distributed-check-in, fixed-window, sliding-window, averaged-window.",
)
_mechanism = click.option(
    "--mechanism",
    metavar="NAME",
    help="What they send: ldp (any, the default), share, tv, blanket (what --share and --tv say), krr, "
    "gaussian, approximate-ldp (these three with protocol shuffle if none is named).",
)
as_json = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help='Print JSON; an infinite number is the string "inf", one that was not computed is null.',
)


OF_SYSTEM = ("--protocol", "--mechanism", "--accountant")


def of_system(accountant: str) -> Callable[[Command], Command]:
    """Give a command the options that say what is accounted for, by whom, and how to print it.

    It takes the values of ``OF_SYSTEM`` as ``chosen``, by option, None where one is left out.

    Args:
        accountant: help of the option that names one.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_chosen(**given: Any) -> None:
            chosen = {option: given.pop(option.removeprefix("--")) for option in OF_SYSTEM}
            command(chosen=chosen, **given)

        by_name = click.option("--accountant", metavar="NAME", help=accountant)
        return _protocol(_mechanism(by_name(as_json(with_chosen))))

    return decorate
