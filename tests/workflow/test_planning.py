"""What a run would do is decided by content: nothing in a fresh clone, what follows from an edit after it."""

import json
import os

import pytest

from shuffledp.reproduction.tables import Simulation

from .clone import FEW, SMOKE, halve

FIRST, LAST = 1_000_000_000, 2_000_000_000  # 2001 and 2033
WANG = "workflow/shuffledp/rdp/wang2019.py"

# Times that a checkout, a copy or an archive may leave, by the part of the tree that is then newest.
NEWEST = {
    "as cloned": [],
    "results": ["results"],
    "sources": ["workflow", "config", "Snakefile", "environment.yml"],
}


def _date(folder, when):
    for path in [folder, *folder.rglob("*")]:
        if ".git" not in path.parts:
            os.utime(path, (when, when))


def _read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def made_from(clone, inputs):
    """Return the records whose products were made from any of the inputs."""
    records = {
        str(path.relative_to(clone.path)): _read(path)
        for folder in ("results", "figures")
        for path in (clone.path / folder).rglob("*.json")
    }
    return {name: record for name, record in records.items() if inputs & record["inputs"].keys()}


def with_record(record, content):
    return {record, *content["outputs"]}


# Where sources are newer, times alone would plan everything; the edits below start from clones as they are.
@pytest.mark.parametrize(
    "newest",
    [
        pytest.param(newest, id=name, marks=[] if name == "sources" else pytest.mark.slow)
        for name, newest in NEWEST.items()
    ],
)
def test_a_fresh_clone_plans_nothing(clone, newest):
    if newest:
        _date(clone.path, FIRST)
    for name in newest:
        _date(clone.path / name, LAST)
    run = clone.plan()
    assert run.jobs == {}
    assert run.says_nothing_to_do
    assert clone.changed() == set()


def edit_code(clone):
    """The curves behind it, and what follows."""
    clone.append(WANG, "\n_UNUSED = 1\n")
    curves = {
        str(path.relative_to(clone.path))
        for path in (clone.path / "results").rglob("girgis2021ccs-wang2019*.csv")
    }
    assert len(curves) == 12, "two accountants in three panels of two figures"
    # what the conversions of liew2022 make, which rest on it too
    curves |= {f"results/liew2022/fig3b_epsilon/{panel}/privacy_utility.csv" for panel in "abc"}
    expected = curves | {name.removesuffix(".csv") + ".json" for name in curves}
    for record, content in made_from(clone, curves).items():
        expected |= with_record(record, content)
    assert {"figures/girgis2021/fig2.pdf", "figures/girgis2021/fig5.png", "results/claims.csv"} <= expected
    assert "figures/girgis2021/fig4.pdf" not in expected
    # the ledger may come out differently, and then so does its page
    return expected | {"docs/claims.md", "docs/claims.json"}


def edit_explanations(clone):
    """Nothing, where comments and docstrings alone are others."""
    clone.edit("workflow/shuffledp/rdp/girgis2021.py", '"""', '"""Another explanation. ')
    clone.append("workflow/shuffledp/rdp/girgis2021.py", "\n\n# And a remark.\n")
    clone.append("workflow/shuffledp/accountants/evaluation.py", "# Another.\n")
    return set()


def edit_looks(clone):
    """Figures, and no results."""
    look = 'girgis2021-upper: {color: "#'
    clone.edit("config/config.yaml", f"{look}0", f"{look}1")
    records = {
        str(path.relative_to(clone.path)): _read(path)
        for path in (clone.path / "figures").glob("*/*.json")
        if "girgis2021-upper" in path.read_text()
    }
    assert len(records) == 10
    return {name for record in records for name in with_record(record, records[record])}


def edit_a_setting(clone):
    """The curves of its panel, and what follows."""
    clone.edit("config/config.yaml", "eps0: 1\n          rounds: 1e5", "eps0: 1.5\n          rounds: 1e5")
    panel = clone.path / "results/girgis2021/fig4/c"
    curves = {str(path.relative_to(clone.path)) for path in panel.iterdir()}
    figure = {f"figures/girgis2021/fig4.{form}" for form in ("pdf", "png", "json")}
    page = {"figures/README.rst", "figures/README.json"}
    return curves | figure | page


EDITS = [edit_code, edit_explanations, edit_looks, edit_a_setting]


# All at once in the ordinary suite: what each plans differs from what any other does.
@pytest.mark.parametrize(
    "edits",
    [
        pytest.param(EDITS, id="all"),
        *(pytest.param([edit], id=edit.__name__, marks=pytest.mark.slow) for edit in EDITS),
    ],
)
def test_an_edit_plans_what_rests_on_it(clone, edits):
    expected = set().union(*(edit(clone) for edit in edits))
    assert clone.pending() == expected


@pytest.mark.slow
def test_files_damaged_right_after_their_run_are_made_again(smoke_copy):
    """No run in between has seen them whole, so that no time of a file gives them away."""
    quantity, lost = next((smoke_copy.path / "results/smoke/balle2020").rglob("*.csv")), FEW[1]
    figure = FEW[0].replace(".pdf", ".png")
    halve(quantity)
    halve(smoke_copy.path / figure)
    (smoke_copy.path / lost).with_suffix(".json").unlink()
    expected = {str(quantity.relative_to(smoke_copy.path)), figure, lost}
    assert smoke_copy.pending(*FEW, *SMOKE) >= expected


def test_one_figure_is_made_again_from_what_is_cached(clone, shipped):
    """One curve is truncated; there is no display, and the owner has chosen a backend that needs one."""
    curve = "results/girgis2021/fig2/a/girgis2021-upper.csv"
    names = [f"figures/girgis2021/fig2.{form}" for form in ("pdf", "png")]
    before = {name: (clone.path / name).read_bytes() for name in (curve, *names)}
    halve(clone.path / curve)
    for name in names:
        (clone.path / name).unlink()
    run = clone.run("--cores", "1", names[0], MPLBACKEND="TkAgg", DISPLAY=None, WAYLAND_DISPLAY=None)
    assert run.status == 0, run.output
    assert run.jobs == {"compute_curve": 1, "plot": 1}
    joined = len(list((clone.path / "results").rglob("privacy_utility.csv")))
    assert joined > 0
    # the other curves, what is joined from training runs, and Monte Carlo; the ledger waits for the curve
    quantities = sum(len(figure.curves) for figure in shipped.of("quantities"))
    kept = len(shipped.curves) - 1 + quantities + joined + len(shipped.tables_of(Simulation))
    left = "1 not up to date and not asked for"
    assert f"results: {kept} taken from the cache, 1 made now, {left}" in run.stdout
    assert {name: (clone.path / name).read_bytes() for name in before} == before
    assert clone.changed() == {curve.removesuffix(".csv") + ".json"}, "the record, which says when"
    assert clone.plan().jobs == {}
