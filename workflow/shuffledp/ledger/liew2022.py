"""Claims of liew2022 about its accounting."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from shuffledp.ledger.claims import CurveKey, Decision, agrees, at, claim

Tables = Mapping[str, pd.DataFrame]
_PAPER = "liew2022"
_ROUNDS = 6800
_ACCOUNTANTS = (
    "liew2022-printed",
    "liew2022-upper",
    "liew2022-baseline",
    "check-in-pld",
    "check-in-krr3-lower",
)


@claim(
    id="L1",
    paper=_PAPER,
    statement=(
        "LDP-SGD with shuffled check-in: epsilon is about 1 by Theorem 2 and about 3 by strong composition "
        "after some 6,800 rounds (figure 3a)"
    ),
    stated="1 against 3",
    curves={name: CurveKey(_PAPER, "accounting", "a", name) for name in _ACCOUNTANTS},
)
def _l1(tables: Tables) -> Decision:
    epsilon = {name: at(table, rounds=_ROUNDS).epsilon for name, table in tables.items()}
    ours = (
        f"{epsilon['liew2022-printed']:.2f} (Theorem 2 as printed) and {epsilon['liew2022-upper']:.2f} "
        f"(evaluated exactly) against {epsilon['liew2022-baseline']:.0f}"
    )
    if agrees(epsilon["liew2022-printed"], 1) and agrees(epsilon["liew2022-baseline"], 3):
        return Decision(ours, "reproduced", "both bounds have the stated value")
    return Decision(
        ours,
        "not reproduced",
        f"at delta = 1e-5 neither bound has the stated value; numerical accounting of the same protocol does "
        f"come near 1: {epsilon['check-in-pld']:.2f}, certified from below by "
        f"{epsilon['check-in-krr3-lower']:.2f}",
    )
