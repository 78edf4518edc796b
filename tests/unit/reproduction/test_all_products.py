"""The report tells the origin of every result, and of no run that was never made."""

from shuffledp.records import files
from shuffledp.records.catalogue import Catalogue
from shuffledp.records.product import Product
from shuffledp.reproduction.all_products import reported


def product(name):
    return Product(f"{name}.json", parameters={}, modules=(), outputs=(f"{name}.csv",))


def test_runs_that_were_never_made_are_not_told_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    catalogue = Catalogue("requests")
    kinds = {
        "run": "trainings",
        "other": "trainings",
        "curve": "results",
        "figure": "figures",
        "page": "pages",
    }
    for name, kind in kinds.items():
        catalogue.add(kind, product(name))
    files.write_json("run.json", {})
    assert [one.record for one in reported(catalogue)] == ["run.json", "curve.json", "figure.json"]
