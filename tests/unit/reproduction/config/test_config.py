"""The configuration: what is shipped resolves, and a mistake is one ValueError that says where and what."""

import copy
import re

import pytest
import yaml

from shuffledp.reproduction import config
from shuffledp.reproduction.config import documentation
from shuffledp.reproduction.config.page import key_table
from shuffledp.variables import table

from ..small_configuration import (
    BASE,
    QUANTITIES,
    STYLED,
    edited,
    line_of_edit,
)

# What is shipped, and how it resolves


@pytest.mark.parametrize("files", [["config.yaml"], ["config.yaml", "smoke.yaml"]], ids=" ".join)
def test_shipped_configurations_resolve(root, files):
    settings = config.load([root / "config" / name for name in files])
    assert [(figure.paper, figure.name) for figure in settings.of("bounds")] == [
        *(("girgis2021", name) for name in ("fig2", "fig4", "fig5")),
        *(("koskela2022", name) for name in ("fig1", "fig2", "fig3", "fig4")),
        *(("balle2020", name) for name in ("fig1", "fig2")),
        *(("liew2022", name) for name in ("accounting", "distributed")),
        *(
            ("beyond", name)
            for name in ("gap", "gap_settings", "randomizers", "windows", "shuffled_gaussian")
        ),
    ]
    assert [(figure.paper, figure.name) for figure in settings.of("quantities")] == [
        ("balle2020", name) for name in ("fig3", "fig4", "closed_forms", "loads")
    ]
    for curve in settings.curves:
        fixed = dict(curve.fixed)
        system = curve.entry.system
        assert {*fixed, curve.variable} == set(system.curve_variables(curve.variable))
        if curve.variable in ("rounds", "n"):
            small = curve.paper in ("koskela2022", "liew2022") or fixed.get("n") == 6e4
            of_others = curve.paper == "balle2020" or curve.figure in ("shuffled_gaussian", "windows")
            assert fixed["delta"] == (1e-6 if of_others else 1e-5 if small else 1e-8)
            assert all(value == round(value) for value in curve.values), "T and n are whole numbers"
    curve = next(
        curve for curve in settings.curves if curve.stem("r") == "r/girgis2021/fig2/a/girgis2021-upper"
    )
    assert dict(curve.fixed) == {"n": 1e6, "k": 1e3, "eps0": 2.0, "delta": 1e-8}
    assert (curve.variable, curve.values[0], curve.values[-1]) == ("rounds", 10, 1e5)


def test_monte_carlo_is_that_of_the_paper(shipped):
    (figure,) = shipped.of("simulation")
    assert (figure.paper, figure.name) == ("koskela2022", "fig5")
    assert [panel.n for panel in figure.panels] == [1, 2, 3, 4, 5, 6, 7]
    assert {(panel.sigma, panel.points) for panel in figure.panels} == {(2.0, 50_000_000)}
    assert shipped.figure("koskela2022", "fig5") is figure
    assert figure.panels[6].stem("r") == "r/koskela2022/fig5/n7/monte-carlo"


def test_epsilon_of_monte_carlo_must_increase(refusal_over_shipped):
    message = refusal_over_shipped("simulation: {koskela2022: {fig5: {epsilon: {from: 1, to: 0.1}}}}")
    assert "epsilon.from must be less than epsilon.to, got 1 and 0.1" in message
    assert "1.yaml line 1" in message


