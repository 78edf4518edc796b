"""What is tracked under results/ and figures/ is what the tracked code and configuration give."""

from dataclasses import replace
from pathlib import Path

import pytest

from shuffledp.records import files
from shuffledp.records.product import checksums
from shuffledp.reproduction import config
from shuffledp.reproduction.config import documentation
from shuffledp.reproduction.ledger import products as ledger_products
from shuffledp.reproduction.tables import QuantityCurve, Simulation, Utility

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = config.load([ROOT / "config/config.yaml"])
TRAININGS = {experiment.name: SETTINGS.trainings(experiment) for experiment in SETTINGS.experiments}
# Figures of training are drawn once their experiments are trained.
_HERE = replace(SETTINGS, results=str(ROOT / SETTINGS.results))
FIGURES = _HERE.plotted
TUNED = [tuning.product(SETTINGS.results) for tuning in SETTINGS.tunings]
TUNED = [product for product in TUNED if (ROOT / product.record).exists()]
RUNS = [run for runs in TRAININGS.values() for run in runs if (ROOT / run.record).exists()]
TABLES = [table for kind in (QuantityCurve, Utility, Simulation) for table in _HERE.tables_of(kind)]
# by record, what docs/reference/records.md has of those made from a tree with uncommitted changes
LISTED = {
    f"{name}.json": told
    for line in (ROOT / "docs/reference/records.md").read_text(encoding="utf-8").split("\n")
    if line.startswith("| results/")
    for name, *told in [[cell.strip() for cell in line.strip("|").split("|")]]
}
IGNORED = ("results/smoke/", "results/logs/", "results/benchmarks/")


def _products():
    yield from (curve.product(SETTINGS.results) for curve in SETTINGS.curves)
    yield from RUNS
    yield from TUNED
    yield from (table.product(SETTINGS.results) for table in TABLES)
    yield from (SETTINGS.product(figure) for figure in FIGURES)
    yield ledger_products.claims(SETTINGS)
    yield ledger_products.page(SETTINGS)
    yield documentation.key_page()


@pytest.fixture(scope="session")
def tracked_results(tracked):
    return {name for name in tracked if name.startswith("results/") and not name.startswith(IGNORED)}


@pytest.mark.usefixtures("in_root")
@pytest.mark.parametrize("product", list(_products()), ids=lambda product: product.record)
def test_record_holds(product):
    """In parts, so that a failure says which; what to do about any is to run the workflow."""
    record = files.read_json(product.record)
    assert record["request"]["parameters"] == dict(product.parameters), "other settings"
    assert record["request"]["code"] == product.request()["code"], "other code"
    assert record["outputs"] == checksums(product.outputs), "not the files that were written"
    assert record["inputs"] == checksums(product.inputs), "made from other inputs"
    assert product.is_current()
    dirty = record.get("environment", {}).get("git", {}).get("dirty", False)  # figures and pages tell nothing
    assert not dirty or product.record in LISTED, "made from no commit"


@pytest.mark.usefixtures("in_root")
def test_what_was_made_from_no_commit_is_listed_with_its_proof(tracked):
    """Trainings alone; what else is made is made again instead."""
    names = sorted(name for name in tracked if name.endswith(".json") and name.startswith("results/"))
    records = {name: files.read_json(name) for name in names if not name.startswith(IGNORED)}
    unclean = {
        name: record
        for name, record in records.items()
        if record.get("environment", {}).get("git", {}).get("dirty", False)
    }
    assert set(LISTED) == set(unclean)
    products = {product.record: product for product in RUNS}
    assert set(unclean) <= set(products)
    for name, record in unclean.items():
        environment = record["environment"]
        proof = environment["proof"]
        assert (proof["how"], proof["epochs"]) == ("replay", 1)
        assert LISTED[name] == [
            environment["git"]["revision"][:10],
            products[name].request()["code"],
            f"one epoch trained again at {proof['git']['revision'][:10]}",
        ]


def test_every_tracked_table_has_a_record(tracked_results):
    csv = {name for name in tracked_results if name.endswith(".csv")}
    assert len(csv) > 30
    assert {name.removesuffix(".csv") + ".json" for name in csv} <= tracked_results


def test_results_are_those_of_the_configuration_and_no_others(tracked_results):
    expected = {
        f"{one.stem(SETTINGS.results)}.{form}"
        for one in (*SETTINGS.curves, *TABLES)
        for form in ("csv", "json")
    }
    expected |= {"results/claims.csv", "results/claims.json"}
    expected |= {name for product in TUNED for name in (*product.outputs, product.record)}
    trained = {name for name in tracked_results if name.startswith("results/training/")}
    assert tracked_results - trained == expected
    wanted = {name for runs in TRAININGS.values() for run in runs for name in (*run.outputs, run.record)}
    assert trained <= wanted


def test_figures_are_those_of_the_configuration_and_no_others(tracked):
    figures = {name for name in tracked if name.startswith("figures/")}
    expected = {
        f"figures/{figure.paper}/{figure.name}.{form}"
        for figure in FIGURES
        for form in ("pdf", "png", "json")
    }
    assert figures == expected | {"figures/README.rst", "figures/README.json"}


@pytest.mark.usefixtures("in_root")
@pytest.mark.parametrize("curve", SETTINGS.curves, ids=lambda curve: curve.stem("results"))
def test_record_of_a_curve_says_who_computed_it(curve):
    environment = files.read_json(f"{curve.stem('results')}.json")["environment"]
    assert set(environment["versions"]) == {"numpy", "scipy", "pandas"}
    assert environment["python"].startswith("3.")
    assert environment["seconds"] >= 0
    assert len(environment["git"]["revision"]) == 40


@pytest.mark.usefixtures("in_root")
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.record)
def test_record_of_a_run_says_where_it_was_trained(run):
    environment = files.read_json(run.record)["environment"]
    assert environment["versions"].keys() >= {"torch", "numpy"}
    assert environment["device"].keys() == {"type", "name", "threads"}
    # of the whole run, where those of the process that ended it may be less
    assert environment["training_seconds"] > 0
    assert environment["seconds"] > 0


@pytest.mark.usefixtures("in_root")
@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_record_of_a_figure_is_the_same_wherever_it_is_drawn(figure):
    assert "environment" not in files.read_json(f"figures/{figure.paper}/{figure.name}.json")
