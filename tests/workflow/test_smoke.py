"""The smoke configuration, run from nothing: every value against the library, some against the paper.

A few of its figures in the ordinary suite, all of them in the slow one.
"""

import re

import numpy as np
import pytest

from shuffledp.accountants import named
from shuffledp.accountants.systems import dependent_variable
from shuffledp.records import tables
from shuffledp.reproduction import config, ledger
from shuffledp.reproduction.ledger import page, products
from shuffledp.reproduction.tables import Simulation

from .clone import FEW, SMOKE

# Tables hold every digit; what one process computes, another does to the last bits.
SAME = 1e-11
# Rounds that are asked for together share a lattice.
SHARED = 1e-4
# Values that the paper's figures are known by, with the digits that they are known to.
KNOWN = [
    ("fig2", "a", "girgis2021-upper", 1e5, 1.0402185055, 1e-9),
    ("fig2", "a", "girgis2021-upper", 1e5, 1.04022, 5e-6),
    ("fig4", "a", "girgis2021-upper", 1e3, 0.027129, 2e-5),
]


@pytest.fixture(scope="module")
def settings(root):
    return config.load([root / "config/config.yaml", root / "config/smoke.yaml"])


@pytest.fixture(scope="module")
def curves(smoke, settings):
    """The curves that were asked for."""
    run = smoke[1]
    assert run.status == 0, run.output
    if not asked_for_all(run):
        drawn = {name.removesuffix(".pdf") for name in FEW}
        return [
            curve for curve in settings.curves if f"{settings.figures}/{curve.paper}/{curve.figure}" in drawn
        ]
    return settings.curves


def asked_for_all(run):
    return "evaluate_claims" in run.jobs


@pytest.fixture(scope="module")
def tables_of(smoke, settings, curves):
    clone, _ = smoke
    return {curve: tables.read_table(clone.path / f"{curve.stem(settings.results)}.csv") for curve in curves}


@pytest.mark.slow
def test_smoke_runs_every_job(whole_smoke, settings):
    _, run = whole_smoke
    assert run.status == 0, run.output
    jobs = {
        "compute_curve": len(settings.curves),
        "compute_quantity": sum(len(figure.curves) for figure in settings.of("quantities")),
        "simulate": len(settings.tables_of(Simulation)),
        "plot": sum(len(settings.of(kind)) for kind in ("bounds", "quantities", "simulation")),
        "evaluate_claims": 1,
    }
    assert {rule: run.jobs[rule] for rule in jobs} == jobs
    assert {"render_gallery", "render_claims"} <= run.jobs.keys()
    trainings, results, figures, _, left_out = run.stdout.strip().split("\n")
    made = jobs["compute_curve"] + jobs["compute_quantity"] + jobs["simulate"] + 1
    assert results == f"results: 0 taken from the cache, {made} made now"
    left = sum(experiment.seeds for experiment in settings.experiments)
    assert (
        trainings == f"trainings: 0 taken from the cache, 0 made now, {left} not up to date and not asked for"
    )
    assert figures == f"figures: 0 taken from the cache, {jobs['plot']} made now"
    words, names = left_out.split(": ")
    assert words == "left out of figures and claims, as runs are missing"
    assert sorted(names.split(", ")) == sorted(experiment.name for experiment in settings.experiments)


def test_smoke_leaves_what_is_tracked_alone(smoke):
    clone, _ = smoke
    assert clone.changed() == set()
    assert clone.leftovers() == []


