"""The configuration: what is shipped resolves, and a mistake is one ValueError that says where and what."""

import copy
import math
import re

import numpy as np
import pytest
import yaml

from shuffledp.reproduction import config
from shuffledp.reproduction.config import documentation
from shuffledp.reproduction.config.page import key_table
from shuffledp.reproduction.sections.captions import Caption
from shuffledp.variables import VARIABLES, table

BASE = """\
paths: {results: results, figures: figures, ledger: docs/claims.md}
captions: {paper: {'fig1': {shows: What it shows.}}}
styles:
  girgis2021-upper: {color: "#0072b2", line: solid}
  feldman2021-strong:
    color: "#c0509e"
    line: dotted
    label: clones
bounds:
  paper:
    fig1:
      delta: 1e-8
      curves: [girgis2021-upper, feldman2021-strong]
      undrawn: [girgis2021-lower]
      panels:
        a:
          x: {variable: rounds, from: 10, to: 1e5, points: 5}
          n: 1e6
          k: 1e3
          eps0: 2
        b:
          x:
            variable: n
            from: 1e4
            to: 1e6
            points: 3
          k: 100
          eps0: 0.5
          rounds: 1e3
          delta: 1e-6
          undrawn: [feldman2021-advanced-noamp]
"""
PANEL_A, PANEL_B = "bounds.paper.fig1.panels.a", "bounds.paper.fig1.panels.b"
# one panel in which everything but the x axis is fixed, to vary each variable in turn
FIXED = {"n": 1e6, "k": 1e3, "eps0": 1, "rounds": 100, "delta": 1e-6}
RANGES = {
    "n": (1e4, 1e6),
    "k": (10, 100),
    "eps0": (0.1, 2),
    "rounds": (10, 100),
    "delta": (1e-9, 1e-3),
    "epsilon": (0.1, 1),
    "categories": (2, 8),
}


def edited(old, new, text=BASE):
    assert text.count(old) == 1, f"{old!r} must name one place"
    return text.replace(old, new)


