"""The resolved configuration is kept between runs, and resolved anew once anything behind it differs."""

import subprocess
import sys

import pytest

from shuffledp.reproduction import config
from shuffledp.reproduction.config import keeping
from shuffledp.reproduction.sections import reading

SHIPPED = "config/config.yaml"
SMALL = """\
paths: {results: results, figures: figures, ledger: docs/claims.md}
styles:
  girgis2021-upper: {color: "#0072b2", line: solid}
bounds:
  paper:
    fig1:
      delta: 1e-8
      curves: [girgis2021-upper]
      panels:
        a: {x: {variable: rounds, from: 10, to: 1e5, points: 5}, n: 1e6, k: 1e3, eps0: 2}
"""
CAPTION = "fig1: {shows: What it shows.}\n"

# What the rules do before there is a job: all requests, and every caption.
PLANNED = """
import sys
from shuffledp.reproduction import deferred
deferred.defer_computing()
from shuffledp.reproduction.config import keeping
from shuffledp.reproduction.sections import reading
path, kept = sys.argv[1:]
found = keeping.Resolved(reading.read(path), files=[path], path=kept)
settings = found.settings
for figure in settings.drawable:
    settings.product(figure)
    figure.text(settings.results)
for table in settings.tables:
    table.product(settings.results)
for experiment in settings.experiments:
    settings.trainings(experiment)
settings.gallery()
found.keep()
loaded = (type(sys.modules[f"scipy.{name}"]).__name__ == "module" for name in ("special", "optimize", "fft"))
print(*loaded)
"""


@pytest.fixture
def small(tmp_path):
    (tmp_path / "captions").mkdir()
    (tmp_path / "captions/paper.yaml").write_text(CAPTION, encoding="utf-8")
    (tmp_path / "config.yaml").write_text(SMALL, encoding="utf-8")
    return tmp_path


def resolved(folder):
    path = folder / "config.yaml"
    found = keeping.Resolved(reading.read(str(path)), files=[str(path)], path=folder / "kept.pickle")
    found.keep()
    return found


def requests(settings):
    """What all products of a configuration are asked for."""
    products = [
        *(table.product(settings.results) for table in settings.tables),
        *(run for experiment in settings.experiments for run in settings.trainings(experiment)),
        *map(settings.product, settings.plotted),
        settings.gallery(),
    ]
    return {product.record: product.request() for product in products}


def test_what_was_kept_asks_for_the_same_products(in_root, tmp_path):
    raw = reading.read(SHIPPED)
    first = keeping.Resolved(raw, files=[SHIPPED], path=tmp_path / "kept.pickle")
    asked = requests(first.settings)
    first.keep()
    second = keeping.Resolved(raw, files=[SHIPPED], path=tmp_path / "kept.pickle")
    assert second.settings == first.settings
    assert second.settings is not first.settings
    assert requests(second.settings) == asked == requests(config.load([SHIPPED]))
    assert second.key_page == first.key_page


@pytest.mark.usefixtures("in_root")
def test_planning_loads_nothing_to_compute_with_once_it_is_kept(tmp_path):
    """A start that took twice as long would be noticed by nothing else."""
    loaded = [
        subprocess.run(
            [sys.executable, "-c", PLANNED, SHIPPED, str(tmp_path / "kept.pickle")],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert loaded[0][0] == "True", "the first run derives the noise and the shares of randomisers"
    assert loaded[1] == ["False"] * 3


def count(monkeypatch):
    """Return a list that grows by one whenever a configuration is resolved."""
    from shuffledp.reproduction.config import loading

    times = []
    resolve = loading.resolve

    def counted(*args, **options):
        times.append(1)
        return resolve(*args, **options)

    monkeypatch.setattr(loading, "resolve", counted)
    return times


def edit_setting(folder, monkeypatch):
    (folder / "config.yaml").write_text(SMALL.replace("eps0: 2", "eps0: 1"), encoding="utf-8")


def edit_comment(folder, monkeypatch):
    """The lines that later faults name may have moved."""
    (folder / "config.yaml").write_text(f"# first\n{SMALL}", encoding="utf-8")


def edit_caption(folder, monkeypatch):
    (folder / "captions/paper.yaml").write_text("fig1: {shows: Another one.}\n", encoding="utf-8")


def edit_code(folder, monkeypatch):
    (folder / "code/module.py").write_text("CONSTANT = 2\n", encoding="utf-8")


def other_package(folder, monkeypatch):
    version = keeping.metadata.version
    monkeypatch.setattr(keeping.metadata, "version", lambda name: "0.1" if name == "scipy" else version(name))


def cut_off(folder, monkeypatch):
    kept = folder / "kept.pickle"
    kept.write_bytes(kept.read_bytes()[:-20])


def not_there(folder, monkeypatch):
    (folder / "kept.pickle").unlink()


@pytest.mark.parametrize(
    "edit", [edit_setting, edit_comment, edit_caption, edit_code, other_package, cut_off, not_there]
)
def test_it_is_resolved_anew_if_anything_behind_it_differs(small, monkeypatch, edit):
    (small / "code").mkdir()
    (small / "code/module.py").write_text("CONSTANT = 1\n", encoding="utf-8")
    monkeypatch.setattr(keeping, "_PACKAGE", small / "code")
    monkeypatch.chdir(small)
    times = count(monkeypatch)
    resolved(small)
    resolved(small)
    assert len(times) == 1
    edit(small, monkeypatch)
    resolved(small)
    resolved(small)
    assert len(times) == 2


def test_a_folder_that_became_a_file_is_refused_all_the_same(small, monkeypatch):
    monkeypatch.chdir(small)
    resolved(small)
    (small / "figures").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="figures"):
        resolved(small)


def test_a_fault_is_not_kept(small, monkeypatch):
    monkeypatch.chdir(small)
    edit_setting(small, monkeypatch)
    (small / "config.yaml").write_text(SMALL.replace("eps0: 2", "eps0: -2"), encoding="utf-8")
    for _ in range(2):
        with pytest.raises(ValueError, match="eps0"):
            resolved(small)
    assert not (small / "kept.pickle").exists()