def test_smoke_gives_what_the_library_gives(tables_of):
    """At one of the three points of each curve: the first, the second or the third in turn."""
    for number, (curve, table) in enumerate(tables_of.items()):
        np.testing.assert_array_equal(table[curve.variable], curve.values)
        assert len(table) == 3
        for name, value in curve.fixed:
            assert set(table[name]) == {value}
        entry = named.accountant(curve.accountant, **dict(curve.randomizer))
        given = entry.system.curve_variables(curve.variable)
        for row in table.iloc[[number % 3]].to_dict("records"):
            setting = {name: row[name] for name in (*entry.system.variables, "rounds", "delta")}
            expected = entry.details(**setting)
            if dependent_variable(curve.variable) == "delta":
                assert expected.pop("epsilon") <= row["epsilon"] or entry.kind == "lower"
                del expected["theorem_epsilon"]
                assert 0 < row["delta"] < 1
                given = (*given, "delta")
            assert set(row) == {*given, *expected}
            # which error is left depends on the eps that were asked for before, on another contour
            np.testing.assert_allclose(
                row.get("delta_error", 0.0), expected.pop("delta_error", 0.0), rtol=1e-2
            )
            np.testing.assert_allclose(
                [row[name] for name in expected],
                list(expected.values()),
                rtol=SHARED if entry.protocol == "distributed-check-in" else SAME,
                atol=0,
                err_msg=f"{curve.stem('')}: {row}",
            )


@pytest.mark.slow
@pytest.mark.parametrize(("figure", "panel", "accountant", "rounds", "epsilon", "tolerance"), KNOWN)
def test_smoke_gives_known_values(
    whole_smoke, settings, figure, panel, accountant, rounds, epsilon, tolerance
):
    clone, _ = whole_smoke
    path = f"{settings.results}/girgis2021/{figure}/{panel}/{accountant}.csv"
    table = tables.read_table(clone.path / path)
    (found,) = table.loc[table["rounds"] == rounds, "epsilon"]
    assert found == pytest.approx(epsilon, rel=tolerance, abs=0)


@pytest.mark.slow
def test_smoke_decides_the_claims_as_the_full_run_does(whole_smoke, root, settings):
    """Three points a curve include the ends, where most claims are; claims about others need more."""
    clone, _ = whole_smoke
    found = tables.read_table(clone.path / settings.results / "claims.csv")
    full = tables.read_table(root / "results/claims.csv")
    decided = found["verdict"] != "not computed"
    there = products.sources(settings).keys()
    assert set(found["id"][decided]) == {
        claim.id for claim in ledger.claims() if set(claim.curves.values()) <= there
    }
    assert len(found[decided]) >= 10
    assert (found["verdict"] == full["verdict"])[decided].all()
    # these tell how many clients, points or runs there were, or at which of the points something ends
    same = decided & ~found["id"].isin(["B2", "B3", "B4", "K1", "K7", "L1c", "L6"])
    assert (found["ours"] == full["ours"])[same].all()

    def table_of(key):
        path = clone.path / settings.results / f"{'/'.join(key)}.csv"
        return tables.read_table(path) if path.exists() else None

    assert found.astype(str).equals(ledger.evaluate(table_of).astype(str))
    text = (clone.path / settings.ledger).read_text(encoding="utf-8")
    assert text == page.render(found, products.page(settings).parameters["figures"])


def test_smoke_results_are_current(smoke, settings, curves, monkeypatch):
    monkeypatch.chdir(smoke[0].path)
    assert curves
    for curve in curves:
        assert curve.product(settings.results).is_current(), curve


@pytest.mark.slow
def test_smoke_figures_and_pages_are_there(whole_smoke, settings):
    clone, _ = whole_smoke
    page = (clone.path / settings.figures / "README.rst").read_text(encoding="utf-8")
    for figure in settings.of("bounds"):
        stem = clone.path / settings.figures / figure.paper / figure.name
        assert stem.with_suffix(".pdf").read_bytes().startswith(b"%PDF-")
        assert stem.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
        assert f"{figure.paper}/{figure.name}.png" in page
    assert re.search(r"Panel a: epsilon against rounds \(3 points from 10 to 1e5\)", page)


def test_a_second_run_does_nothing(smoke):
    clone, first = smoke
    assert first.status == 0, first.output
    before = clone.bytes_of("results/**/*", "figures/**/*")
    targets = () if asked_for_all(first) else FEW
    run = clone.run("--cores", "all", *targets, *SMOKE)
    assert run.status == 0, run.output
    assert run.says_nothing_to_do
    assert clone.bytes_of("results/**/*", "figures/**/*") == before
