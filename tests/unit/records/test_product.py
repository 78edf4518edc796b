"""Whether a product still holds is decided by content; what a request asks for; how products are counted."""

import dataclasses
import os
import time
from pathlib import Path

import pytest

from shuffledp.records import files, requests
from shuffledp.records.catalogue import Catalogue
from shuffledp.records.product import Product

SOURCE = "TWICE = 2  # of a half\n"


@pytest.fixture
def product(package, tmp_path, monkeypatch):
    """A product of the package's module ``a``, with its inputs, not yet made."""
    monkeypatch.chdir(tmp_path)
    package.write("a", SOURCE)
    files.write_text("in.csv", "x\n1\n")
    files.write_text("unrelated.csv", "x\n1\n")
    return Product(
        record="out/a.json",
        parameters={"delta": 1e-8, "values": [1.0, 2.0]},
        modules=(f"{package.name}.a",),
        outputs=("out/a.csv", "out/b.csv"),
        inputs=("in.csv",),
    )


def make(product):
    """Do what a job does: write the outputs, then the record."""
    request = requests.stage(product, "requests")
    for output in product.outputs:
        files.write_text(output, "n,epsilon\n1,0.25\n2,0.5\n")
    requests.record(request)
    return Path(request)


def halve(path):
    content = Path(path).read_bytes()
    Path(path).write_bytes(content[: len(content) // 2])


def _rewrite_record(**changes):
    record = {**files.read_json("out/a.json"), **changes}
    files.write_json("out/a.json", {key: value for key, value in record.items() if value is not None})


# Edits of the files around a product that end its being current.
DAMAGE = {
    "half an output": lambda: halve("out/b.csv"),
    "no output": lambda: Path("out/a.csv").unlink(),
    "outputs swapped for other bytes": lambda: Path("out/a.csv").write_text("n,epsilon\n1,0.25\n2,0.6\n"),
    "other input": lambda: Path("in.csv").write_text("x\n2\n"),
    "no input": lambda: Path("in.csv").unlink(),
    "no record": lambda: Path("out/a.json").unlink(),
    "half a record": lambda: halve("out/a.json"),
    "record of no object": lambda: files.write_json("out/a.json", [1]),
    "record of bytes": lambda: Path("out/a.json").write_bytes(b"\xff\xfe"),
    "record without inputs": lambda: _rewrite_record(inputs=None),
    "record without outputs": lambda: _rewrite_record(outputs=None),
    "record without request": lambda: _rewrite_record(request=None),
}
# Other requests than the one that it was made on.
REQUESTS = {
    "parameter changed": {"parameters": {"delta": 1e-7, "values": [1.0, 2.0]}},
    "parameter more": {"parameters": {"delta": 1e-8, "values": [1.0, 2.0], "n": 1}},
    "parameter less": {"parameters": {"delta": 1e-8}},
    "values in another order": {"parameters": {"delta": 1e-8, "values": [2.0, 1.0]}},
    "output more": {"outputs": ("out/a.csv", "out/b.csv", "unrelated.csv")},
    "output less": {"outputs": ("out/a.csv",)},
    "input more": {"inputs": ("in.csv", "unrelated.csv")},
    "input less": {"inputs": ()},
}


def test_a_product_is_current_once_made(product):
    assert not product.is_current()
    make(product)
    assert product.is_current()


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_product_is_not_current_after_damage(product, damage):
    make(product)
    damage()
    assert not product.is_current()


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_a_product_is_not_current_on_another_request(product, request_):
    make(product)
    assert not dataclasses.replace(product, **request_).is_current()


def test_a_product_is_not_current_after_its_code_changed(product, package):
    make(product)
    package.write("a", SOURCE.replace("half", "one half"))
    assert product.is_current()
    package.write("a", SOURCE.replace("2", "3"))
    assert not product.is_current()
    package.write("a", SOURCE)
    assert product.is_current(), "undoing the edit undoes its effect"


def test_times_and_other_files_do_not_matter(product):
    make(product)
    for path, when in (("in.csv", 4e9), ("out/a.csv", 1), ("out/a.json", 2)):
        os.utime(path, (when, when))
    files.write_text("unrelated.csv", "changed")
    files.write_text("out/a.csv", Path("out/a.csv").read_text())
    ordered = dataclasses.replace(product, parameters=dict(reversed(product.parameters.items())))
    assert ordered.is_current()


def test_record_holds_the_request_and_the_checksums(product):
    request = make(product)
    assert files.read_json(product.record) == {
        "request": product.request(),
        "inputs": {"in.csv": files.sha256("in.csv")},
        "outputs": {name: files.sha256(name) for name in product.outputs},
    }
    requests.record(request, environment={"python": "3"})
    assert files.read_json(product.record)["environment"] == {"python": "3"}
    assert product.is_current(), "who computed does not decide whether it holds"


def asks_to_run(request, product):
    """Return what a make-like tool concludes: is an output missing, or older than the request?"""
    if not all(os.path.exists(output) for output in product.outputs):
        return True
    return request.stat().st_mtime > min(os.stat(output).st_mtime for output in product.outputs)


def _age(request, product):
    """Move a request and then its outputs to the past, in the order in which a run leaves them."""
    now = time.time()
    os.utime(request, (now - 200, now - 200))
    _age_outputs(product, now - 100)


def _age_outputs(product, when):
    for output in product.outputs:
        if os.path.exists(output):
            os.utime(output, (when, when))


def test_a_request_says_what_to_make(product):
    request = Path(requests.stage(product, "requests"))
    assert request == Path("requests/out/a.json")
    assert asks_to_run(request, product)
    assert files.read_json(request) == {
        **product.request(),
        "record": "out/a.json",
        "outputs": ["out/a.csv", "out/b.csv"],
        "inputs": ["in.csv"],
    }


def test_the_request_of_a_current_product_asks_for_nothing(product):
    request = make(product)
    _age_outputs(product, 1000)  # whatever the times in a fresh clone
    requests.stage(product, "requests")
    assert not asks_to_run(request, product)


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("staged_between", [True, False], ids=["after another run", "right after its run"])
def test_the_request_of_a_damaged_product_asks_to_run(product, damage, staged_between):
    request = make(product)
    _age(request, product)
    if staged_between:
        requests.stage(product, "requests")
        assert not asks_to_run(request, product)
    damage()
    _age_outputs(product, time.time() - 50)
    requests.stage(product, "requests")
    assert asks_to_run(request, product)


@pytest.mark.parametrize("staged_between", [True, False], ids=["after another run", "right after its run"])
def test_the_request_of_changed_parameters_or_code_asks_to_run(product, package, staged_between):
    request = make(product)
    _age(request, product)
    if staged_between:
        requests.stage(product, "requests")
    changed = dataclasses.replace(product, parameters={"delta": 1e-7})
    requests.stage(changed, "requests")
    assert asks_to_run(request, changed)
    package.write("a", SOURCE.replace("2", "3"))
    os.utime(request, (1, 1))
    requests.stage(product, "requests")
    assert asks_to_run(request, product)


def test_a_broken_request_is_written_again(product):
    request = make(product)
    halve(request)
    requests.stage(product, "requests")
    assert files.read_json(request)["record"] == product.record


@pytest.fixture
def three(product):
    """Three products: the first current, the others not, of which the last has an old output."""
    products = [
        dataclasses.replace(product, record=f"{name}.json", outputs=(f"{name}.csv",)) for name in "abc"
    ]
    make(products[0])
    files.write_text("c.csv", "of another time")
    os.utime("c.csv", (1000, 1000))
    return products


def test_catalogue_counts_what_was_kept_made_and_left(three):
    catalogue = Catalogue("requests")
    for product in three:
        catalogue.add("results", product)
    assert [catalogue.is_current(f"{name}.csv") for name in "abcd"] == [True, False, False, False]
    assert catalogue.summary() == (
        "results: 1 taken from the cache, 0 made now, 2 not up to date and not asked for"
    )
    make(three[1])
    assert catalogue.summary() == (
        "results: 1 taken from the cache, 1 made now, 1 not up to date and not asked for"
    )
    make(three[2])
    assert catalogue.summary() == "results: 1 taken from the cache, 2 made now"
    files.write_text("a.csv", Path("a.csv").read_text())  # current, and made again on demand
    assert catalogue.summary() == "results: 0 taken from the cache, 3 made now"


def test_a_process_that_works_for_another_takes_its_word(three, monkeypatch):
    first = Catalogue("requests")
    for product in three[:2]:
        first.add("results", product)
    make(three[1])
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in Path("requests").iterdir()}
    looked = []
    monkeypatch.setattr(Product, "is_current", lambda product: looked.append(product.record) or True)
    second = Catalogue("requests", staged=True)
    for product in three:
        second.add("results", product)
    assert [second.is_current(f"{name}.csv") for name in "ab"] == [True, False], "as it was found"
    assert looked == ["c.json"], "what the other has not staged"
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before


def test_catalogue_counts_by_kind(three):
    catalogue = Catalogue("requests")
    for kind, product in zip(["results", "figures", "results"], three, strict=True):
        catalogue.add(kind, product)
    make(three[1])
    assert catalogue.summary().split("\n") == [
        "results: 1 taken from the cache, 0 made now, 1 not up to date and not asked for",
        "figures: 0 taken from the cache, 1 made now",
    ]


def test_catalogue_does_not_count_what_a_failed_job_removed(three):
    catalogue = Catalogue("requests")
    for product in three:
        catalogue.add("results", product)
    Path("c.csv").unlink()  # as Snakemake does with the outputs of a job that fails
    assert "0 made now" in catalogue.summary()
