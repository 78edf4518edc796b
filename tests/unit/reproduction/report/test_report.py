"""The report: bounds stay bounds, records are told whole, and nothing is interpreted as HTML."""

import io
import json
import re

import pandas as pd
import pytest
from PIL import Image

from shuffledp import accountants
from shuffledp.accountants.systems import dependent_variable
from shuffledp.records import digest, requests
from shuffledp.records.product import Product
from shuffledp.reproduction import config
from shuffledp.reproduction.report import pages, products
from shuffledp.reproduction.report.brackets import HEADINGS, brackets
from shuffledp.reproduction.report.provenance import HEADINGS as PROVENANCE
from shuffledp.reproduction.report.provenance import described

ROUNDS = [10.0, 100.0, 1000.0, 10000.0]


def table(*epsilons):
    return pd.DataFrame({"rounds": ROUNDS, "epsilon": epsilons})


TABLES = {
    "low": table(0.0, 0.1, 0.111111199, 0.5),
    "lower": table(0.0, 0.05, 0.2, 0.4),
    "up": table(0.3, 0.6, 1.00000001, 2.0),
    "upper": table(0.4, 0.5, 3.0, 1.5),
}


def panel(*curves):
    return {
        **{"figure": "paper, fig, a", "system": "who", "setting": "n = 10", "variable": "rounds"},
        "curves": curves,
        "needs": {name: ", ".join(accountants.get(name).needs) for _, name, _ in curves},
    }


LOW = ("lower", "krr3-lower", "low"), ("lower", "girgis2021-lower", "lower")
UP = ("upper", "clones-pld", "up"), ("upper", "girgis2021-upper", "upper")


def test_a_bracket_is_the_tightest_of_both_sides_rounded_outwards():
    rows = brackets([panel(*LOW, *UP)], read=TABLES.get)
    assert all(row.keys() == HEADINGS.keys() for row in rows)
    assert [row["at"] for row in rows] == ["rounds = 10", "rounds = 1000", "rounds = 10000"]
    assert [(row["lower"], row["upper"], row["ratio"]) for row in rows] == [
        ("0", "0.3", ""),
        ("0.2", "1.000001", "5.01"),
        ("0.5", "1.5", "3"),
    ]
    assert [row["by"] for row in rows][1:] == ["girgis2021-lower, clones-pld", "krr3-lower, girgis2021-upper"]
    assert rows[2]["needs"] == ", ".join(accountants.get("girgis2021-upper").needs)


@pytest.mark.parametrize(
    ("curves", "says"),
    [
        (LOW, "got no upper"),
        (UP, "got no lower"),
        ((*LOW, ("upper", "clones-pld", "elsewhere")), "same points of rounds"),
    ],
)
def test_a_bracket_needs_both_sides_at_the_same_points(curves, says):
    tables = {**TABLES, "elsewhere": TABLES["up"].assign(rounds=2.0)}
    with pytest.raises(ValueError, match=says):
        brackets([panel(*curves)], read=tables.get)


def test_panels_with_both_sides_are_in_the_table(root):
    settings = config.load([root / "config/config.yaml"])
    panels = products.report(settings, []).parameters["panels"]
    gap = next(figure for figure in settings.of("bounds") if figure.name == "gap")
    mine = [entry for entry in panels if entry["figure"].startswith("beyond, gap,")]
    along_epsilon = {curve.panel for curve in gap.curves if dependent_variable(curve.variable) == "epsilon"}
    assert {entry["figure"].rpartition(", ")[2] for entry in mine} <= along_epsilon
    assert len(mine) == 4
    for entry in panels:
        own = next(
            figure
            for figure in settings.of("bounds")
            if entry["figure"].startswith(f"{figure.paper}, {figure.name}, ")
        )
        by_name = {curve.accountant: curve.entry for curve in own.curves}
        chosen = [by_name[name] for _, name, _ in entry["curves"]]
        assert entry["needs"] == {one.name: ", ".join(one.needs) for one in chosen}
        of_one = {curve.randomizer[1:] for curve in own.curves if curve.accountant in entry["needs"]}
        assert len(of_one) == 1, "bounds of one randomiser, or of every one"
        assert {one.kind for one in chosen} == {"lower", "upper"}
        assert len({(one.protocol, one.mechanism) for one in chosen}) == 1
        assert {one.scope for one in chosen} == {"epsilon"}, "not a bound on what one accounting reports"


RECORD = {
    "request": {
        "parameters": {"seed": 3, "experiment": {"k": 5}},
        "modules": ["shuffledp.records.tables"],
        "code": digest.code_digest(("shuffledp.records.tables",)),
    },
    "environment": {
        "python": "3.12.1",
        "versions": {"torch": "2.4"},
        "device": {"name": "CPU", "threads": 1, "type": "cpu"},
        "seconds": 12.5,
        "finished": "2026-01-01T00:00:00+00:00",
        "git": {"revision": "0123456789abcdef", "dirty": True},
    },
}