def line_of(words, text):
    """Return the number of the first line with ``words``."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if words in line)


def line_of_edit(old, new):
    """Return the number of the first line in which two texts differ."""
    pairs = zip(old.splitlines(), new.splitlines(), strict=False)
    return next(number for number, (one, other) in enumerate(pairs, 1) if one != other)


@pytest.fixture
def load(tmp_path):
    """Loads one file a text, each laid over those before; they are called 0.yaml, 1.yaml, ..."""

    def load_texts(*texts):
        paths = [tmp_path / f"{number}.yaml" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        return config.load(paths)

    return load_texts


@pytest.fixture
def refusal(load):
    def message(*texts):
        with pytest.raises(ValueError) as caught:  # noqa: PT011  # the callers look at the message
            load(*texts)
        assert "Traceback" not in str(caught.value)
        return str(caught.value)

    return message


@pytest.fixture
def refusal_over_shipped(root, tmp_path):
    def message(text):
        path = tmp_path / "1.yaml"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError) as caught:  # noqa: PT011  # the callers look at the message
            config.load([root / "config/config.yaml", path])
        return str(caught.value)

    return message


def varying(variable, **changes):
    """Return a raw configuration whose one panel varies ``variable``; a change of None drops the key."""
    raw = copy.deepcopy(yaml.safe_load(BASE))
    figure = raw["bounds"]["paper"]["fig1"]
    del figure["delta"]
    first, last = RANGES[variable]
    panel = {**FIXED, "x": {"variable": variable, "from": first, "to": last, "points": 4}}
    panel.pop(variable, None)
    panel.update(changes)
    figure["panels"] = {"a": {key: value for key, value in panel.items() if value is not None}}
    return raw


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


def test_points_are_spaced_in_ratio_and_end_where_they_should():
    raw = varying("eps0")
    raw["bounds"]["paper"]["fig1"]["panels"]["a"]["x"].update({"from": 0.1, "to": 0.3, "points": 7})
    values = np.array(config.resolve(raw).curves[0].values)
    assert (values[0], values[-1], values.size) == (0.1, 0.3, 7)
    np.testing.assert_allclose(values[1:] / values[:-1], 3 ** (1 / 6), rtol=1e-12)


@pytest.mark.parametrize("variable", ["n", "k", "rounds"])
def test_points_of_counts_are_whole_and_named_once(variable):
    raw = varying(variable, **({"k": 1} if variable == "n" else {}))
    raw["bounds"]["paper"]["fig1"]["panels"]["a"]["x"].update({"from": 1, "to": 10, "points": 30})
    assert config.resolve(raw).curves[0].values == tuple(map(float, range(1, 11)))


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


# Mistakes: the edit that makes one, the key that the message names, what it says. The line that it names is
# that of the edit, unless a fourth entry gives other words to find it by.

X = "x: {variable: rounds, from: 10, to: 1e5, points: 5}"
MISTAKES = {
    "misspelt key of a panel": ("eps0: 0.5", "epsO: 0.5", f"{PANEL_B}.epsO", "did you mean 'eps0'"),
    "misspelt key of x": ("points: 3", "pionts: 3", f"{PANEL_B}.x.pionts", "did you mean 'points'"),
    "misspelt key of a figure": (
        "undrawn: [girgis2021-lower]",
        "undrwan: [girgis2021-lower]",
        "bounds.paper.fig1.undrwan",
        "did you mean 'undrawn'",
    ),
    "misspelt key of a style": (
        'color: "#c0509e"',
        'colour: "#c0509e"',
        "styles.feldman2021-strong.colour",
        "did you mean 'color'",
    ),
    "misspelt key at the top": ("bounds:", "bound:", "bound", "did you mean 'bounds'"),
    "key like no other": ("rounds: 1e3", "zzz: 1e3", f"{PANEL_B}.zzz", "known are title, x, n"),
    "n of a word": ("n: 1e6", "n: many", f"{PANEL_A}.n", "'many' is not of type 'integer'"),
    "n not whole": ("n: 1e6", "n: 10.5", f"{PANEL_A}.n", "10.5 is not of type 'integer'"),
    "n of true": ("n: 1e6", "n: true", f"{PANEL_A}.n", "True is not of type 'integer'"),
    "n of nothing": ("n: 1e6", "n:", f"{PANEL_A}.n", "None is not of type 'integer'"),
    "k of 0": ("k: 1e3", "k: 0", f"{PANEL_A}.k", "0 is less than the minimum of 1"),
    "negative T": ("rounds: 1e3", "rounds: -1", f"{PANEL_B}.rounds", "-1 is less than the minimum of 0"),
    "negative eps0": ("eps0: 2", "eps0: -2", f"{PANEL_A}.eps0", "-2 is less than the minimum of 0"),
    "eps0 of nan": ("eps0: 2", "eps0: .nan", f"{PANEL_A}.eps0", "nan"),
    "eps0 of infinity": ("eps0: 2", "eps0: .inf", f"{PANEL_A}.eps0", "inf"),
    "delta of 2": ("delta: 1e-6", "delta: 2", f"{PANEL_B}.delta", "maximum of 1"),
    "delta of 1": ("delta: 1e-6", "delta: 1", f"{PANEL_B}.delta", "maximum of 1"),
    "delta of 0": ("delta: 1e-6", "delta: 0", f"{PANEL_B}.delta", "minimum of 0"),
    "negative delta": ("delta: 1e-6", "delta: -1e-6", f"{PANEL_B}.delta", "minimum of 0"),
    "delta of nan": ("delta: 1e-6", "delta: .nan", f"{PANEL_B}.delta", "nan"),
    "delta of infinity": ("delta: 1e-6", "delta: .inf", f"{PANEL_B}.delta", "inf"),
    "delta of a figure": ("delta: 1e-8", "delta: 1.5", "bounds.paper.fig1.delta", "maximum of 1"),
    "k above n": ("k: 1e3", "k: 1e7", f"{PANEL_A}.k", "k must be at most n"),
    "k above the least n": ("k: 100", "k: 20000", f"{PANEL_B}.k", "n from 10000"),
    "x backwards": ("from: 1e4", "from: 1e7", f"{PANEL_B}.x.from", "x.from must be less than x.to"),
    "points without end": (
        "points: 3",
        "points: 1e9",
        f"{PANEL_B}.x.points",
        "greater than the maximum of 10000",
    ),
    "clients without end": ("n: 1e6", "n: 1e16", f"{PANEL_A}.n", "greater than the maximum of"),
    "rounds without end": ("to: 1e5", "to: 1e16", f"{PANEL_A}.x", "rounds must be at most 1e+15, since"),
    "x of one value": ("from: 1e4", "from: 1e6", f"{PANEL_B}.x.from", "x.from must be less than x.to"),
    "x from nan": ("from: 1e4", "from: .nan", f"{PANEL_B}.x.from", "nan"),
    "x to nan": ("to: 1e6", "to: .nan", f"{PANEL_B}.x.to", "nan"),
    "x to infinity": ("to: 1e6", "to: .inf", f"{PANEL_B}.x.to", "inf"),
    "x from 0": ("from: 1e4", "from: 0", f"{PANEL_B}.x.from", "minimum of 0"),
    "one point": ("points: 3", "points: 1", f"{PANEL_B}.x.points", "minimum of 2"),
    "half a point": ("points: 3", "points: 2.5", f"{PANEL_B}.x.points", "not of type 'integer'"),
    "x of a word": (X, "x: rounds", f"{PANEL_A}.x", "not of type 'object'"),
    "no x": (X, "rounds: 5", PANEL_A, "'x' is a required property", "        a:"),
    "unknown variable": ("variable: n", "variable: m", f"{PANEL_B}.x.variable", "'m' is not one of"),
    "unknown curve": (
        "[girgis2021-upper, ",
        "[girgis2021-uper, ",
        "bounds.paper.fig1.curves",
        "did you mean 'girgis2021-upper'",
    ),
    "unknown undrawn": (
        "[girgis2021-lower]",
        "[girgis2021-lowr]",
        "bounds.paper.fig1.undrawn",
        "did you mean 'girgis2021-lower'",
    ),
    "unknown undrawn of a panel": (
        "[feldman2021-advanced-noamp]",
        "[feldman2021-advanced-noam]",
        f"{PANEL_B}.undrawn",
        "did you mean 'feldman2021-advanced-noamp'",
    ),
    "curve like no other": (
        "[girgis2021-upper, ",
        "[zzz, ",
        "bounds.paper.fig1.curves",
        "accountant must be a registered one, got 'zzz': known are ",
    ),
    "drawn without a style": (
        "[girgis2021-upper, ",
        "[girgis2021ccs-wang2019, ",
        "bounds.paper.fig1.curves",
        "'girgis2021ccs-wang2019' is drawn here and has no entry under styles",
    ),
    "drawn twice": (
        "feldman2021-strong]",
        "girgis2021-upper]",
        "bounds.paper.fig1.curves",
        "['girgis2021-upper', 'girgis2021-upper'] has non-unique elements",
    ),
    "drawn and undrawn": (
        "[girgis2021-lower]",
        "[girgis2021-upper]",
        "bounds.paper.fig1",
        "'girgis2021-upper' is named twice",
        "    fig1:",
    ),
    "drawn and undrawn in a panel": (
        "[feldman2021-advanced-noamp]",
        "[girgis2021-upper]",
        "bounds.paper.fig1",
        "'girgis2021-upper' is named twice",
        "    fig1:",
    ),
    "curves of a word": (
        "curves: [girgis2021-upper, feldman2021-strong]",
        "curves: all",
        "bounds.paper.fig1.curves",
        "'all' is not of type 'array'",
    ),
    "colour by name": ('color: "#c0509e"', "color: pink", "styles.feldman2021-strong.color", "#rrggbb"),
    "line of waves": ("line: dotted", "line: wavy", "styles.feldman2021-strong.line", "'wavy' is not one of"),
    "name in capitals": ("fig1:", "Fig1:", "bounds.paper", "'Fig1' does not match", "  paper:"),
    "absolute folder": ("{results: results", "{results: /results", "paths.results", "/results"),
    "folder outside": ("{results: results", "{results: ../results", "paths.results", "../results"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_with_its_key_file_and_line(tmp_path, refusal, mistake):
    old, new, key, says, *words = mistake
    text = edited(old, new)
    message = refusal(text)
    assert message.startswith("configuration: ")
    assert says in message
    assert "\n" not in message
    place = re.search(r"\(at (\S+), (\S+) line (\d+)\)$", message)
    assert place, message
    assert place[1] == key
    assert place[2] == str(tmp_path / "0.yaml")
    assert int(place[3]) == (line_of(words[0], text) if words else line_of_edit(BASE, text))


def test_every_mistake_is_one():
    """The text that the mistakes are edits of is free of any."""
    config.resolve(yaml.safe_load(BASE))


@pytest.mark.parametrize("variable", FIXED)
def test_a_variable_is_fixed_or_varies(variable):
    config.resolve(varying(variable))
    with pytest.raises(ValueError, match=f"{variable} varies along x and cannot be fixed too; remove one"):
        config.resolve(varying(variable, **{variable: FIXED[variable]}))


@pytest.mark.parametrize("variable", FIXED)
def test_each_other_variable_must_be_fixed(variable):
    for lacking in set(FIXED) - {variable}:
        with pytest.raises(ValueError, match=f"must fix {lacking}, since only {variable} varies"):
            config.resolve(varying(variable, **{lacking: None}))


def test_along_epsilon_delta_is_asked_for_and_not_fixed():
    raw = varying("epsilon", delta=None)
    raw["bounds"]["paper"]["fig1"]["delta"] = 1e-8  # holds for panels that take one
    curve = config.resolve(raw).curves[0]
    assert "delta" not in dict(curve.fixed)
    steps = np.diff(curve.values)
    assert steps == pytest.approx(np.full(steps.shape, steps[0])), "equally spaced on a linear axis"
    with pytest.raises(ValueError, match="delta is fixed here and no accountant of the panel takes it"):
        config.resolve(varying("epsilon", delta=1e-6))


def test_what_belongs_to_another_system_is_refused():
    with pytest.raises(ValueError, match="gamma is fixed here and no accountant of the panel takes it"):
        config.resolve(varying("rounds", gamma=0.5))
    with pytest.raises(ValueError, match="categories does not vary for 'girgis2021-upper', which takes n, k"):
        config.resolve(varying("categories"))


@pytest.mark.parametrize(
    ("variable", "first", "last", "says"),
    [
        ("k", 10, 1e7, "k must be at most n, got k up to 1e\\+07"),
        ("n", 10, 1e7, "k must be at most n, got k up to 1000 and n from 10"),
        ("delta", 1e-9, 2, "delta"),
        ("k", 0.1, 10, "k"),  # rounds to 0 clients a round
    ],
)
def test_no_point_of_a_curve_is_out_of_range(variable, first, last, says):
    raw = varying(variable)
    raw["bounds"]["paper"]["fig1"]["panels"]["a"]["x"].update({"from": first, "to": last})
    with pytest.raises(ValueError, match=f"^configuration: .*{says}"):
        config.resolve(raw)


OVERLAY = """\
# a smaller version
bounds:
  paper:
    fig1:
      panels:
        a:
          x: {points: 3}
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("points: 3", "points: 1", "minimum of 2"),
        ("points: 3", "pionts: 3", "unknown key 'pionts'"),
        ("x: {points: 3}", "epsO: 3", "unknown key 'epsO'"),
        ("x: {points: 3}", "k: 1e7", "k must be at most n"),
    ],
)
def test_a_mistake_in_a_later_file_is_placed_there(tmp_path, refusal, old, new, says):
    text = edited(old, new, OVERLAY)
    message = refusal(BASE, text)
    assert says in message
    assert message.endswith(f"{tmp_path / '1.yaml'} line {line_of_edit(OVERLAY, text)})")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("points: 5", "pionts: 5", "unknown key 'pionts'"),
        ("eps0: 2", "epsO: 2", "unknown key 'epsO'"),
        ("k: 1e3", "k: 1e7", "k must be at most n"),
        ("eps0: 0.5", "eps0: -1", "minimum of 0"),
    ],
)
def test_a_mistake_in_an_earlier_file_is_placed_there(tmp_path, refusal, old, new, says):
    text = edited(old, new)
    message = refusal(text, OVERLAY)
    assert says in message
    assert message.endswith(f"{tmp_path / '0.yaml'} line {line_of_edit(BASE, text)})")