def test_smoke_has_the_same_figures_with_fewer_curves_in_folders_of_its_own(root, shipped):
    smoke = config.load([root / "config/config.yaml", root / "config/smoke.yaml"])

    def panels(settings):
        return {curve.stem("").rpartition("/")[0] for curve in settings.curves}

    assert panels(smoke) == panels(shipped)
    assert {curve.stem("") for curve in smoke.curves} <= {curve.stem("") for curve in shipped.curves}
    assert any(not curve.plotted for curve in smoke.curves)
    assert max(len(curve.values) for curve in smoke.curves) == 3

    def kinds(settings):
        return {
            (
                curve.entry.system.protocol,
                curve.entry.system.mechanism,
                curve.variable,
                bool(curve.randomizer),
            )
            for curve in settings.curves
        }

    assert kinds(smoke) == kinds(shipped)
    quantities = [
        [curve.stem("") for figure in settings.of("quantities") for curve in figure.curves]
        for settings in (smoke, shipped)
    ]
    assert quantities[0] == quantities[1]
    assert smoke.results != shipped.results
    assert smoke.figures != shipped.figures
    assert smoke.ledger.startswith(f"{smoke.results}/"), "the page that is tracked stays as it is"


def test_yaml_numbers_with_exponents_are_numbers(load):
    for text in ("1e-8", "1E-8", "1.0e-08", "0.00000001", ".1e-7", "1.e-8", "+1e-8"):
        settings = load(edited("delta: 1e-8", f"delta: {text}"))
        assert dict(settings.curves[0].fixed)["delta"] == pytest.approx(1e-8, rel=1e-15, abs=0), text
    settings = load(BASE)
    assert settings.curves[0].values[-1] == 1e5
    for value in dict(settings.curves[0].fixed).values():
        assert type(value) is float


def test_curves_are_those_named_and_only_the_named_are_drawn(load):
    figure = load(BASE).figure("paper", "fig1")
    by_panel = {
        name: [(curve.accountant, curve.plotted) for curve in figure.curves if curve.panel == name]
        for name in "ab"
    }
    drawn = [("girgis2021-upper", True), ("feldman2021-strong", True)]
    assert by_panel["a"] == [*drawn, ("girgis2021-lower", False)]
    assert by_panel["b"] == [*drawn, ("girgis2021-lower", False), ("feldman2021-advanced-noamp", False)]
    assert [curve.plotted for curve in figure.plotted] == [True] * 4


def test_defaults_are_filled_in(load):
    figure = load(BASE).figure("paper", "fig1")
    fixed = {curve.panel: dict(curve.fixed) for curve in figure.curves}
    assert fixed["a"]["delta"] == 1e-8, "of the figure"
    assert fixed["b"]["delta"] == 1e-6, "the panel's own"
    assert figure.caption.choices == []
    labels = {name: style["label"] for name, style in figure.looks.items()}
    assert labels["feldman2021-strong"] == "clones"
    assert labels["girgis2021-upper"].startswith("Theorem 1"), "of the registry"


def test_later_files_are_laid_over_earlier_ones(load):
    overlay = (
        "bounds: {paper: {fig1: {delta: 1e-5, curves: [girgis2021-upper], panels: {a: {x: {points: 2}}}}}}"
    )
    figure = load(BASE, overlay).figure("paper", "fig1")
    assert {curve.accountant for curve in figure.plotted} == {"girgis2021-upper"}, "lists are replaced"
    first = figure.curves[0]
    assert first.values == (10.0, 1e5)
    assert dict(first.fixed) == {"n": 1e6, "k": 1e3, "eps0": 2.0, "delta": 1e-5}


def test_an_unknown_figure_is_named(load):
    settings = load(BASE)
    with pytest.raises(ValueError, match="no figure 'fig9' of 'paper'"):
        settings.figure("paper", "fig9")


def test_resolving_leaves_its_argument_alone():
    raw = yaml.safe_load(BASE)
    before = copy.deepcopy(raw)
    config.resolve(raw)
    assert raw == before


def test_the_product_of_a_curve_holds_all_that_decides_it(load):
    curve = load(BASE).curves[0]
    product = curve.product("results")
    assert product.record == "results/paper/fig1/a/girgis2021-upper.json"
    assert product.outputs == ("results/paper/fig1/a/girgis2021-upper.csv",)
    assert product.parameters["variable"] == "rounds"
    assert product.parameters["values"] == list(curve.values)
    assert product.parameters["fixed"] == dict(curve.fixed)
    assert product.parameters["accountant"]["name"] == "girgis2021-upper"
    assert "color" not in repr(product.parameters), "looks recompute nothing"


