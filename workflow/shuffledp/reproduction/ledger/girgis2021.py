"""Claims of girgis2021 that its figures 2 and 5 decide."""

from __future__ import annotations

from shuffledp import rounding
from shuffledp.reproduction.ledger.claims import (
    ALMOST,
    CurveKey,
    Decision,
    Tables,
    Verdict,
    agrees,
    at,
    claim,
)

_PAPER = "girgis2021"
_ROUNDS = 1e5


def _curves(figure: str, panel: str, **accountants: str) -> dict[str, CurveKey]:
    return {name: CurveKey(_PAPER, figure, panel, accountant) for name, accountant in accountants.items()}


def _ratio(tables: Tables, over: str, under: str = "theorem1") -> float:
    return float(at(tables[over], rounds=_ROUNDS).epsilon / at(tables[under], rounds=_ROUNDS).epsilon)


@claim(
    id="G1",
    paper=_PAPER,
    statement=(
        "Theorem 1 saves over feldman2021 with strong composition at T=1e5, gamma=1e-3, n=1e6, eps0=2, "
        "delta=1e-8 (text, figure 2a)"
    ),
    stated="14x",
    rule="number",
    point={"rounds": _ROUNDS},
    curves=_curves("fig2", "a", theorem1="girgis2021-upper", feldman="feldman2021-strong"),
)
def _g1(tables: Tables) -> Decision:
    ratio = _ratio(tables, "feldman")
    amplified = bool(at(tables["feldman"], rounds=_ROUNDS).amplified)
    if not agrees(ratio, 14):
        return Decision(f"{ratio:.1f}x", "not reproduced", "neither reading of the baseline gives 14x")
    if amplified:
        return Decision(f"{ratio:.1f}x", "reproduced", "closed form, subsampling, Theorem 3.4 of kairouz2015")
    return Decision(
        f"{ratio:.1f}x",
        "reproduced under a stated reading",
        "at k=1000 the condition of the closed form fails for every split of delta, so the baseline is "
        "eps0-DP a round, subsampled, composed by Theorem 3.4 of kairouz2015",
    )


@claim(
    id="G2",
    paper=_PAPER,
    statement="Theorem 1 saves over girgis2021ccs with wang2019 at the same point (text, figure 2a)",
    stated="2.5x",
    rule="number",
    point={"rounds": _ROUNDS},
    curves=_curves(
        "fig2",
        "a",
        theorem1="girgis2021-upper",
        loose="girgis2021ccs-wang2019-loose",
        tight="girgis2021ccs-wang2019",
    ),
)
def _g2(tables: Tables) -> Decision:
    loose, tight = _ratio(tables, "loose"), _ratio(tables, "tight")
    if agrees(tight, 2.5):
        return Decision(f"{tight:.2f}x", "reproduced", "Theorem 9 of wang2019 as stated")
    reason = (
        f"with the second-order term of wang2019's Theorem 9 at its larger form; with the theorem's "
        f"minimum the ratio is {tight:.2f}x, so the baseline is as good as Theorem 1"
    )
    verdict: Verdict = "reproduced under a stated reading" if agrees(loose, 2.5) else "not reproduced"
    return Decision(f"{loose:.2f}x", verdict, reason)


@claim(
    id="G3",
    paper=_PAPER,
    statement=(
        "Theorem 1 saves over feldman2021 or balle2019 with strong composition at T=1e5, gamma=1e-3, "
        "n=1e6, eps0=3 (supplement, figure 5a)"
    ),
    stated="17x",
    rule="number",
    point={"rounds": _ROUNDS},
    curves=_curves(
        "fig5",
        "a",
        theorem1="girgis2021-upper",
        kairouz="feldman2021-strong",
        advanced="feldman2021-advanced-noamp",
    ),
)
def _g3(tables: Tables) -> Decision:
    kairouz, advanced = _ratio(tables, "kairouz"), _ratio(tables, "advanced")
    if agrees(kairouz, 17):
        return Decision(f"{kairouz:.1f}x", "reproduced", "Theorem 3.4 of kairouz2015")
    reason = (
        f"with T eps (e^eps - 1) as linear term, as in advanced composition; with Theorem 3.4 of "
        f"kairouz2015, which the paper cites, the ratio is {kairouz:.1f}x"
    )
    verdict: Verdict = "reproduced under a stated reading" if agrees(advanced, 17) else "not reproduced"
    return Decision(f"{advanced:.1f}x", verdict, reason)


@claim(
    id="G4",
    paper=_PAPER,
    statement=(
        "Theorem 1 almost matches girgis2021ccs with wang2019 at eps0=3, gamma=1e-3, n=1e6 "
        "(supplement, figure 5a)"
    ),
    stated="almost matches",
    rule="almost",
    point={"rounds": _ROUNDS},
    curves=_curves(
        "fig5",
        "a",
        theorem1="girgis2021-upper",
        shuffle="girgis2021ccs-wang2019-loose",
        tight="girgis2021ccs-wang2019",
    ),
)
def _g4(tables: Tables) -> Decision:
    first = tables["theorem1"].iloc[0]
    at_first = float(tables["shuffle"].iloc[0].epsilon / first.epsilon)
    ratio, tight = _ratio(tables, "shuffle"), _ratio(tables, "tight")
    ours = f"ratio {ratio:.2f} at T=1e5"
    if abs(ratio - 1) > ALMOST:
        return Decision(ours, "not reproduced", "more than 10% apart")
    forms = "either form" if agrees(tight, ratio) else "the larger form"
    reason = f"within 10% at T=1e5 with {forms} of wang2019's second-order term"
    if abs(at_first - 1) > ALMOST:
        reason += f"; not at small T, where the ratio is {at_first:.2f} (T={first.rounds:g})"
        return Decision(ours, "reproduced under a stated reading", reason)
    return Decision(ours, "reproduced", reason)


@claim(
    id="G5",
    paper=_PAPER,
    statement=(
        "At k=1e4 feldman2021 beats girgis2021ccs with wang2019, and Theorem 1 beats both (text, figure 2b)"
    ),
    stated="ordering",
    rule="order",
    point={"rounds": _ROUNDS},
    curves=_curves(
        "fig2",
        "b",
        theorem1="girgis2021-upper",
        feldman="feldman2021-strong",
        loose="girgis2021ccs-wang2019-loose",
        tight="girgis2021ccs-wang2019",
    ),
)
def _g5(tables: Tables) -> Decision:
    value = {name: float(at(table, rounds=_ROUNDS).epsilon) for name, table in tables.items()}
    shown = {name: rounding.shown(epsilon, "upper", places=3) for name, epsilon in value.items()}
    ours = (
        f"at T=1e5: Theorem 1 {shown['theorem1']}, feldman2021 {shown['feldman']}, "
        f"girgis2021ccs {shown['loose']} (loose), {shown['tight']} (with the minimum)"
    )
    if value["theorem1"] < value["feldman"] < value["tight"]:
        return Decision(ours, "reproduced", "with either form of wang2019's second-order term")
    if value["theorem1"] < value["feldman"] < value["loose"]:
        reason = "with the larger form only; with wang2019's minimum girgis2021ccs beats feldman2021"
        return Decision(ours, "reproduced under a stated reading", reason)
    return Decision(ours, "not reproduced", "the order differs")
