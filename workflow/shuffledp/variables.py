"""The variables of accounting, in one table from which everything about them is made.

From the table come the options of the command line and how they are read, the checks of ranges, what the
configuration may fix or vary, the labels of axes, and the page that documents them. A new variable is one
entry.
Nothing heavy is imported here, so that help and refusals of the command line need not wait for numpy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple


class Limit(NamedTuple):
    """How far a variable is accounted for, where its range goes further.

    Attributes:
        least: smallest value above 0; 0 where the range sets the lower end.
        most: largest value; inf where the range sets the upper end.
        why: the reason for the limit, which messages give after "since".
        why_least: the reason for the lower end, if it is another one.
    """

    least: float
    most: float
    why: str
    why_least: str = ""

    def beyond(self, value: float, *, zero: bool = False) -> str | None:
        """Return what a message says after a variable's name if its value is out of the limit, else None.

        Args:
            value: the value.
            zero: whether 0 is one that the variable may take.
        """
        if 0 < value < self.least:  # a smaller one is out of the range, which is refused elsewhere
            either = "0 or " if zero else ""
            why = self.why_least or self.why
            return f"must be {either}at least {self.least:g}, since {why}, got {value!r}"
        if value > self.most:
            return f"must be at most {self.most:g}, since {self.why}, got {value!r}"
        return None


class Range(NamedTuple):
    """The values that a variable may take by what it means.

    Attributes:
        least: lower end.
        most: upper end, inf if there is none.
        without_least: whether the lower end itself is left out.
        without_most: whether the upper end itself is left out.
        whole: whether only whole numbers are meant.
    """

    least: float = 0.0
    most: float = math.inf
    without_least: bool = False
    without_most: bool = False
    whole: bool = False

    def number(self, value: object) -> float | None:
        """Return the number that a value is: an int where whole numbers are meant, else a float.

        Args:
            value: anything.

        Returns:
            The number; None if the value is none of the range. nan, infinite ones and those too large for a
            double never are, nor are truth values and texts. A float is compared with the ends as it is
            returned, after rounding, and a whole number exactly.
        """
        if isinstance(value, bool) or not isinstance(value, Real):
            return None
        try:
            found: float = float(value)
        except OverflowError:
            return None
        if not math.isfinite(found):
            return None
        if self.whole:
            if value != int(value):  # type: ignore[call-overload]  # Real does not promise int()
                return None
            found = int(value)  # type: ignore[call-overload]
        above = found > self.least if self.without_least else found >= self.least
        below = found < self.most if self.without_most else found <= self.most
        return found if above and below else None

    def __contains__(self, value: object) -> bool:
        """Return whether a value is one of the range; see ``number``."""
        return self.number(value) is not None

    @property
    def smallest(self) -> float:
        """The smallest whole number in the range; -inf if there is none."""
        if math.isinf(self.least):
            return self.least
        return math.floor(self.least) + 1 if self.without_least else math.ceil(self.least)

    @property
    def largest(self) -> float:
        """The largest whole number in the range; inf if there is none."""
        if math.isinf(self.most):
            return self.most
        return math.ceil(self.most) - 1 if self.without_most else math.floor(self.most)

    @property
    def words(self) -> str:
        """Words for what a value must be, for messages and tables."""
        if self.most < math.inf:
            return f"a {'whole ' if self.whole else ''}number in {self.interval}"
        kind = f"a {'whole' if self.whole else 'finite'} number"
        if self.least == -math.inf:
            return kind
        return f"{kind} {'>' if self.without_least else '>='} {_exact(self.least)}"

    @property
    def interval(self) -> str:
        """The ends, in brackets."""
        first = "(" if self.without_least or self.least == -math.inf else "["
        last = ")" if self.without_most or self.most == math.inf else "]"
        return f"{first}{_exact(self.least)}, {_exact(self.most)}{last}"


def _exact(end: float) -> str:
    """Return an end of a range as text that means this number and no other."""
    if end == 0.5:
        return "1/2"
    short = f"{end:g}"
    return short if float(short) == end else repr(end)


def counts(least: int) -> Range:
    """Return the range of whole numbers from ``least`` on."""
    return Range(least, whole=True)


NON_NEGATIVE = Range()
POSITIVE = Range(without_least=True)
INSIDE = Range(0, 1, without_least=True, without_most=True)
BELOW_ONE = Range(0, 1, without_most=True)
PROBABILITY = Range(0, 1)
UP_TO_HALF = Range(0, 0.5, without_least=True)

_EXACT = Limit(0, 1e15, "whole numbers far beyond it are not exact in double precision")
_SQUARES = Limit(1e-100, 1e100, "its square must be exact in double precision")
_SMALL = 1e-30
_PRODUCTS = "products of several such numbers must be exact in double precision"
_HIDING = Limit(_SMALL, 1e5, "reports with a larger one hide nothing", _PRODUCTS)
_LIKELY = Limit(_SMALL, math.inf, _PRODUCTS)
_OF_REPORTS = Limit(_SMALL**2, math.inf, _PRODUCTS)  # which follow from eps0 and as small numbers
# of no variable, but read and refused like one
THREADS = Limit(0, 1024, "no machine of today computes faster with more")
SEEDS = Limit(0, 2.0**53, "seeds are stored in JSON, whose numbers are doubles")


@dataclass(frozen=True)
class Variable:
    """One variable.

    Attributes:
        name: what the library calls it, and the configuration and the columns of tables too.
        option: what the command line calls it.
        letter: what stands for its value in the help of the command line.
        symbol: what stands for it in figures, in TeX; "" where its words do.
        words: what an axis says before the symbol.
        meaning: what it is, for people who meet it for the first time; without a full stop.
        range: the values that it may take.
        unit: of its values; "" for a number without one.
        limit: how far it is accounted for; None where its range is all of it.
        hint: what messages add to the range.
        rises: whether epsilon rises in it, or falls, all others being fixed; None where a budget does not ask
            for it.
        several: what messages add where several values are given.
    """

    name: str
    option: str
    letter: str
    symbol: str
    words: str
    meaning: str
    range: Range
    unit: str = ""
    limit: Limit | None = None
    hint: str = ""
    rises: bool | None = None
    several: str = ""

    @property
    def whole(self) -> bool:
        """Whether its values are whole numbers."""
        return self.range.whole

    @property
    def least(self) -> float:
        """The smallest value above 0 that is accounted for, 0 if there is none."""
        return self.limit.least if self.limit else 0.0

    @property
    def most(self) -> float:
        """The largest value that is accounted for, inf if there is none."""
        return min(self.range.most, self.limit.most if self.limit else math.inf)

    @property
    def tex(self) -> str:
        """Its symbol in a formula, in TeX."""
        return self.symbol or rf"\mathrm{{{self.words}}}"

    @property
    def label(self) -> str:
        """Its label on an axis."""
        return f"{self.words} ${self.symbol}$".strip() if self.symbol else self.words

    @property
    def description(self) -> str:
        """Its meaning, unit and limit in a sentence."""
        unit = f" ({self.unit})" if self.unit else ""
        limited = self.limit and self.limit.most < math.inf
        limit = f"; at most {self.limit.most:g}, since {self.limit.why}" if self.limit and limited else ""
        return f"{self.meaning}{unit}{limit}."

    def beyond(self, value: float) -> str | None:
        """Return what a message says after its name if a value is out of its limit, else None."""
        return self.limit.beyond(value, zero=0 in self.range) if self.limit else None


# fmt: off
# What sets systems, in the order in which help and tables have it.
OF_SYSTEMS = (
    Variable("n", "--clients", "N", "n", "clients",
             "Number of clients", counts(1), limit=_EXACT, rises=False),
    Variable("k", "--per-round", "K", "k", "clients per round",
             "Clients drawn afresh for each round, at most n", counts(1), limit=_EXACT, rises=True),
    Variable("arriving", "--arriving", "A", "k'", "reports that arrive",
             "Reports that arrive at least, of the k clients drawn; rounds with fewer are thrown away unread",
             counts(1), limit=_EXACT, rises=False),
    Variable("eps0", "--eps0", "EPS0", r"\epsilon_0", "local privacy",
             "Local privacy parameter of the randomiser", NON_NEGATIVE, "nats", _HIDING, rises=True,
             several="; where clients differ in it, give the largest, which all satisfy: no bound here "
                     "uses each client's own"),
    Variable("categories", "--categories", "C", "", "categories",
             "Categories of a record, as of k-ary randomised response", counts(2), limit=_EXACT),
    Variable("gamma", "--gamma", "GAMMA", r"\gamma", "probability of a uniform answer",
             "Probability that a k-ary randomised response is drawn uniformly", INSIDE, limit=_LIKELY),
    Variable("rate", "--rate", "RATE", r"\gamma", "check-in rate",
             "Probability that a client checks in to a round, on its own", INSIDE, limit=_LIKELY, rises=True),
    Variable("slots", "--slots", "M", "m", "slots",
             "Slots of a window, of which a client picks one", counts(1), limit=_EXACT),
    Variable("participation", "--participation", "P", "p_0", "participation",
             "Probability that a client takes part in a window at all", PROBABILITY, limit=_LIKELY),
    Variable("sigma", "--sigma", "SIGMA", r"\sigma", "noise",
             "Deviation of the Gaussian noise over the records' largest distance", POSITIVE, limit=_SQUARES,
             rises=False),
    Variable("delta0", "--delta0", "DELTA0", r"\delta_0", "failure probability",
             "Probability with which a local randomiser may fail its eps0", BELOW_ONE),
    Variable("share", "--share", "F", "F", "share of the blanket",
             "The randomiser has a blanket of mass 1/(1 + (e^eps0 - 1) share)", UP_TO_HALF, limit=_OF_REPORTS,
             hint="; every eps0-LDP randomiser may be taken at 1/2"),
    Variable("tv", "--tv", "TV", r"\mathrm{TV}", "total variation",
             "Bound on the total variation between reports of two records", PROBABILITY, limit=_OF_REPORTS),
)
# What sets a randomiser that is named, besides eps0 and the categories above.
OF_RANDOMIZERS = (
    Variable("dimension", "--dimension", "D", "d", "dimension",
             "Length of the vectors of a named randomiser", counts(1), limit=_EXACT),
    Variable("subset", "--subset", "S", "s", "subset",
             "Categories that subset selection sends", counts(1), limit=_EXACT),
    Variable("cells", "--cells", "G", "g", "cells",
             "Values of a hash of local hashing", counts(2), limit=_EXACT),
    Variable("collision", "--collision", "P", "p", "collision",
             "Least probability that two records have one hash, where each report draws its own", BELOW_ONE,
             limit=_OF_REPORTS),
)
# What every question has, whatever is asked about.
OF_QUESTIONS = (
    Variable("rounds", "--rounds", "T", "T", "rounds",
             "Number of rounds", counts(0), limit=_EXACT, rises=True),
    Variable("delta", "--delta", "DELTA", r"\delta", "",
             "Target delta", BELOW_ONE, hint="; 0 asks for pure DP", rises=False),
    Variable("epsilon", "--eps", "EPS", r"\epsilon", "central privacy",
             "Epsilon at which delta is asked for", NON_NEGATIVE, "nats"),
)
# fmt: on
VARIABLES = {variable.name: variable for variable in (*OF_SYSTEMS, *OF_RANDOMIZERS, *OF_QUESTIONS)}


def beyond(name: str, value: float) -> str | None:
    """Return what a message says after a variable's name if its value is out of the limit, else None.

    A name that is not in the table has no limit.
    """
    return VARIABLES[name].beyond(value) if name in VARIABLES else None


def check_limit(name: str, value: float) -> None:
    """Make sure that a variable's value lies in its limit.

    Raises:
        ValueError: it does not; the message has the limit and its reason.
    """
    words = beyond(name, value)
    if words:
        raise ValueError(f"{name} {words}")


def table() -> Iterator[tuple[str, ...]]:
    """Yield a row of every variable for the documentation: name, option, symbol, meaning, values, unit."""
    for variable in VARIABLES.values():
        limit = variable.limit
        begins = ", 0 or" if 0 in variable.range else ""
        upto = f"{begins} from {limit.least:g}" if limit and limit.least else ""
        upto += f" up to {limit.most:g}" if limit and limit.most < math.inf else ""
        values = f"{variable.range.words}{upto}"
        yield variable.name, variable.option, variable.tex, variable.meaning, values, variable.unit
