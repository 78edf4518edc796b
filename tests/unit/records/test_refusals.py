"""What one accountant cannot answer is no matter of the others; what ends at pure DP is rounded up."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from click.testing import CliRunner

from shuffledp import accountants, cli
from shuffledp.accountants import registry, systems
from shuffledp.approximate_dp import composition
from shuffledp.checkin import balle2020
from shuffledp.checkin.balle2020 import strengths

WINDOW = {"slots": 1000, "participation": 1, "delta0": 1e-10, "rounds": 1, "delta": 1e-8}


@pytest.mark.parametrize("eps0", [7.3, 8, 20, 160, 300])
@pytest.mark.parametrize("delta0", [1e-30, 1e-20, 1e-10])
def test_large_eps0_of_reports_that_may_fail(eps0, delta0):
    for name in accountants.names(protocol="fixed-window", mechanism="approximate-ldp"):
        found = accountants.epsilon(name, **{**WINDOW, "eps0": eps0, "delta0": delta0})
        assert found > 0


def test_hardly_anybody_checks_in():
    found = accountants.get("liew2022-baseline").details(n=3, rate=0.01, eps0=1.0, rounds=1, delta=0.2)
    assert found["most_reports"] == 0
    assert found["epsilon"] == 0
    # but for that probability nobody reports
    assert 1 - 0.99**3 <= found["failure_delta"] <= 0.2
    assert accountants.epsilon("liew2022-baseline", n=3, rate=0.01, eps0=1.0, rounds=50, delta=1e-8) > 0


@pytest.mark.parametrize("eps0", [700.0, 744.0, 745.0, 1e3, 1e5])
def test_without_a_shuffler_at_any_eps0(eps0):
    for n, k, rounds in ((1, 1, 1), (1000, 10, 100), (10**9, 1, 10**6)):
        found = accountants.epsilon("unshuffled-strong", n=n, k=k, eps0=eps0, rounds=rounds, delta=1e-8)
        assert 0 < found <= rounds * eps0 * (1 + 1e-14)


PURE = {"eps0": 0.01, "rounds": 3, "delta": 1e-8}
FEW = {
    "n": 1,
    "k": 1,
    "arriving": 1,
    "slots": 1,
    "participation": 1.0,
    "rate": 0.5,
    "delta0": 0.0,
    "share": 0.3,
    "tv": 1e-3,
}


@pytest.mark.parametrize(
    "name",
    [
        name
        for system in systems.systems()
        if "eps0" in system.variables
        for name in accountants.names("upper", protocol=system.protocol, mechanism=system.mechanism)
    ],
)
@pytest.mark.few(40)
def test_what_ends_at_pure_dp_is_rounded_up(name):
    """0.01 is not 1/100: three times it is more than the double 0.03."""
    variables = accountants.get(name).system.variables
    setting = {**{key: value for key, value in FEW.items() if key in variables}, **PURE}
    found = accountants.get(name).details(**setting)
    exact = 3 * Fraction(0.01)
    for column in ("epsilon", "theorem_epsilon"):
        assert not float(exact) * (1 - 1e-13) < found[column] < exact, column


def test_pure_dp_of_balle2020_itself_is_rounded_up():
    for rounds in (1, 3, 7):
        for bound, size in (
            (balle2020.fixed_window, {"slots": 1}),
            (balle2020.shuffling, {"n": 1}),
            (balle2020.averaging, {"n": 1, "slots": 1}),
        ):
            for strength in balle2020.STRENGTHS:
                for eps0 in (0.01, 250.1):
                    found = bound(**size, eps0=eps0, delta=1e-300, rounds=rounds, strength=strength)
                    assert rounds * Fraction(eps0) <= found


@pytest.mark.parametrize("strength", ["sum", "numerical"])
def test_blocks_of_slots_are_above_slots_one_by_one(monkeypatch, strength):
    given = {"eps0": 0.7, "delta": 1e-6, "rounds": 2, "strength": strength}
    calls = [
        lambda: balle2020.fixed_window(slots=5000, **given),
        lambda: balle2020.shuffling(n=5000, **given),
        lambda: balle2020.averaging(n=50_000, slots=5000, **given),
    ]
    singly = [call() for call in calls]
    monkeypatch.setattr(strengths, "BLOCKS", 900)
    for one, other in zip(singly, [call() for call in calls], strict=True):
        assert one * (1 - 1e-9) <= other <= one * 1.05


def test_what_rounds_leave_of_delta_is_rounded_down():
    for total, rounds, share in (
        (1e-8, 1000, 0.999),
        (0.3, 7, 0.5),
        (1e-200, 10**6, 0.9),
        (1e-5, 3, 1 - 1e-9),
    ):
        delta = share * total / rounds
        left = composition.remaining_delta(delta=delta, rounds=rounds, total_delta=total)
        # 1 - (1 - delta)^rounds is at most rounds delta, and at least that less its square
        used = rounds * Fraction(delta)
        at_least = (Fraction(total) - used) / (1 - used)
        at_most = (Fraction(total) - used + used * used) / (1 - used)
        assert left <= at_most
        assert left >= float(at_least) - 1e-14 * total


def test_one_accountant_that_cannot_answer_leaves_the_others(monkeypatch):
    def fails(**_):
        raise ValueError("slots must be\nfewer")

    setting = {"n": 1000, "k": 10, "eps0": 1.0, "rounds": 5, "delta": 1e-8}
    whole = accountants.bracket(**setting)
    assert whole.refusals == ()
    broken = {
        name: registry.Accountant(**{**vars(accountants.get(name)), "compute": fails})
        for name in (whole.names[1], "rr2-lower")
    }
    monkeypatch.setattr(registry, "_REGISTRY", {**registry._REGISTRY, **broken})
    less = accountants.bracket(**setting)
    assert set(less.refusals) == {(name, "slots must be fewer") for name in broken}
    assert less.upper >= whole.upper
    assert less.names[1] != whole.names[1]
    entries = [accountants.get(name) for name in accountants.names()]
    found, refused = accountants.attempts(entries, **setting)
    assert {one.name for one in refused} == set(broken)
    assert [entry.name for entry, _ in found] == [name for name in accountants.names() if name not in broken]
    with pytest.raises(ValueError, match="eps0 must be"):
        accountants.attempts(entries, **{**setting, "eps0": -1})


def test_the_table_has_the_reason_of_an_accountant_that_cannot_answer(monkeypatch):
    def fails(**_):
        raise ArithmeticError("no epsilon could be certified")

    broken = registry.Accountant(**{**vars(accountants.get("clones-rdp")), "compute": fails})
    monkeypatch.setattr(registry, "_REGISTRY", {**registry._REGISTRY, "clones-rdp": broken})
    options = ["epsilon", *["--clients=1000", "--per-round=10", "--eps0=1", "--rounds=5", "--delta=1e-8"]]
    table = CliRunner().invoke(cli.app, options)
    assert table.exit_code == 0
    (row,) = (line for line in table.stdout.splitlines() if line.startswith("clones-rdp"))
    assert row.split()[1] == "none"
    assert "cannot answer: no epsilon could be certified" in row
    assert "epsilon in [" in table.stdout
    found = json.loads(CliRunner().invoke(cli.app, [*options, "--json"]).stdout)
    (row,) = (one for one in found["accountants"] if one["name"] == "clones-rdp")
    assert row["epsilon"] is None
    assert row["refused"] == "no epsilon could be certified"