# Curves of a panel's own, and quantities


def test_a_panel_may_name_its_own_curves(load):
    text = edited("          k: 100\n", "          k: 100\n          curves: [girgis2021-upper]\n")
    found = [(curve.panel, curve.accountant) for curve in load(text).of("bounds")[0].plotted]
    assert found == [("a", "girgis2021-upper"), ("a", "feldman2021-strong"), ("b", "girgis2021-upper")]
    with pytest.raises(ValueError, match="curves must be named, by the figure or by each of its panels"):
        load(edited("      curves: [girgis2021-upper, feldman2021-strong]\n", ""))


QUANTITIES = """\
quantities:
  paper:
    fig2:
      panels:
        a:
          title: a title
          x: {variable: slots, from: 2, to: 8, points: 3, label: slots}
          y: dummy updates
          fixed: {n: 10, participation: 1}
          curves: [fixed-window-dummies]
"""
STYLED = BASE.replace(
    "styles:\n", 'styles:\n  fixed-window-dummies: {color: "#000000", line: points}\n'
).replace("{'fig1': ", "{fig2: {shows: What it shows too.}, 'fig1': ")


def test_quantities_resolve(load):
    (curve,) = load(STYLED + QUANTITIES).of("quantities")[0].curves
    assert curve.stem("results") == "results/paper/fig2/a/fixed-window-dummies"
    assert curve.values == (2, 4, 8)
    assert dict(curve.fixed) == {"n": 10, "participation": 1}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[fixed-window-dummies]", "[dummies]", "quantity must be one of fixed-window-dummies, .*'dummies'"),
        ("n: 10, ", "", "'fixed-window-dummies' takes n, slots, participation; let one of them vary"),
        ("variable: slots", "variable: delta", "'fixed-window-dummies' takes n, slots, participation"),
        ("[fixed-window-dummies]", "[load-norm-bound]", "takes n, slots, delta|no entry under styles"),
        ("title: a title\n", "titel: a title\n", "unknown key 'titel': did you mean 'title'?|required"),
    ],
)
def test_mistakes_in_quantities_say_where(load, old, new, says):
    assert old in QUANTITIES
    with pytest.raises(ValueError, match=says):
        load(STYLED + QUANTITIES.replace(old, new))