# Curves of a panel's own, and quantities


def test_a_panel_may_name_its_own_curves(load):
    text = edited("          k: 100\n", "          k: 100\n          curves: [girgis2021-upper]\n")
    found = [(curve.panel, curve.accountant) for curve in load(text).of("bounds")[0].plotted]
    assert found == [("a", "girgis2021-upper"), ("a", "feldman2021-strong"), ("b", "girgis2021-upper")]
    with pytest.raises(ValueError, match="curves must be named, by the figure or by each of its panels"):
        load(edited("      curves: [girgis2021-upper, feldman2021-strong]\n", ""))


def test_quantities_resolve(load):
    (curve,) = load(STYLED + QUANTITIES).of("quantities")[0].curves
    assert curve.stem("results") == "results/paper/fig2/a/fixed-window-dummies"
    assert curve.values == (2, 4, 8)
    assert dict(curve.fixed) == {"n": 10, "participation": 1}


TWICE = {
    "values": ("          eps0: 2\n", "          eps0: 2\n          eps0: 3\n", "eps0", 1),
    "in braces": ("from: 10, to: 1e5", "from: 10, to: 1e5, from: 20", "from", 0),
    "sections": ("bounds:\n", "paths: {}\nbounds:\n", "paths", -7),
}


@pytest.mark.parametrize(("old", "new", "key", "apart"), TWICE.values(), ids=TWICE)
def test_a_key_that_stands_twice_is_named_with_both_lines(tmp_path, refusal, old, new, key, apart):
    text = edited(old, new)
    second = line_of_edit(BASE, text)
    first = {1: second - 1, 0: second, -7: 1}[apart]
    assert refusal(text) == (
        f"configuration: key {key!r} stands twice in one place of {tmp_path / '0.yaml'}, on line {first} and "
        f"on line {second}; keep one"
    )


def test_what_anchors_share_stands_once(load):
    shared = edited("panels:\n        a:", "panels:\n        a: &first").replace(
        "        b:\n", "        c:\n          <<: *first\n          eps0: 3\n        b:\n"
    )
    figure = load(shared).figure("paper", "fig1")
    assert {dict(curve.fixed)["eps0"] for curve in figure.curves if curve.panel == "c"} == {3}


# Files that cannot be configurations at all


@pytest.mark.parametrize("text", ["a: [1", "a: b: c", "\ta: 1", "key: @"])
def test_invalid_yaml_names_the_file_and_the_line(tmp_path, refusal, text):
    message = refusal(BASE, f"paths:\n{text}\n")
    assert re.match(
        rf"configuration: {re.escape(str(tmp_path))}/1\.yaml line [23], column \d+ is not valid YAML: \w",
        message,
    )


@pytest.mark.parametrize("text", ["- 1", "- ab", "word", "3"])
@pytest.mark.parametrize("before", [[], [BASE]], ids=["alone", "laid over"])
def test_yaml_of_no_mapping_is_named(tmp_path, refusal, before, text):
    message = refusal(*before, text)
    assert f"{len(before)}.yaml" in message
    assert "mapping" in message or "keys" in message


@pytest.mark.parametrize("text", ["", "# nothing yet\n"])
def test_an_empty_file_lacks_everything_or_changes_nothing(load, refusal, text):
    assert "'paths' is a required property" in refusal(text)
    assert load(BASE, text) == load(BASE)


def test_a_missing_file_is_named(tmp_path):
    path = tmp_path / "nowhere.yaml"
    with pytest.raises(ValueError, match=re.escape(str(path))):
        config.load([path])


# The page of keys

PAGE = key_table(documentation.keys(), table())


def test_page_of_keys_is_current(root):
    assert (root / "config/README.md").read_text(encoding="utf-8") == PAGE


