"""Claims, and how they are decided from cached curves."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pandas as pd

from shuffledp.variables import VARIABLES

Verdict = Literal[
    "reproduced",
    "reproduced under a stated reading",
    "not reproduced",
    "not tested as stated",
    "not computed",
]

# Papers state ratios with two digits, often read off a plot.
TOLERANCE = 0.05
ALMOST = 0.1  # relative difference that "almost matches" and "close" are taken to mean
DEVIATIONS = 2.0  # standard deviations within which accuracies agree
GAP = (0.5, 1.5)  # ends of the ratio of our gap to a stated gap
MUCH, FAR = 2, 10  # ratios that "much" tighter and "far" below are taken to mean
STANDARD_ERRORS = 4  # within which a mean of simulated runs agrees with a computed value
ABOUT = 0.01  # tolerance of an accuracy that is stated as about a value
STATED_POINTS = 0.005  # tolerance of an accuracy that is stated without a deviation

# The rules by which claims are decided, by short names.
RULES: dict[str, str] = {
    "number": f"Our number is within {TOLERANCE:.0%} of the stated one.",
    "almost": f"Our two values are within {ALMOST:.0%} of each other.",
    "order": "The stated order holds at every point that the row speaks of.",
    "much": f"One value is at least {MUCH} times the other.",
    "far": f"One value is at least {FAR} times the other.",
    "crossing": "The two curves cross within the figure.",
    "inequality": (
        "The inequality holds at every computed point, and for as many drawn runs as stated; where a mean of "
        f"drawn runs is compared, it is at most {STANDARD_ERRORS} of its standard errors on the wrong side."
    ),
    "accuracy": (
        f"Our mean accuracy is within {DEVIATIONS:g} standard deviations of the stated one: the paper's "
        "deviation and ours, added in quadrature."
    ),
    "gap": (
        "A difference of two accuracies that are read off the same runs is judged as a difference: it is "
        f"between {GAP[0]:g} and {GAP[1]:g} times the stated one."
    ),
    "epsilon": (
        f"The first epsilon at which our mean accuracy reaches the stated one is within {ALMOST:.0%} of the "
        "stated epsilon. Where it is never reached, but the last mean is within the paper's own deviation, "
        "the last epsilon counts."
    ),
    "points": f"Our accuracy is within {100 * STATED_POINTS:g} points of the stated one, and counts agree.",
    "about": f"An accuracy of about so much is reached if ours comes within {100 * ABOUT:g} point of it.",
    "tau": "The mass that is left out is at most the stated one.",
    "every reading": (
        "What the paper leaves open is varied. A verdict that all readings share is given; where they do "
        "not share one, the claim is not tested as stated."
    ),
    "significant": (
        f"A gain in accuracy is significant if it is more than {DEVIATIONS:g} standard deviations over the "
        "seeds, those of both runs added in quadrature; with fewer seeds than the paper has, or with as "
        "large a loss, the claim is not tested as stated."
    ),
    "example": "One counter-example refutes that something cannot be done.",
}
PAPERS = ("girgis2021", "koskela2022", "balle2020", "liew2022")  # in the order of the ledger
# Columns of the setting, in the order in which a row names them.
_SETTING = (
    *("data", "model", "randomizer", "clip", "n", "k", "rate", "slots", "participation", "categories"),
    *("sigma", "noise_multiplier", "eps0", "delta0", "rounds", "delta"),
)


class CurveKey(NamedTuple):
    """The key of a curve: paper, figure, panel and accountant."""

    paper: str
    figure: str
    panel: str
    accountant: str


class AccuracyKey(NamedTuple):
    """The key of accuracies against epsilon: paper, figure, and the experiment that a panel of it shows."""

    paper: str
    figure: str
    experiment: str


class RunsKey(NamedTuple):
    """The key of the histories of an experiment's runs: a folder and the experiment.

    They are one table, in which the column ``run`` numbers them; their number is that of the configuration.
    """

    folder: str
    experiment: str


Key = CurveKey | AccuracyKey | RunsKey
# The tables of a claim's curves and runs, by the name that the claim has for each.
Tables = Mapping[str, pd.DataFrame]


class Decision(NamedTuple):
    """The decision on a claim.

    Attributes:
        ours: our value in words or digits.
        verdict: whether the claim is reproduced.
        reason: for the verdict.
        setting: in words; "" if it follows from the columns of the curves.
    """

    ours: str
    verdict: Verdict
    reason: str
    setting: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim of a paper.

    Attributes:
        id: short name, a letter for the paper and a number.
        paper: citation key.
        statement: what is claimed.
        stated: the value as the paper states it.
        rule: by which it is decided, a key of ``RULES``.
        curves: keys of the curves that decide it, by names of the claim's own.
        point: on the curves, such as rounds=1e5; empty if the claim is about whole curves.
        figure: which shows it, if it is not the figure of keys that name a panel; or words that no figure
            shows it.
        decide: function of the tables of those curves that returns a decision.
    """

    id: str
    paper: str
    statement: str
    stated: str
    rule: str
    curves: Mapping[str, Key]
    point: Mapping[str, float]
    figure: str
    decide: Callable[[Tables], Decision]


_CLAIMS: list[Claim] = []