# Captions, in files of their own


@pytest.fixture
def captioned(tmp_path, load):
    """Loads BASE, its captions being what the file of the paper holds."""
    (tmp_path / "captions").mkdir()

    def load_captioned(text, *layers):
        (tmp_path / "captions/paper.yaml").write_text(text, encoding="utf-8")
        return load(WITHOUT_CAPTIONS, *layers)

    return load_captioned


WITHOUT_CAPTIONS = edited("captions: {paper: {'fig1': {shows: What it shows.}}}\n", "")
CAPTIONS = """\
# of one paper
fig1:
  shows: >-
    Two
    lines.
  choices:
    - The first.
    - 1e5 is the most.
"""


def test_captions_are_read_from_the_file_of_their_paper(captioned):
    caption = captioned(CAPTIONS).figure("paper", "fig1").caption
    assert caption == Caption(shows="Two lines.", choices=["The first.", "1e5 is the most."])


def test_a_layer_may_say_a_caption_anew(captioned):
    layer = "captions: {paper: {fig1: {shows: Another.}}}"
    caption = captioned(CAPTIONS, layer).figure("paper", "fig1").caption
    assert caption == Caption(shows="Another.", choices=["The first.", "1e5 is the most."])


CAPTION_MISTAKES = {
    "unknown figure": ("fig1:", "fgi1:", "unknown figure 'fgi1' of 'paper': did you mean 'fig1'?", "fgi1", 2),
    "figure like no other": ("fig1:", "zzz:", "unknown figure 'zzz' of 'paper': known are fig1", "zzz", 2),
    "misspelt key": ("  shows:", "  show:", "unknown key 'show': did you mean 'shows'?", "fig1.show", 3),
    "no words": (
        "  shows: >-\n    Two\n    lines.\n",
        "",
        "'shows' is a required property. The caption of one figure.",
        "fig1",
        2,
    ),
    "words that are none": (">-\n    Two\n    lines.", "3", "3 is not of type 'string'", "fig1.shows", 3),
    "choices that are no list": (
        "\n    - The first.\n    - 1e5 is the most.",
        " none",
        "'none' is not of type 'array'",
        "fig1.choices",
        6,
    ),
    "a choice that is none": ("The first.", "{a: b}", "is not of type 'string'", "fig1.choices.0", 7),
}