def test_the_example_of_the_page_of_keys_is_a_configuration(root, shipped, tmp_path):
    (example,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    path = tmp_path / "mine.yaml"
    path.write_text(example, encoding="utf-8")
    mine = config.load([root / "config/config.yaml", path])
    assert (mine.results, mine.figures) == ("results/mine", "figures/mine")
    assert len(mine.declared) == len(shipped.declared)
    changed = [
        curve.panel for curve, before in zip(mine.curves, shipped.curves, strict=True) if curve != before
    ]
    assert set(changed) == {"a"}


def test_the_page_of_keys_has_the_headings_that_a_catalogue_shows():
    headings = re.findall(r"^#+ .*$", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL), re.MULTILINE)
    assert headings == [
        *("# Configuration", "## Workflow overview", "## Running the workflow"),
        *("### Keys", "### Variables"),
    ]


def test_every_key_is_described():
    rows = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| `")]
    assert len(rows) > 20
    for key, meaning, values in rows:
        assert len(meaning.split()) >= 2, f"{key} lacks a description"
        assert values.removesuffix(" |").strip(), key


def test_page_of_keys_has_every_key_of_the_shipped_configuration(root):
    rows = {line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `")}
    patterns = [re.sub(r"<\w+>", r"[^.]+", row.replace(".", r"\.")) for row in rows]

    def keys(node, prefix=""):
        for name, value in node.items() if isinstance(node, dict) else ():
            yield f"{prefix}{name}"
            yield from keys(value, f"{prefix}{name}.")

    raw = yaml.safe_load((root / "config/config.yaml").read_text(encoding="utf-8"))
    assert len(list(keys(raw))) > 50
    for key in keys(raw):
        assert any(re.fullmatch(pattern, key) for pattern in patterns), key


def test_two_figures_of_different_kinds_have_different_names(shipped, refusal_over_shipped):
    (curve, *_), panel = shipped.of("quantities")[0].curves, {"clients": [1]}
    (known,) = shipped.of("simulation")
    given = {**known.settings.model_dump(by_alias=True), "clients": panel["clients"]}
    message = refusal_over_shipped(yaml.safe_dump({"simulation": {curve.paper: {curve.figure: given}}}))
    assert f"figure {curve.figure!r} of {curve.paper!r} stands under quantities too" in message


@pytest.mark.parametrize(("key", "wrong"), [("panel", "z"), ("curve", "clones-pld")])
def test_a_stated_point_is_of_a_panel_and_a_curve_of_its_figure(root, tmp_path, key, wrong):
    point = {"panel": "a", "curve": "girgis2021-upper", "epsilon": 1.4, "accuracy": 80, key: wrong}
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(yaml.safe_dump({"accuracy": {"girgis2021": {"fig3": {"stated": [point]}}}}))
    with pytest.raises(ValueError, match=f"{key} of what the paper states must be one of .* got '{wrong}'"):
        config.load([root / "config/config.yaml", overlay])


OVER = {"panel": "a", "curve": "feldman2021-strong", "at": 1e5, "times": 14, "over": "girgis2021-upper"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"panel": "z"}, "panel of what the paper states must be one of the figure's (a, b), got 'z'"),
        ({"curve": "clones-pld"}, "curve of what the paper states must be drawn in panel 'a' "),
        ({"curve": "girgis2021-lower"}, "curve of what the paper states must be drawn in panel 'a' "),
        ({"over": "girgis2021-lower"}, "over of what the paper states must be drawn in panel 'a' "),
        ({"value": 2}, "what the paper states must be a value, or times and over; give one of both"),
        ({"over": None}, "what the paper states must be a value, or times and over; give one of both"),
        ({"times": None, "over": None}, "what the paper states must be a value, or times and over"),
        ({"times": None, "value": 2}, "what the paper states must be a value, or times and over"),
        ({"at": 99999}, "at must be a point of panel 'a', such as its last, 100000, got 99999"),
    ],
)
def test_a_stated_number_is_of_a_curve_that_is_drawn(refusal, changes, message):
    stated = {key: value for key, value in {**OVER, **changes}.items() if value is not None}
    overlay = yaml.safe_dump({"bounds": {"paper": {"fig1": {"stated": [stated]}}}})
    assert message in refusal(BASE, overlay)
    assert "bounds.paper.fig1.stated.0" in refusal(BASE, overlay).replace("[0]", ".0")