def test_a_record_is_told_whole():
    row = described(RECORD, name="results/training/one/seed3.json", code=RECORD["request"]["code"])
    assert row.keys() == PROVENANCE.keys()
    assert json.loads(row.pop("parameters")) == RECORD["request"]["parameters"]
    assert row == {
        "result": "results/training/one/seed3",
        "code": RECORD["request"]["code"],
        "current": "yes",
        "seed": "3",
        "device": "CPU, 1 thread(s)",
        "versions": "python 3.12.1, torch 2.4",
        "seconds": "12.5",
        "finished": "2026-01-01T00:00:00+00:00",
        "git": "0123456789 with changes",
    }


def test_a_record_of_other_code_says_so():
    request = {**RECORD["request"], "code": "0" * 16}
    row = described({"request": request}, name="figures/paper/fig.json", code=RECORD["request"]["code"])
    assert row["current"].startswith("no")
    assert row["device"] == row["versions"] == row["git"] == ""


def picture(size=(600, 400)):
    stream = io.BytesIO()
    Image.new("RGB", size, "white").save(stream, "png")
    return stream.getvalue()


CLAIM = {
    "id": "P1",
    "paper": "paper",
    "figure": "fig2 a; fig12 b",
    "statement": "a <b> & c",
    "setting": "n=10",
    "stated": "2x",
    "ours": "1.9x",
    "verdict": "reproduced",
    "rule": "number",
    "reason": "within 5%",
}
FIGURES = [
    pages.Shown("paper", "loads", "paper, loads", picture(), "No <figure> of the *ledger*."),
    pages.Shown("paper", "fig2", "paper, figure 2", picture(), "One.\n\n- A choice.\n"),
    pages.Shown("other", "fig2", "other, figure 2", picture(), "Another paper's."),
]


def page(root, ledger=(CLAIM,), figures=FIGURES):
    return pages.render(
        root / "workflow/report/report.html.jinja",
        ledger=list(ledger),
        rules={"number": "Within 5%.", "order": "Never named."},
        figures=figures,
        brackets=brackets([panel(*LOW, *UP)], read=TABLES.get),
        provenance=[described(RECORD, name="results/one.json", code="")],
    )


def test_the_report_escapes_what_it_shows_and_needs_nothing_from_elsewhere(root):
    text = page(root)
    assert "a &lt;b&gt; &amp; c" in text
    assert "No &lt;figure&gt; of the <em>ledger</em>." in text
    assert re.search(r"<details>.*&#34;seed&#34;: 3", text, re.DOTALL)
    assert "http" not in text


def test_rows_link_to_the_figures_that_they_name_and_figures_to_their_rows(root):
    text = page(root)
    anchors = set(re.findall(r'id="([^"]+)"', text))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= anchors
    row = text[text.index('id="claim-P1"') :]
    assert '<a href="#paper-fig2">fig2</a> a; fig12 b' in row[: row.index("</tr>")]
    shown = text[text.index('<figure id="paper-fig2"') :]
    assert '<a href="#claim-P1">P1</a>' in shown[: shown.index("</figure>")]
    assert text.count('href="#claim-P1"') == 1, "not the figure of another paper, nor another figure"
    assert text.index('id="paper-fig2"') < text.index('id="paper-loads"'), "those with a number first"


def test_verdicts_are_counted_and_rules_that_decide_are_told(root):
    other = {**CLAIM, "id": "P2", "verdict": "not reproduced"}
    text = page(root, [CLAIM, other, {**other, "id": "P3"}])
    assert re.search(r"<b>1</b>reproduced<", text)
    assert re.search(r"<b>2</b>not reproduced<", text)
    assert "Within 5%." in text
    assert "Never named." not in text


def test_a_verdict_or_a_rule_that_nobody_knows_is_an_error(root):
    with pytest.raises(ValueError, match="does not know: perhaps"):
        page(root, [{**CLAIM, "verdict": "perhaps"}])
    with pytest.raises(KeyError, match="hunch"):
        page(root, [{**CLAIM, "rule": "hunch"}])


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("fig2", "paper, figure 2"),
        ("fig3b_epsilon", "paper, figure 3b epsilon"),
        ("shuffled_gaussian", "paper, shuffled gaussian"),
    ],
)
def test_figures_have_readable_names(name, readable):
    assert pages.title("paper", name) == readable


def test_the_report_asks_for_the_code_that_would_make_each_result_now(root, shipped):
    results = [curve.product("results") for curve in shipped.curves[:3]]
    records = products.report(shipped, results).parameters["records"]
    assert records == {result.record: result.request()["code"] for result in results}


def test_a_product_whose_digest_leaves_a_module_out_is_current(in_root, tmp_path):
    """The digest would be another with it."""
    module = "shuffledp.reproduction.studies.accuracy_against_epsilon"
    product = Product(
        record=str(tmp_path / "one.json"),
        parameters={},
        modules=(module,),
        outputs=(str(tmp_path / "one.csv"),),
        without=("shuffledp.checks",),
    )
    (tmp_path / "one.csv").write_text("a\n1\n")
    requests.record(requests.stage(product, tmp_path / "requests"))
    record = json.loads((tmp_path / "one.json").read_text())
    assert record["request"] == product.request()
    assert record["request"]["code"] != digest.code_digest((module,))
    assert product.is_current()
