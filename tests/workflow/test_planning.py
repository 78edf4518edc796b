"""What a run would do is decided by content: nothing in a fresh clone, what follows from an edit after it."""

import json
import os

import pytest

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


def test_an_edit_of_code_plans_the_curves_behind_it_and_what_follows(clone):
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
    assert clone.pending() == expected | {"docs/claims.md", "docs/claims.json"}


def test_comments_and_docstrings_plan_nothing(clone):
    clone.edit(WANG, '"""', '"""Another explanation. ')
    clone.append(WANG, "\n\n# And a remark.\n")
    clone.append("workflow/shuffledp/accountants/curves.py", "# Another.\n")
    assert clone.pending() == set()


def test_looks_recompute_nothing(clone):
    clone.edit("config/config.yaml", "#0072b2", "#0072b3")  # Theorem 1
    records = {
        str(path.relative_to(clone.path)): _read(path)
        for path in (clone.path / "figures").glob("*/*.json")
        if "girgis2021-upper" in path.read_text()
    }
    assert len(records) == 8
    assert clone.pending() == {name for record in records for name in with_record(record, records[record])}


def test_a_setting_recomputes_its_panel_only(clone):
    clone.edit("config/config.yaml", "eps0: 1\n          rounds: 1e5", "eps0: 1.5\n          rounds: 1e5")
    panel = clone.path / "results/girgis2021/fig4/c"
    curves = {str(path.relative_to(clone.path)) for path in panel.iterdir()}
    figure = {f"figures/girgis2021/fig4.{form}" for form in ("pdf", "png", "json")}
    page = {"figures/README.rst", "figures/README.json"}
    assert clone.pending() == curves | figure | page


def test_files_damaged_right_after_their_run_are_made_again(smoke_copy):
    """No run in between has seen them whole, so that no time of a file gives them away."""
    quantity, lost = next((smoke_copy.path / "results/smoke/balle2020").rglob("*.csv")), FEW[1]
    figure = FEW[0].replace(".pdf", ".png")
    halve(quantity)
    halve(smoke_copy.path / figure)
    (smoke_copy.path / lost).with_suffix(".json").unlink()
    expected = {str(quantity.relative_to(smoke_copy.path)), figure, lost}
    assert smoke_copy.pending(*FEW, *SMOKE) >= expected


def test_a_truncated_curve_is_computed_again_to_the_same_bytes(clone):
    name = "results/girgis2021/fig2/a/girgis2021-upper.csv"
    path = clone.path / name
    before = path.read_bytes()
    halve(path)
    run = clone.run("--cores", "1", name)
    assert run.status == 0, run.output
    assert run.jobs == {"compute_curve": 1}
    assert path.read_bytes() == before
    assert clone.changed() == {name.removesuffix(".csv") + ".json"}, "the record, which says when"
    assert clone.plan().jobs == {}


def test_one_figure_is_drawn_again_from_what_is_cached(clone, shipped):
    """On a machine without a display, whose owner has chosen a backend that needs one."""
    names = [f"figures/girgis2021/fig2.{form}" for form in ("pdf", "png")]
    before = {name: (clone.path / name).read_bytes() for name in names}
    for name in names:
        (clone.path / name).unlink()
    run = clone.run("--cores", "1", names[0], MPLBACKEND="TkAgg", DISPLAY=None, WAYLAND_DISPLAY=None)
    assert run.status == 0, run.output
    assert run.jobs == {"plot": 1}
    joined = len(list((clone.path / "results").rglob("privacy_utility.csv")))
    assert joined > 0
    # the curves, what is joined from training runs, Monte Carlo, and the ledger
    quantities = sum(len(figure.curves) for figure in shipped.of("quantities"))
    kept = len(shipped.curves) + quantities + joined + len(shipped.simulations) + 1
    assert f"results: {kept} taken from the cache, 0 made now" in run.stdout
    assert {name: (clone.path / name).read_bytes() for name in names} == before
    assert clone.changed() == set()
