"""Claims of koskela2022 that its figures 1, 3, 4 and 5 decide."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from shuffledp import rounding
from shuffledp.reproduction.ledger.claims import CurveKey, Decision, claim

Tables = Mapping[str, pd.DataFrame]
_PAPER = "koskela2022"
_FIG1 = {"a": 1, "b": 2, "c": 3, "d": 4}
_FIG4 = {"a": 1, "b": 4, "c": 16}
_TAU = 1e-12
_SEEN = 1e3 * _TAU
_CLOSE = 1.05  # how many times as large "close" is taken to mean
_POINTS = 5e7
_FAR = 10  # how many times lower "considerably lower" is taken to mean


def _curves(figure: str, panels: Mapping[str, int], *accountants: str) -> dict[str, CurveKey]:
    """Curves of several panels, as accountant@rounds."""
    return {
        f"{accountant}@{rounds}": CurveKey(_PAPER, figure, panel, accountant)
        for panel, rounds in panels.items()
        for accountant in accountants
    }


def _over(
    tables: Tables, column: str, over: str, under: str, panels: Mapping[str, int]
) -> dict[int, pd.Series]:
    """Ratios along two curves, by the number of rounds."""
    return {
        rounds: tables[f"{over}@{rounds}"][column] / tables[f"{under}@{rounds}"][column]
        for rounds in panels.values()
    }


def _least(ratios: Mapping[int, pd.Series]) -> float:
    return min(map(min, ratios.values()))


def _span(ratios: Mapping[int, pd.Series]) -> str:
    return f"{_least(ratios):.2f} to {max(map(max, ratios.values())):.2f}"


def _needed(rows: pd.DataFrame, value: np.ndarray) -> np.ndarray:
    """Points after which two standard errors are half a unit of the second digit of ``value``."""
    half_unit = 0.05 * 10 ** np.floor(np.log10(value))
    return rows.points.to_numpy() * (2 * rows.standard_error.to_numpy() / half_unit) ** 2


@claim(
    id="K1",
    paper=_PAPER,
    statement=(
        "Monte Carlo with uniform points on a cube needs about 5e7 of them for two correct significant "
        "figures at n=7, sigma=2 (appendix C.3, figure 5)"
    ),
    stated="5e7",
    curves={"estimates": CurveKey(_PAPER, "fig5", "n7", "monte-carlo")},
)
def _k1(tables: Tables) -> Decision:
    by_sampling = {name: rows for name, rows in tables["estimates"].groupby("sampling")}
    cube, law, other = (by_sampling[name] for name in ("uniform", "one", "zeros"))
    seen = np.all([rows.standard_error.to_numpy() > 0 for rows in (cube, law, other)], axis=0)
    if not seen.any():
        return Decision("-", "not computed", "no estimate has enough points")
    cube, law, other = cube[seen], law[seen], other[seen]
    surer = cube.standard_error.to_numpy() < law.standard_error.to_numpy()
    value = np.where(surer, cube.estimate, law.estimate)
    uniform, important, zeros = (_needed(rows, value) for rows in (cube, law, other))
    first, last = cube.epsilon.iloc[0], cube.epsilon.iloc[-1]
    ours = (
        f"{uniform[0]:.1e} at epsilon={first:g}, {uniform.min():.1e} to {uniform.max():.1e} up to "
        f"epsilon={last:g}; drawn from M(X'): {important[0]:.1e} at epsilon={first:g}, {important[-1]:.1e} "
        f"at epsilon={last:g}"
    )
    reason = (
        f"two standard errors, from the measured variance, within half a unit of the second digit of delta; "
        f"the number jumps with the leading digit. The claim stands if it lies in the range over epsilon; "
        f"{_POINTS:.0e} suffices at {np.sum(uniform <= _POINTS)} of {len(uniform)} epsilon. The cube has "
        f"L={cube.L.iloc[0]:g}, which the paper leaves open. Points from M(X') have "
        f"{uniform[0] / important[0]:.0f} times less variance at epsilon={first:g} (from M(X) "
        f"{uniform[0] / zeros[0]:.0f} times) and "
        f"{important[-1] / uniform[-1]:.0f} times more at epsilon={last:g} (from M(X) "
        f"{zeros[-1] / uniform[-1]:.0f} times), where the reports that matter are rare under both"
    )
    if not uniform.min() <= _POINTS <= uniform.max():
        return Decision(ours, "not reproduced", reason)
    return Decision(ours, "reproduced under a stated reading", reason)


@claim(
    id="K2",
    paper=_PAPER,
    statement=(
        "For one round the numerical method of feldman2021 is close to the FFT bound; Renyi accounting is "
        "looser for one to four rounds (figure 1)"
    ),
    stated="ordering",
    curves=_curves("fig1", _FIG1, "clones-pld", "clones-rdp", "feldman2021-numerical-strong")
    | {"enumeration": CurveKey(_PAPER, "fig1", "a", "koskela2022-enumeration")},
)
def _k2(tables: Tables) -> Decision:
    first = {rounds: tables[f"clones-pld@{rounds}"].iloc[0] for rounds in _FIG1.values()}
    deltas = ", ".join(rounding.shown(row.delta, "upper", places=5) for row in first.values())
    ours = f"delta at epsilon={first[1].epsilon:g}: {deltas} (FFT, one to four rounds)"
    looser = _over(tables, "delta", "clones-rdp", "clones-pld", _FIG1)
    if not all((ratio > 1).all() for ratio in looser.values()):
        return Decision(ours, "not reproduced", "Renyi accounting is not looser everywhere")
    earlier = _over(tables, "delta", "feldman2021-numerical-strong", "clones-pld", {"a": 1})[1]
    least = rounding.shown(_least(looser), "lower", places=2)
    renyi = f"Renyi accounting is looser at every point (delta at least {least} times as large)"
    by_itself = (
        f"the numerical method of feldman2021 gives a delta {earlier.iloc[0]:.2f} times as large at "
        f"epsilon={first[1].epsilon:g}, and {earlier.iloc[-1]:.1g} times at "
        f"epsilon={tables['clones-pld@1'].epsilon.iloc[-1]:g}"
    )
    if earlier.max() < _CLOSE:
        return Decision(ours, "reproduced", f"{renyi}; {by_itself}")
    fft = tables["clones-pld@1"].delta
    seen = fft > _SEEN  # below, the enumeration's truncation shows
    same = (tables["enumeration"].delta / fft - 1)[seen].abs().max()
    within = rounding.shown(100 * same, "upper", digits=2)
    return Decision(
        ours,
        "not reproduced",
        f"{renyi}, but {by_itself}, as its analysis has fewer clones. Only on the pair of feldman2022, which "
        f"is the one that the FFT composes, do the two agree (enumerated, within {within}% where "
        f"delta is above {_SEEN:g}), by construction",
    )


@claim(
    id="K3",
    paper=_PAPER,
    statement=(
        "Numerical accounting is considerably below Theorem 1 of girgis2021, and the curves seem to cross as "
        "the number of compositions grows (figure 3)"
    ),
    stated="ordering, crossing",
    curves={
        "theorem1": CurveKey(_PAPER, "fig3", "a", "girgis2021-upper"),
        "pld": CurveKey(_PAPER, "fig3", "a", "clones-pld"),
    },
)
def _k3(tables: Tables) -> Decision:
    ratio = tables["theorem1"].epsilon / tables["pld"].epsilon
    rounds = tables["pld"].rounds
    ours = (
        f"Theorem 1 over numerical: {ratio.iloc[0]:.0f}x at T={rounds.iloc[0]:g}, {ratio.iloc[-1]:.0f}x at "
        f"T={rounds.iloc[-1]:g}"
    )
    if (ratio < 1).any():
        return Decision(ours, "reproduced", "the curves cross")
    if ratio.min() < _FAR:
        return Decision(ours, "not reproduced", "neither far apart nor crossing")
    growth = tables["pld"].epsilon.iloc[-1] / tables["pld"].epsilon.iloc[0]
    return Decision(
        ours,
        "not reproduced",
        f"considerably below: yes, everywhere; the curves do not cross, nor come near it. From "
        f"T={rounds.iloc[0]:g} to T={rounds.iloc[-1]:g} numerical epsilon grows {growth:.0f} times, little "
        f"more than the square root of T",
    )


@claim(
    id="K4",
    paper=_PAPER,
    statement=(
        "For 4-ary randomised response the weak adversary gives much less than the clones of feldman2022, "
        "and the strong adversary's curve and that of the clones are very close and cross (figure 4)"
    ),
    stated="ordering, crossing",
    curves=_curves("fig4", _FIG4, "krr-strong", "krr-weak", "krr-clones", "krr-weak-tail"),
)
def _k4(tables: Tables) -> Decision:
    weak = _over(tables, "epsilon", "krr-clones", "krr-weak", _FIG4)
    strong = _over(tables, "epsilon", "krr-strong", "krr-clones", _FIG4)
    tail = _over(tables, "epsilon", "krr-weak-tail", "krr-clones", _FIG4)
    ours = f"clones over weak: {_span(weak)}; strong over clones: {_span(strong)}"
    if not all((ratio > 1).all() for ratio in weak.values()):
        return Decision(ours, "not reproduced", "the weak adversary is not below the clones")
    if any((ratio < 1).any() for ratio in strong.values()):
        return Decision(ours, "reproduced", "the strong adversary's curve crosses that of the clones")
    return Decision(
        ours,
        "not reproduced",
        f"the weak adversary is below the clones, but not by much; the strong one lies well above them for "
        f"1, 4 and 16 rounds and never crosses. With the tail form as printed even the weak adversary is "
        f"above the clones ({_span(tail)} times)",
    )


@claim(
    id="K5",
    paper=_PAPER,
    statement="What Lemma 11 leaves out, keeping O(n) outcomes, has a mass of at most tau (section 3.2)",
    stated="tau = 1e-12",
    curves={
        "enumeration": CurveKey(_PAPER, "fig1", "a", "koskela2022-enumeration"),
        "pld": CurveKey(_PAPER, "fig1", "a", "clones-pld"),
    },
)
def _k5(tables: Tables) -> Decision:
    row = tables["enumeration"].iloc[0]
    left_out = rounding.shown(row.left_out, "upper", digits=2)
    ours = f"{left_out} left out of {row.terms:.3g} outcomes at n={row.n:g}"
    if row.left_out > _TAU:
        return Decision(ours, "not reproduced", "more is left out")
    return Decision(
        ours,
        "reproduced",
        "the binomial tails outside Hoeffding's bounds, summed; counted as infinite loss here, they are "
        "added to delta, which at epsilon=1 is below them",
    )