@pytest.mark.parametrize("mistake", CAPTION_MISTAKES.values(), ids=CAPTION_MISTAKES)
def test_a_mistake_in_captions_is_named_with_its_key_file_and_line(tmp_path, captioned, mistake):
    old, new, says, key, line = mistake
    with pytest.raises(ValueError, match=re.escape(says)) as caught:
        captioned(edited(old, new, CAPTIONS))
    assert str(caught.value).startswith("configuration: ")
    assert str(caught.value).endswith(
        f"(at captions.paper.{key}, {tmp_path}/captions/paper.yaml line {line})"
    )


def test_a_figure_without_a_caption_says_where_to_write_it(tmp_path, load, captioned):
    lacking = re.escape(
        f"configuration: figure 'fig1' of 'paper' has no caption; say under 'fig1' in "
        f"{tmp_path}/captions/paper.yaml what it shows "
        f"(at bounds.paper.fig1, {tmp_path}/0.yaml line {line_of('fig1:', WITHOUT_CAPTIONS)})"
    )
    with pytest.raises(ValueError, match=lacking):
        load(WITHOUT_CAPTIONS)
    with pytest.raises(ValueError, match=lacking):
        captioned("")
    with pytest.raises(ValueError, match=r"say under 'fig1' in captions\.paper what"):
        config.resolve(yaml.safe_load(WITHOUT_CAPTIONS))