def claim(
    *,
    id: str,
    paper: str,
    statement: str,
    stated: str,
    rule: str,
    curves: Mapping[str, Key],
    point: Mapping[str, float] | None = None,
    figure: str = "",
) -> Callable[[Callable[[Tables], Decision]], Callable[[Tables], Decision]]:
    """Enter the decorated function in the ledger; the fields are those of ``Claim``."""

    def enter(
        decide: Callable[[Tables], Decision],
    ) -> Callable[[Tables], Decision]:
        if any(known.id == id for known in _CLAIMS):
            raise ValueError(f"a claim {id!r} is in the ledger already")
        if rule not in RULES:
            raise ValueError(f"claim {id!r} has the rule {rule!r}; the rules are {', '.join(RULES)}")
        _CLAIMS.append(Claim(id, paper, statement, stated, rule, curves, point or {}, figure, decide))
        return decide

    return enter


def claims() -> list[Claim]:
    """Return all claims: paper by paper, and by number."""

    def place(entry: Claim) -> tuple[int, int, str]:
        found = re.fullmatch(r"[A-Z](\d+)([a-z]?)", entry.id)
        assert found is not None  # claims are entered only with such names
        number, part = found.groups()
        paper = PAPERS.index(entry.paper) if entry.paper in PAPERS else len(PAPERS)
        return paper, int(number), part

    return sorted(_CLAIMS, key=place)


def setting_of(tables: Tables, point: Mapping[str, float]) -> str:
    """Return the setting from the tables' columns: for each variable its one value, its values in several
    curves, or its range along a curve."""
    parts = []
    for name in _SETTING:
        values = [table[name] for table in tables.values() if name in table]
        if not values:
            continue
        found = sorted({value for each in values for value in each.dropna()})
        if name in point:
            found = [point[name]]
        if not found or (name == "delta" and len(found) > 1):  # delta varies if it is computed or the axis
            continue
        written = [value if isinstance(value, str) else number(value) for value in found]
        if name not in point and any(each.nunique() > 1 for each in values):
            written = [f"{written[0]} to {written[-1]}"]
        parts.append(f"{_symbol(name)}={' or '.join(written)}")
    return ", ".join(parts)


def _symbol(name: str) -> str:
    """Return the symbol of a variable without TeX, such as p0 and eps0; its name where it has none."""
    symbol = VARIABLES[name].symbol if name in VARIABLES else ""
    return symbol.replace(r"\epsilon", "eps").replace("\\", "").replace("_", "") or name


def number(value: float) -> str:
    """Return a number as people write it: 60000, 1e6, 0.001, 1e-5; with at most four digits."""
    if value == round(value) and abs(value) < 1e5:
        return f"{value:.0f}"
    shortest = next(
        (f"{value:.{digits}e}" for digits in range(4) if float(f"{value:.{digits}e}") == value), ""
    )
    mantissa, exponent = (shortest or f"{value:.3e}").split("e")
    return f"{value:.4g}" if 1e-3 <= abs(value) < 1e5 else f"{mantissa}e{int(exponent)}"


def _figure_of(curves: Mapping[str, Key]) -> str:
    """Return the figures and panels of the curves, such as ``fig2 a``."""
    panels: dict[str, list[str]] = {}
    for key in curves.values():
        if isinstance(key, CurveKey):
            panels.setdefault(key.figure, []).append(key.panel)
    return "; ".join(f"{figure} {', '.join(sorted(set(shown)))}" for figure, shown in panels.items())


def seeds(count: int) -> str:
    """Return in words how many runs there are, each of another seed."""
    return "one seed" if count == 1 else f"{count} seeds"


def agrees(ours: float, stated: float) -> bool:
    """Return whether a value is within the ledger's tolerance (5%) of the stated one."""
    return abs(ours / stated - 1) <= TOLERANCE


def at(table: pd.DataFrame, **point: float) -> pd.Series:
    """Return the row of a curve at a point, such as rounds=1e5.

    Raises:
        ValueError: the curve has no such point, or several.
    """
    rows = table
    for name, value in point.items():
        rows = rows[rows[name] == value]
    if len(rows) != 1:
        raise ValueError(f"the curve has {len(rows)} rows at {point}; the claim needs exactly one")
    return rows.iloc[0]


def evaluate(table_of: Callable[[Key], pd.DataFrame | None]) -> pd.DataFrame:
    """Decide every claim.

    Args:
        table_of: reads the table of a curve or of runs, with the setting among its columns; None if it is
            not computed.

    Returns:
        One row for each claim: id, paper, figure, statement, setting, stated, ours, verdict, rule, reason.
    """
    rows = []
    for entry in claims():
        tables = {}
        missing = []
        for name, key in entry.curves.items():
            table = table_of(key)
            if table is None:
                missing.append("/".join(key))
            else:
                tables[name] = table
        if missing:
            decision = Decision("-", "not computed", f"needs {', '.join(missing)}")
        else:
            decision = entry.decide(tables)
        rows.append(
            {
                "id": entry.id,
                "paper": entry.paper,
                "figure": entry.figure or _figure_of(entry.curves),
                "statement": entry.statement,
                "setting": "-" if missing else decision.setting or setting_of(tables, entry.point),
                "stated": entry.stated,
                "ours": decision.ours,
                "verdict": decision.verdict,
                "rule": entry.rule,
                "reason": decision.reason,
            }
        )
    return pd.DataFrame(rows)
