"""The numbers with which the README begins are those of the results."""

import re

import pytest

from shuffledp import rounding
from shuffledp.records import tables

THEOREM_1, BASELINE, NUMERICAL = "girgis2021-upper", "feldman2021-numerical-strong", "clones-joint-pld"
# A row's first words, the panel of beyond/mnist with its runs, and at which epsilon accuracies are told.
ROWS = [
    ("figure 3, coordinate sampling", "a", 1.4),
    ("figure 6, hemisphere", "b", 3),
    ("figure 6, PrivUnit", "c", 3),
]


@pytest.mark.parametrize(("words", "panel", "epsilon"), ROWS)
def test_rows_of_the_headline_are_those_of_the_results(root, words, panel, epsilon):
    table = tables.read_table(root / f"results/beyond/mnist/{panel}/privacy_utility.csv")
    new, old = (
        100 * float(table.accuracy[table[name] <= epsilon].iloc[-1]) for name in (THEOREM_1, BASELINE)
    )
    ends = {name: float(table[name].iloc[-1]) for name in (THEOREM_1, BASELINE, NUMERICAL)}
    shown = {name: rounding.shown(value, "upper", places=2) for name, value in ends.items()}
    over = [f"{ends[name] / ends[NUMERICAL]:.1f}" for name in (THEOREM_1, BASELINE)]
    lines = (root / "README.md").read_text(encoding="utf-8").split("\n")
    (row,) = [line for line in lines if line.startswith(f"| {words}")]
    _, _, stated, here, gap, *epsilons, _ = (cell.strip() for cell in row.split("|"))
    assert here == f"{new:.1f}% against {old:.1f}%"
    better, worse = map(float, re.findall(r"([\d.]+)%", stated))
    assert gap == f"{new - old:+.1f} points, stated {better - worse:+.1f}"
    assert stated.endswith(f"at {epsilon:g}")
    times = f"({over[0]} and {over[1]} times less)"
    assert epsilons == [shown[THEOREM_1], shown[BASELINE], f"{shown[NUMERICAL]} {times}"]


def test_what_the_headline_says_of_the_gaps_holds(root):
    """In figure 3 there is none, and in figure 6 a quarter to a third of the stated one is left."""
    verdicts = tables.read_table(root / "results/claims.csv").set_index("id")
    for claim, verdict in (
        ("G6a", "reproduced"),
        ("G7a", "reproduced"),
        ("G8a", "reproduced"),
        ("G9a", "reproduced"),
    ):
        assert verdicts.loc[claim, "verdict"] == verdict
    for claim in ("G6b", "G7b", "G8b", "G9b"):
        assert verdicts.loc[claim, "verdict"] == "not reproduced"
    shares = re.findall(r"([-\d.]+) times the stated gap", " ".join(verdicts.loc[["G6b", "G8b"], "reason"]))
    assert float(shares[0]) < 0.1
    assert all(0.2 < float(share) < 0.4 for share in shares[1:])