def test_captions_of_a_paper_without_figures_are_refused(refusal):
    message = refusal(BASE, "captions: {papr: {fig1: {shows: Something.}}}")
    assert "unknown paper 'papr': did you mean 'paper'? (at captions.papr, " in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("fig1: [1", "line 1, column 9 is not valid YAML"),
        ("- 1\n", "must hold keys and values, got list"),
        (CAPTIONS + CAPTIONS, "key 'fig1' stands twice in one place of"),
        ("fig1: {shows: a, shows: b}", "key 'shows' stands twice in one place of"),
    ],
)
def test_a_file_that_can_hold_no_captions_is_named(captioned, text, says):
    with pytest.raises(ValueError, match=says) as caught:
        captioned(text)
    assert "captions/paper.yaml" in str(caught.value)


def test_every_file_of_captions_is_of_a_paper(root, shipped):
    papers = {figure.paper for figure in shipped.declared}
    assert {path.stem for path in (root / "config/captions").iterdir()} == papers


# How much is computed, and where it goes


def _numbers(node, path=""):
    """Every number that the schema asks for: its place and its part of the schema."""
    if isinstance(node, list):
        for item in node:
            yield from _numbers(item, path)
    elif isinstance(node, dict):
        if node.get("type") in ("integer", "number"):
            yield path, node
        for key, child in node.items():
            yield from _numbers(child, path if key in ("properties", "$defs") else f"{path}/{key}")


