"""Claims of koskela2022 that its figures 1, 3, 4 and 5 decide."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from shuffledp import rounding
from shuffledp.profiles.shuffled_gaussian import shuffled_gaussian
from shuffledp.reproduction.ledger.claims import (
    ALMOST,
    FAR,
    MUCH,
    CurveKey,
    Decision,
    Tables,
    claim,
)

_PAPER = "koskela2022"
_FIG1 = {"a": 1, "b": 2, "c": 3, "d": 4}
_FIG4 = {"a": 1, "b": 4, "c": 16}
_TAU = 1e-12
_SEEN = 1e3 * _TAU
_POINTS = 5e7
_CUBES = (8.0, 10.0, 14.0)  # half edges of the cube; from four sigma on little probability is outside
_ERRORS = 4  # standard errors within which an estimate must lie


def _curves(figure: str, panels: Mapping[str, int], *accountants: str) -> dict[str, CurveKey]:
    """Return the curves of several panels, named accountant@rounds."""
    return {
        f"{accountant}@{rounds}": CurveKey(_PAPER, figure, panel, accountant)
        for panel, rounds in panels.items()
        for accountant in accountants
    }


def _over(
    tables: Tables, column: str, over: str, under: str, panels: Mapping[str, int]
) -> dict[int, pd.Series]:
    """Return the ratios of two curves, by the number of rounds."""
    return {
        rounds: tables[f"{over}@{rounds}"][column] / tables[f"{under}@{rounds}"][column]
        for rounds in panels.values()
    }


def _least(ratios: Mapping[int, pd.Series]) -> float:
    return min(map(min, ratios.values()))


def _span(ratios: Mapping[int, pd.Series]) -> str:
    return f"{_least(ratios):.2f} to {max(map(max, ratios.values())):.2f}"


def _needed(rows: pd.DataFrame, value: np.ndarray) -> np.ndarray:
    """Return the number of points for which two standard errors are half a unit of the second digit."""
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
    rule="every reading",
    curves={"estimates": CurveKey(_PAPER, "fig5", "n7", "monte-carlo")},
    figure="fig5 c",
)
def _k1(tables: Tables) -> Decision:
    by_sampling = {name: rows for name, rows in tables["estimates"].groupby("sampling")}
    cube, law = (by_sampling[name] for name in ("uniform", "one"))
    seen = np.all([rows.standard_error.to_numpy() > 0 for rows in (cube, law)], axis=0)
    if not seen.any():
        return Decision("-", "not computed", "no estimate has enough points")
    cube, law = cube[seen], law[seen]
    surer = cube.standard_error.to_numpy() < law.standard_error.to_numpy()
    value = np.where(surer, cube.estimate, law.estimate)
    uniform, important = (_needed(rows, value) for rows in (cube, law))
    first, last = cube.epsilon.iloc[0], cube.epsilon.iloc[-1]
    edge = float(cube.L.iloc[0])
    # the variance is that of a constant density: in proportion to the cube's volume
    needed = {each: uniform * (each / edge) ** float(cube.n.iloc[0]) for each in _CUBES}
    ranges = "; ".join(f"L={each:g}: {some.min():.1e} to {some.max():.1e}" for each, some in needed.items())
    ours = f"{ranges} (epsilon={first:g} to {last:g})"
    within = {bool(some.min() <= _POINTS <= some.max()) for some in needed.values()}
    reason = (
        f"two standard errors, from the measured variance at L={edge:g}, within half a unit of the second "
        f"digit of delta; for another L, which the paper leaves open, in proportion to the volume of the "
        f"cube. Points drawn from M(X') need {important[0]:.1e} at epsilon={first:g} and "
        f"{important[-1]:.1e} at epsilon={last:g}"
    )
    if len(within) > 1:
        return Decision(ours, "not tested as stated", f"which L is taken decides it: {reason}")
    return Decision(ours, "reproduced" if within.pop() else "not reproduced", reason)


@claim(
    id="K2a",
    paper=_PAPER,
    statement="For one round the numerical method of feldman2021 is close to the FFT bound (figure 1)",
    stated="close",
    rule="almost",
    curves={
        name: CurveKey(_PAPER, "fig1", "a", accountant)
        for name, accountant in (
            ("pld", "clones-pld"),
            ("numerical", "feldman2021-numerical-strong"),
            ("enumeration", "koskela2022-enumeration"),
        )
    },
)
def _k2a(tables: Tables) -> Decision:
    fft, numerical = tables["pld"], tables["numerical"]
    first, last = fft.iloc[0], fft.iloc[-1]
    ratio = numerical.delta.to_numpy() / fft.delta.to_numpy()
    ours = (
        f"delta {ratio[0]:.2f} times as large at epsilon={first.epsilon:g}, {ratio[-1]:.1g} times at "
        f"epsilon={last.epsilon:g}"
    )
    if ratio.max() <= 1 + ALMOST:
        return Decision(ours, "reproduced", "close at every epsilon")
    seen = fft.delta > _SEEN  # below, the enumeration's truncation shows
    same = (tables["enumeration"].delta / fft.delta - 1)[seen].abs().max()
    within = rounding.shown(100 * same, "upper", digits=2)
    return Decision(
        ours,
        "not reproduced",
        f"the analysis of feldman2021 has fewer clones. Only on the pair of feldman2022, which is the one "
        f"that the FFT composes, do the two agree (enumerated, within {within}% where delta is above "
        f"{_SEEN:g}), by construction",
    )


@claim(
    id="K2b",
    paper=_PAPER,
    statement="Renyi accounting is looser than the FFT bound for one to four rounds (figure 1)",
    stated="ordering",
    rule="order",
    curves=_curves("fig1", _FIG1, "clones-pld", "clones-rdp"),
)
def _k2b(tables: Tables) -> Decision:
    looser = _over(tables, "delta", "clones-rdp", "clones-pld", _FIG1)
    least = _least(looser)
    ours = f"delta at least {rounding.shown(least, 'lower', places=2)} times as large"
    if least <= 1:
        return Decision(ours, "not reproduced", "not looser everywhere")
    return Decision(ours, "reproduced", "looser at every epsilon, for each number of rounds")


_FIG3 = {
    "theorem1": CurveKey(_PAPER, "fig3", "a", "girgis2021-upper"),
    "pld": CurveKey(_PAPER, "fig3", "a", "clones-pld"),
}


def _fig3(tables: Tables) -> tuple[pd.Series, str]:
    """Return Theorem 1 over numerical accounting along the rounds, and its ends in words."""
    ratio, rounds = tables["theorem1"].epsilon / tables["pld"].epsilon, tables["pld"].rounds
    ends = f"{ratio.iloc[0]:.0f}x at T={rounds.iloc[0]:g}, {ratio.iloc[-1]:.0f}x at T={rounds.iloc[-1]:g}"
    return ratio, f"Theorem 1 over numerical: {ends}"


@claim(
    id="K3a",
    paper=_PAPER,
    statement="Numerical accounting is considerably below Theorem 1 of girgis2021 (figure 3)",
    stated="considerably below",
    rule="far",
    curves=_FIG3,
)
def _k3a(tables: Tables) -> Decision:
    ratio, ours = _fig3(tables)
    if ratio.min() < FAR:
        return Decision(ours, "not reproduced", "not so far below for every number of rounds")
    return Decision(ours, "reproduced", "so far below for every number of rounds")


@claim(
    id="K3b",
    paper=_PAPER,
    statement="The curves seem to cross as the number of compositions grows (figure 3)",
    stated="crossing",
    rule="crossing",
    curves=_FIG3,
)
def _k3b(tables: Tables) -> Decision:
    ratio, ours = _fig3(tables)
    if (ratio < 1).any():
        return Decision(ours, "reproduced", "the curves cross")
    growth = tables["pld"].epsilon.iloc[-1] / tables["pld"].epsilon.iloc[0]
    return Decision(ours, "not reproduced", f"they do not; numerical epsilon grows {growth:.0f} times")


@claim(
    id="K4a",
    paper=_PAPER,
    statement=(
        "For 4-ary randomised response the weak adversary gives a lower epsilon than the clones of "
        "feldman2022 (figure 4)"
    ),
    stated="ordering",
    rule="order",
    curves=_curves("fig4", _FIG4, "krr-weak", "krr-clones", "krr-weak-tail"),
)
def _k4a(tables: Tables) -> Decision:
    weak = _over(tables, "epsilon", "krr-clones", "krr-weak", _FIG4)
    tail = _over(tables, "epsilon", "krr-weak-tail", "krr-clones", _FIG4)
    ours = f"clones over weak: {_span(weak)}"
    if _least(weak) <= 1:
        return Decision(ours, "not reproduced", "the weak adversary is not below the clones")
    return Decision(
        ours,
        "reproduced",
        f"as hockey-stick divergences; in the tail form as printed the weak adversary would be {_span(tail)} "
        f"times the clones",
    )


@claim(
    id="K4b",
    paper=_PAPER,
    statement=(
        "For 4-ary randomised response the guarantees against the weak adversary are much stronger than by "
        "the clones of feldman2022 (figure 4)"
    ),
    stated="much stronger",
    rule="much",
    curves=_curves("fig4", _FIG4, "krr-weak", "krr-clones"),
)
def _k4b(tables: Tables) -> Decision:
    weak = _over(tables, "epsilon", "krr-clones", "krr-weak", _FIG4)
    ours = f"clones over weak: {_span(weak)}"
    if _least(weak) >= MUCH:
        return Decision(ours, "reproduced", "for each number of rounds")
    return Decision(ours, "not reproduced", "stronger, but not by so much")


@claim(
    id="K4c",
    paper=_PAPER,
    statement=(
        "For 4-ary randomised response the strong adversary's curve and that of the clones of feldman2022 "
        "are very close (figure 4)"
    ),
    stated="very close",
    rule="almost",
    curves=_curves("fig4", _FIG4, "krr-strong", "krr-clones"),
)
def _k4c(tables: Tables) -> Decision:
    strong = _over(tables, "epsilon", "krr-strong", "krr-clones", _FIG4)
    ours = f"strong over clones: {_span(strong)}"
    if max(float((ratio - 1).abs().max()) for ratio in strong.values()) <= ALMOST:
        return Decision(ours, "reproduced", "for each number of rounds")
    return Decision(ours, "not reproduced", "further apart")


@claim(
    id="K4d",
    paper=_PAPER,
    statement=(
        "For 4-ary randomised response the strong adversary's curve and that of the clones of feldman2022 "
        "cross (figure 4)"
    ),
    stated="crossing",
    rule="crossing",
    curves=_curves("fig4", _FIG4, "krr-strong", "krr-clones"),
)
def _k4d(tables: Tables) -> Decision:
    strong = _over(tables, "epsilon", "krr-strong", "krr-clones", _FIG4)
    every = np.concatenate([np.asarray(ratio) for ratio in strong.values()])
    ours = f"strong above the clones at {int((every > 1).sum())} of {every.size} points of the three panels"
    crossing = any((ratio < 1).any() and (ratio > 1).any() for ratio in strong.values())
    if crossing:
        return Decision(ours, "reproduced", "the curves cross")
    side = "above" if _least(strong) >= 1 else "below"
    return Decision(ours, "not reproduced", f"the strong adversary lies {side} the clones throughout")


@claim(
    id="K5",
    paper=_PAPER,
    statement="What Lemma 11 leaves out, keeping O(n) outcomes, has a mass of at most tau (section 3.2)",
    stated="tau = 1e-12",
    rule="tau",
    curves={
        "enumeration": CurveKey(_PAPER, "fig1", "a", "koskela2022-enumeration"),
        "pld": CurveKey(_PAPER, "fig1", "a", "clones-pld"),
    },
    figure="none: what is left out of the curve of fig1 a is too small to be seen",
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


@claim(
    id="K6",
    paper=_PAPER,
    statement="Numerical accounting lowers epsilon by up to an order of magnitude (section 6, figure 3)",
    stated="an order of magnitude",
    rule="far",
    curves=_FIG3,
)
def _k6(tables: Tables) -> Decision:
    ratio, ours = _fig3(tables)
    if ratio.max() < FAR:
        return Decision(ours, "not reproduced", "by less")
    return Decision(ours, "reproduced", "by more, in this figure against Theorem 1")


@claim(
    id="K7",
    paper=_PAPER,
    statement=(
        "The integral for the shuffled Gaussian cannot be projected to a lower-dimensional problem "
        "(section 5)"
    ),
    stated="cannot",
    rule="example",
    curves={"estimates": CurveKey(_PAPER, "fig5", "n7", "monte-carlo")},
    figure="fig5 a, b",
)
def _k7(tables: Tables) -> Decision:
    rows = tables["estimates"]
    rows = rows[(rows.sampling == "zeros") & (rows.standard_error > 0)]
    if rows.empty:
        return Decision("-", "not computed", "no estimate has enough points")
    first = rows.iloc[0]
    exact = np.asarray(
        shuffled_gaussian(
            rows.epsilon.to_numpy(), n=int(first.n), sigma=float(first.sigma), direction="forward"
        )
    )
    errors = float(np.max(np.abs(exact - rows.estimate.to_numpy()) / rows.standard_error.to_numpy()))
    ours = f"a sum of {first.n:g} numbers gives delta within {errors:.1f} standard errors of Monte Carlo"
    if errors > _ERRORS:
        return Decision(ours, "reproduced", "the sum does not give the integral")
    return Decision(
        ours,
        "not reproduced",
        "the likelihood ratio is the mean of n independent log-normal terms, so that delta is an expectation "
        "over the law of one number, which is computed to any accuracy",
    )
