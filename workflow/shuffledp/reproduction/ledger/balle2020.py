"""Claims of balle2020 about its theorems, decided by its curves and by drawn check-ins."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shuffledp import rounding
from shuffledp.checkin import balle2020
from shuffledp.reproduction.ledger.claims import (
    STANDARD_ERRORS,
    CurveKey,
    Decision,
    RunsKey,
    Tables,
    claim,
    number,
    setting_of,
)

_PAPER = "balle2020"


@claim(
    id="B1",
    paper=_PAPER,
    statement=(
        "Random check-ins have epsilon at most 7 p0 eps0 sqrt(log(1/delta)/m) for eps0 <= 1, delta <= 0.01 "
        "(Theorem 3.2, and 4.3 with p0 = 1)"
    ),
    stated="inequality",
    rule="inequality",
    curves={
        "fixed window": CurveKey(_PAPER, "fig1", "a", "fixed-window-printed"),
        "sliding window": CurveKey(_PAPER, "fig1", "b", "sliding-window-printed"),
    },
    figure="closed_forms a; fig1 a, b",
)
def _b1(tables: Tables) -> Decision:
    within, ratios = {}, []
    for name, table in tables.items():
        some = table[(table.eps0 <= 1) & (table.delta <= 0.01)]
        if "participation" not in some:
            some = some.assign(participation=1.0)
        within[name] = some
        simple = [
            balle2020.simple_fixed_window(
                slots=int(row.slots), eps0=row.eps0, delta=row.delta, participation=row.participation
            )
            for row in some.itertuples()
        ]
        ratios.append(some.theorem_epsilon / simple)
    every = pd.concat(ratios)
    ours = (
        f"{rounding.shown(every.min(), 'lower', places=2)} to "
        f"{rounding.shown(every.max(), 'upper', places=2)} of it ({every.size} settings), by the closed form "
        f"of the theorem"
    )
    setting = setting_of(within, {})
    if every.max() > 1:
        return Decision(ours, "not reproduced", "the theorem's own epsilon exceeds the simple form", setting)
    return Decision(ours, "reproduced", "the simple form holds, and is loose by the factors above", setting)


@claim(
    id="B2",
    paper=_PAPER,
    statement=(
        "Expected dummy updates: at most m e^(-p0 n/m) in a fixed window, (n - m + 1)/e in a sliding one "
        "(Propositions 3.4 and 4.4)"
    ),
    stated="inequality",
    rule="inequality",
    curves={
        f"{panel} {form}": CurveKey(_PAPER, "fig3", panel, f"{protocol}-dummies{form}")
        for panel, protocol in (("a", "fixed-window"), ("b", "sliding-window"))
        for form in ("", "-bound", "-drawn")
    },
)
def _b2(tables: Tables) -> Decision:
    over, off = [], []
    for panel in ("a", "b"):
        exact, bound, drawn = (tables[f"{panel} {form}"] for form in ("", "-bound", "-drawn"))
        over.append((exact.value / bound.value).max())
        # if no run has an empty slot, the measured spread is 0 and says nothing
        spread = np.maximum(drawn.error, 1 / drawn.runs)
        off.append(((drawn.value - exact.value).abs() / spread).max())
    ours = (
        f"expectation over bound at most {rounding.shown(max(over), 'upper', places=4)}; drawn means within "
        f"{rounding.shown(max(off), 'upper', places=1)} standard errors"
    )
    if max(over) > 1:
        return Decision(ours, "not reproduced", "an expectation exceeds its bound")
    if max(off) > STANDARD_ERRORS:
        return Decision(ours, "not reproduced", "drawn check-ins have another mean than the formula")
    return Decision(
        ours, "reproduced", "the expectations lie below the bounds and agree with drawn check-ins"
    )


@claim(
    id="B3",
    paper=_PAPER,
    statement=(
        "The norm of the loads of m slots exceeds sqrt(n + n^2/m) + sqrt(n log(1/delta)) with probability "
        "delta at most (Lemma A.6)"
    ),
    stated="inequality",
    rule="inequality",
    curves={"drawn": CurveKey(_PAPER, "loads", "a", "load-norm-drawn")},
)
def _b3(tables: Tables) -> Decision:
    drawn = tables["drawn"]
    runs = drawn.runs.min()
    delta = drawn.delta.max()
    ours = f"beyond it in a share of {drawn.beyond.max():g} of {runs:g} runs at most, delta = {delta:g}"
    if drawn.beyond.max() > delta:
        return Decision(ours, "not reproduced", "the norm was beyond the bound more often than delta")
    return Decision(ours, "reproduced", "drawn check-ins stay below the bound as often as stated")


@claim(
    id="B4",
    paper=_PAPER,
    statement=(
        "Windows one after the other, in each of which a client takes part with probability m/n, have "
        "epsilon at most 4 (e^eps0 - 1) sqrt(e^eps0 log(1/beta) log(1/delta)/n) + 12 (e^eps0 - 1)^2 e^eps0 "
        "log(1/beta)/n (Corollary 3.3)"
    ),
    stated="inequality",
    rule="inequality",
    curves={"fixed window": CurveKey(_PAPER, "fig1", "a", "fixed-window-printed")},
    figure="closed_forms b",
)
def _b4(tables: Tables) -> Decision:
    table = tables["fixed window"]
    m, delta = int(table.slots.iloc[0]), float(table.delta.iloc[0])
    n = round(m / float(table.participation.iloc[0]))
    within = table[[balle2020.corollary_applies(n=n, slots=m, eps0=eps0) for eps0 in table.eps0]]
    # equation (7), composing the windows' own epsilon; delta serves for beta too
    composed = [
        balle2020.composed_windows(eps=eps, windows=n // m, delta=delta) for eps in within.theorem_epsilon
    ]
    stated = [
        balle2020.corollary_3_3(n=n, slots=m, eps0=eps0, beta=delta, delta=delta) for eps0 in within.eps0
    ]
    ratio = np.array(composed) / np.array(stated)
    ours = (
        f"{rounding.shown(ratio.min(), 'lower', places=2)} to "
        f"{rounding.shown(ratio.max(), 'upper', places=2)} of it ({ratio.size} values of eps0 that meet its "
        f"conditions)"
    )
    setting = (
        f"n={number(n)}, m={number(m)}, p0=m/n, {n // m} windows, eps0={number(within.eps0.min())} to "
        f"{number(within.eps0.max())}, beta=delta={number(delta)}"
    )
    if ratio.max() > 1:
        return Decision(
            ours, "not reproduced", "the composition of the windows exceeds the closed form", setting
        )
    return Decision(
        ours,
        "reproduced",
        "the closed form holds; its proof takes a window's epsilon to be at most 1/2, which the stated "
        "conditions give for beta >= e^-2 alone, and needs less than that",
        setting,
    )


def _in_training(table: pd.DataFrame, bound: float) -> Decision:
    """Decide on the dummy updates of runs in which each epoch is a window."""
    made = np.concatenate([np.diff(run.dummies, prepend=0.0) for _, run in table.groupby("run")])
    error = max(made.std(ddof=1) / np.sqrt(made.size), 1 / made.size)
    told = f"{made.mean():,.0f} (standard error {error:,.0f}), the mean of {made.size} windows"
    ours = f"{told}, against {bound:,.0f}"
    if made.mean() > bound + STANDARD_ERRORS * error:
        return Decision(ours, "not reproduced", "more dummy updates than the bound and chance allow")
    why = "the mean lies below the bound"
    if made.mean() > bound:
        over = (made.mean() - bound) / error
        why = f"the mean lies {over:.1f} standard errors above the bound, within what chance does"
    return Decision(ours, "reproduced", f"{why}, as far as so many windows can tell")


@claim(
    id="B5a",
    paper=_PAPER,
    statement=(
        "A fixed window of a training has at most m e^(-p0 n/m) dummy updates in expectation (Proposition "
        "3.4)"
    ),
    stated="inequality",
    rule="inequality",
    curves={"runs": RunsKey("training", "balle2020-fixed-window")},
    figure="training a",
)
def _b5a(tables: Tables) -> Decision:
    table = tables["runs"]
    first = table.iloc[0]
    _, bound = balle2020.empty_slots(
        n=int(first.n), slots=int(first.slots), participation=float(first.participation)
    )
    return _in_training(table, bound)


@claim(
    id="B5b",
    paper=_PAPER,
    statement=(
        "A sliding window of a training has at most (n - m + 1)/e dummy updates in expectation (Proposition "
        "4.4)"
    ),
    stated="inequality",
    rule="inequality",
    curves={"runs": RunsKey("training", "balle2020-sliding-window")},
    figure="training b",
)
def _b5b(tables: Tables) -> Decision:
    table = tables["runs"]
    _, bound = balle2020.sliding_window_empty_slots(n=int(table.n.iloc[0]), slots=int(table.slots.iloc[0]))
    return _in_training(table, bound)