# what decides neither how much is computed nor how much is stored
UNLIMITED = {
    "clip_norm",
    "noise_multiplier",
    "learning_rates/items",
    "projection",
    "regularization",
    # within 700 sigma^2, across keys
    "half_width",
    "from",
    "to",
    "x_limit",
    "PointSection/epsilon",
    "PointSection/deviation",
    "StatedNumber/at",
    "StatedNumber/value",
    "StatedNumber/times",
    "StatedAccuracy/rounds",
    "fixed/additionalProperties",
}


def test_every_number_that_decides_how_much_is_computed_has_a_limit():
    for path, node in _numbers(documentation.schema()):
        limited = "maximum" in node or "exclusiveMaximum" in node
        assert limited or any(path.endswith(f"/{name}") for name in UNLIMITED), path


def test_limits_of_variables_are_those_of_the_accountants_with_their_reason():
    found = documentation.schema()["$defs"]
    keys = found["BoundsPanel"]["properties"] | found["Randomizer"]["properties"]
    limited = [one for one in VARIABLES.values() if one.limit]
    assert {"n", "k", "slots", "rounds", "categories", "eps0", "sigma"} <= {one.name for one in limited}
    for one in limited:
        if one.limit.most < math.inf:
            assert keys[one.name]["maximum"] == one.limit.most
            assert one.limit.why in keys[one.name]["description"]


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


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("results", "taken", "results must be a folder, got 'taken', where taken is a file"),
        ("figures", "taken/below", "figures must be a folder, got 'taken/below', where taken is a file"),
        ("ledger", "folder", "ledger must be a file, got 'folder', which is a folder"),
        ("ledger", "taken/claims.md", "the folder of ledger must be a folder, got 'taken'"),
        ("ledger", "results/claims.md", "must not be claims.* in the folder of the results"),
    ],
)
def test_paths_that_cannot_be_written_are_refused(tmp_path, monkeypatch, refusal, key, value, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").touch()
    (tmp_path / "folder").mkdir()
    message = refusal(BASE, f"paths: {{{key}: {value}}}\n")
    assert says in message
    assert f"(at paths.{key}, " in message


LEFT_OUT = object()


@pytest.fixture
def refused(root):
    """What is said where keys of one place of the shipped configuration are otherwise."""
    path = root / "config/config.yaml"

    def message(section, *names, **changes):
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
        place = raw[section]
        for name in names:
            place = place[name]
        place |= changes
        for key in [key for key, value in changes.items() if value is LEFT_OUT]:
            del place[key]
        with pytest.raises(ValueError, match=r"^configuration: ") as caught:
            config.resolve(raw, files=[str(path)])
        return str(caught.value)

    return message


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({"n": 1e6}, 60_000),
        ({"n": 60_001}, 60_000),
    ],
)
def test_more_clients_than_images_are_refused_before_anything_is_trained(root, changes, most):
    raw = yaml.safe_load((root / "config/config.yaml").read_text(encoding="utf-8"))
    raw["training"]["experiments"]["girgis2021-fig3"].update(changes)
    with pytest.raises(ValueError, match=f"n must be at most {most}, the training images of mnist"):
        config.resolve(raw)


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        (
            "girgis2021-fig3",
            {"epoch_rounds": 1e9},
            "1000000000 is greater than the maximum of 1000000. Rounds of an epoch",
        ),
        (
            "girgis2021-fig3",
            {"epochs": [60_000, 60_000], "learning_rates": [1, 1]},
            "epochs must be at most 100000 together, since each is a row that is stored, got 120000",
        ),
        (
            "liew2022-fig3b",
            {"epoch_rounds": LEFT_OUT, "n": 1e8, "rate": 1e-8},
            "epoch_rounds must be given, at most 1000000: an epoch would have 1e+08 rounds",
        ),
    ],
)
def test_epochs_end_and_are_not_without_number(refused, name, changes, says):
    assert says in refused("training", "experiments", name, **changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"half_width": 1e9}, "half_width must be at most 2800 for sigma = 2"),
        ({"half_width": 0.01}, "0.01 is less than the minimum of 0.1. Half the width"),
        ({"points": 1e12}, "points must be at most 1.42857e+11 for 7 clients"),
        ({"points": 1e13}, "is greater than the maximum of 1000000000000. Points of each"),
        (
            {"epsilon": {"from": 0.1, "to": 710, "points": 3}},
            "710 is greater than the maximum of 700. Last value",
        ),
        ({"seed": 1e30}, "is greater than the maximum of 9007199254740992. Seed"),
    ],
)
def test_simulations_end_within_the_range_of_doubles(refused, changes, says):
    assert says in refused("simulation", "koskela2022", "fig5", **changes)


