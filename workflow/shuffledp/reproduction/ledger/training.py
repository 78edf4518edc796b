"""Claims of girgis2021 that its training runs decide: figures 3 and 6, table 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from shuffledp import rounding
from shuffledp.reproduction.ledger.claims import CurveKey, Decision, RunKey, claim

Tables = Mapping[str, pd.DataFrame]
_PAPER = "girgis2021"
_NEW, _OLD = "girgis2021-upper", "feldman2021-numerical-strong"
_DEVIATIONS = 2.0  # of the paper's and ours, added in quadrature, within which accuracies agree
_EPSILON = 0.1  # relative, within which an epsilon read off an accuracy agrees
_NONPRIVATE = 0.005
PARAMETERS = 13_706  # of training.models' mnist_cnn_16


def _at(table: pd.DataFrame, accountant: str, epsilon: float) -> tuple[float, float] | None:
    """Mean and deviation of accuracy, in per cent, after the last epoch within epsilon, if there is one."""
    within = table[table[accountant] <= epsilon]
    if within.empty:
        return None
    row = within.iloc[-1]
    return 100 * float(row.accuracy), 100 * float(row.deviation)


def _reaching(table: pd.DataFrame, accountant: str, percent: float) -> float:
    """Epsilon of the first epoch with that mean accuracy; nan if there is none."""
    reached = table[100 * table.accuracy >= percent]
    return float(reached.iloc[0][accountant]) if len(reached) else float("nan")


def _shown(epsilon: float) -> str:
    return rounding.shown(epsilon, "upper", places=2)


def _agree(found: tuple[float, float], stated: tuple[float, float]) -> bool:
    return abs(found[0] - stated[0]) <= _DEVIATIONS * np.hypot(found[1], stated[1])


def _accuracies(
    table: pd.DataFrame, epsilon: float, new: tuple[float, float], old: tuple[float, float]
) -> Decision:
    """Decide on the accuracies at one epsilon by both accountants."""
    first, second = _at(table, _NEW, epsilon), _at(table, _OLD, epsilon)
    seeds = int(table.seeds.iloc[0])
    if first is None or second is None:
        return Decision(f"-, {seeds} seeds", "not computed", f"the first epoch takes more than {epsilon:g}")
    ours = (
        f"{first[0]:.1f}% ({first[1]:.1f}) by Theorem 1, {second[0]:.1f}% ({second[1]:.1f}) by feldman2021, "
        f"{seeds} seeds"
    )
    agree = [_agree(first, new), _agree(second, old)]
    if all(agree):
        return Decision(ours, "reproduced", "both within two standard deviations")
    if any(agree):
        which = "Theorem 1" if agree[0] else "feldman2021"
        return Decision(ours, "not reproduced", f"only that by {which} is within two standard deviations")
    return Decision(ours, "not reproduced", "neither is within two standard deviations")


def _epsilons(table: pd.DataFrame, percent: float, new: float, old: float) -> Decision:
    """Decide on the epsilon that an accuracy takes by both accountants."""
    first, second = _reaching(table, _NEW, percent), _reaching(table, _OLD, percent)
    seeds = int(table.seeds.iloc[0])
    if np.isnan(first):
        last = table.iloc[-1]
        at_end = f"{100 * last.accuracy:.1f}% ({100 * last.deviation:.1f}) at the end"
        return Decision(
            f"{at_end}, at {_shown(last[_NEW])} by Theorem 1 and {_shown(last[_OLD])} by feldman2021, "
            f"{seeds} seeds",
            "not reproduced",
            f"a mean of {percent:g}% is not reached",
        )
    ours = f"{_shown(first)} by Theorem 1, {_shown(second)} by feldman2021, {seeds} seeds"
    agree = [abs(first / new - 1) <= _EPSILON, abs(second / old - 1) <= _EPSILON]
    if all(agree):
        return Decision(ours, "reproduced", "both within 10%")
    if agree[0]:
        return Decision(
            ours,
            "not reproduced",
            f"by Theorem 1 within 10%; feldman2021, evaluated numerically with the best split of delta, "
            f"gives {second / old:.2f} times the stated epsilon",
        )
    last = table.iloc[-1]
    return Decision(
        ours,
        "not reproduced",
        f"by Theorem 1 not within 10%; after all {last.epoch:g} epochs its epsilon is {_shown(last[_NEW])}",
    )


_FIG3 = {"table": CurveKey(_PAPER, "fig3", "a", "privacy_utility")}
_FIG6 = {
    "hemisphere": CurveKey(_PAPER, "fig6", "a", "privacy_utility"),
    "privunit": CurveKey(_PAPER, "fig6", "b", "privacy_utility"),
}


def _of_both(tables: Tables, decide: Callable[[pd.DataFrame], Decision]) -> Decision:
    """Decide for the mechanism of the authors' code and for the other."""
    own, other = decide(tables["hemisphere"]), decide(tables["privunit"])
    ours = f"hemisphere: {own.ours}; PrivUnit: {other.ours}"
    reason = f"hemisphere: {own.reason}; PrivUnit: {other.reason}"
    if own.verdict != other.verdict:
        return Decision(ours, "reproduced under a stated reading", reason)
    return Decision(ours, own.verdict, reason)


@claim(
    id="G6",
    paper=_PAPER,
    statement="Accuracy at epsilon=1.4, l_inf, by Theorem 1 against feldman2021 (figure 3)",
    stated="80% (1.8) against 70.7% (2.1)",
    curves=_FIG3,
)
def _g6(tables: Tables) -> Decision:
    return _accuracies(tables["table"], 1.4, (80.0, 1.8), (70.7, 2.1))


@claim(
    id="G7",
    paper=_PAPER,
    statement="Epsilon for an accuracy of 90% (0.5), l_inf, by Theorem 1 against feldman2021 (figure 3)",
    stated="2.91 against 4.82",
    curves=_FIG3,
)
def _g7(tables: Tables) -> Decision:
    return _epsilons(tables["table"], 90.0, 2.91, 4.82)


@claim(
    id="G8",
    paper=_PAPER,
    statement="Accuracy at epsilon=3, l_2, by Theorem 1 against feldman2021 (figure 6)",
    stated="81.15% (0.7) against 76.46% (1.9)",
    curves=_FIG6,
)
def _g8(tables: Tables) -> Decision:
    return _of_both(tables, lambda table: _accuracies(table, 3.0, (81.15, 0.7), (76.46, 1.9)))


@claim(
    id="G9",
    paper=_PAPER,
    statement="Epsilon for an accuracy of 89.7% (0.5), l_2, by Theorem 1 against feldman2021 (figure 6)",
    stated="5.8 against 18.3",
    curves=_FIG6,
)
def _g9(tables: Tables) -> Decision:
    return _of_both(tables, lambda table: _epsilons(table, 89.7, 5.8, 18.3))


@claim(
    id="G10",
    paper=_PAPER,
    statement="The network has 13,170 parameters and a non-private accuracy of 99% (table 1)",
    stated="13,170; 99%",
    curves={"run": RunKey("training", "girgis2021-nonprivate", "seed0")},
)
def _g10(tables: Tables) -> Decision:
    accuracy = float(tables["run"].test_accuracy.iloc[-1])
    ours = f"{PARAMETERS:,}; {100 * accuracy:.1f}%"
    if abs(accuracy - 0.99) > _NONPRIVATE:
        return Decision(ours, "not reproduced", "neither the number of parameters nor the accuracy")
    return Decision(
        ours,
        "reproduced under a stated reading",
        "with the network of the authors' code; no reading of the table gives 13,170 parameters",
    )