@pytest.mark.parametrize(("key", "wrong"), [("panel", "z"), ("experiment", "girgis2021-fig3")])
def test_a_stated_accuracy_is_of_a_line_of_its_figure(refusal_over_shipped, key, wrong):
    stated = {"panel": "a", "experiment": "liew2022-fig3b", "accuracy": 90, key: wrong}
    message = refusal_over_shipped(
        yaml.safe_dump({"progress": {"liew2022": {"fig3b": {"stated": [stated]}}}})
    )
    assert f"{key} of what the paper states must be one of " in message
    assert f"got {wrong!r}" in message


# A window of balle2020 in a figure of accuracy
WINDOW = {
    **{"data": "synthetic", "model": "mnist_cnn_16", "n": 200, "protocol": "fixed-window", "slots": 100},
    **{"randomizer": "l2_hemisphere", "clip": "norm", "clip_norm": 0.005, "eps0": 2, "delta": 1e-6},
    **{"epochs": [2], "learning_rates": [0.1], "seeds": 1},
}


@pytest.mark.parametrize(
    ("figure", "panel", "message"),
    [
        ({}, {}, "curves must be named, by the figure or by each of its panels"),
        ({"curves": ["girgis2021-upper"]}, {}, "'girgis2021-upper' is for subsampled-shuffle with ldp"),
        ({}, {"curves": ["fixed-window-sun"]}, "did you mean 'fixed-window-sum'"),
        (
            {"stated": [{"panel": "a", "curve": "girgis2021-upper", "epsilon": 1, "accuracy": 50}]},
            {"curves": ["fixed-window-sum"]},
            r"one of the figure's \(fixed-window-sum\), got 'girgis2021-upper'",
        ),
        ({"curves": ["girgis2021-upper"]}, {"curves": ["fixed-window-sum"]}, None),
        (
            {},
            {"curves": ["fixed-window-sum"], "distance": 1},
            "distance is of experiments with Gaussian noise, and 'window' has none; leave it out",
        ),
        ({}, {"curves": ["fixed-window-sum"], "distance": 2.5}, "2.5 is greater than the maximum of 2"),
    ],
)
def test_a_panel_of_accuracies_may_have_accountants_of_its_own(root, tmp_path, figure, panel, message):
    panels = {"a": {"experiment": "window", "title": "t", **panel}}
    overlay = tmp_path / "overlay.yaml"
    overlay.write_text(
        yaml.safe_dump(
            {
                "training": {"experiments": {"window": WINDOW}},
                "accuracy": {"beyond": {"own": {**figure, "panels": panels}}},
                "captions": {"beyond": {"own": {"shows": "A window."}}},
            }
        )
    )
    if message is not None:
        with pytest.raises(ValueError, match=message):
            config.load([root / "config/config.yaml", overlay])
        return
    settings = config.load([root / "config/config.yaml", overlay])
    (own,) = [one for one in settings.of("accuracy", untrained=True) if one.name == "own"]
    (table,) = own.tables
    assert table.accountants == ("fixed-window-sum",)
    parameters = table.product("results").parameters
    assert parameters["rounds_of_one"] == 100
    assert parameters["setting"] == {"slots": 100, "participation": 1.0, "eps0": 2.0, "delta": 1e-6}


def test_a_ratio_of_quantities_is_of_curves_of_its_panel(load):
    ratio = "[fixed-window-dummies]\n          ratio: [fixed-window-dummies, b]"
    with pytest.raises(ValueError, match="ratio must name curves of the panel, got fixed-window-dummies, b"):
        load(STYLED + QUANTITIES.replace("[fixed-window-dummies]", ratio))