def test_a_study_may_not_have_trainings_without_end(root):
    path = root / "config/config.yaml"
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    raw |= yaml.safe_load((root / "config/sweep.yaml").read_text(encoding="utf-8"))
    raw["sweep"]["grid"]["eps0"] = [1 + number / 1000 for number in range(1000)]
    with pytest.raises(ValueError, match="grid and seeds must make at most 100000 trainings"):
        config.resolve(raw, files=[str(path)])


@pytest.mark.parametrize("runs", ["1e7", "1e9"])
def test_quantities_are_not_drawn_without_end(load, runs):
    styled = STYLED.replace("fixed-window-dummies", "fixed-window-dummies-drawn")
    drawn = QUANTITIES.replace("[fixed-window-dummies]", "[fixed-window-dummies-drawn]")
    assert load(styled + drawn.replace("n: 10,", "n: 10, runs: 3, seed: 0,")).of("quantities")
    with pytest.raises(ValueError, match=r"runs must be at most 1e\+06, since .* is drawn by simulation"):
        load(styled + drawn.replace("n: 10,", f"n: 10, runs: {runs}, seed: 0,"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            "n: 1e8, runs: 1e6, seed: 0",
            r"runs must be fewer, or n, slots or points smaller: .* 3e\+14 numbers",
        ),
        ("n: 10, runs: 2.5, seed: 0", "runs must be a whole number >= 2, got 2.5"),
        ("n: 10, runs: 1, seed: 0", "runs must be a whole number >= 2, got 1"),
        ("n: 10, runs: 3, seed: -1", "seed must be a whole number >= 0, got -1"),
        ("n: 10, runs: 3, seed: 1e30", r"seed must be at most 9\.0072e\+15"),
    ],
)
def test_quantities_are_drawn_in_runs_that_end(load, given, says):
    styled = STYLED.replace("fixed-window-dummies", "fixed-window-dummies-drawn")
    drawn = QUANTITIES.replace("[fixed-window-dummies]", "[fixed-window-dummies-drawn]")
    with pytest.raises(ValueError, match=says):
        load(styled + drawn.replace("n: 10,", f"{given},"))


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
