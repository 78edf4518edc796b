"""What a figure of bounds shows is what its tables and its settings say."""

import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import colors

from shuffledp.accountants.systems import dependent_variable
from shuffledp.records import tables
from shuffledp.reproduction.figures.bounds import draw_bounds
from shuffledp.reproduction.figures.numbers import power_of_ten

# Titles give three digits.
THREE_DIGITS = 0.006
SYMBOLS = {"n": "n", "k": "k", "eps0": r"\epsilon_0", "rounds": "T", "delta": r"\delta"}
OF_OTHERS = {
    r"\mathrm{categories}": "categories",
    r"\sigma": "sigma",
    r"\delta_0": "delta0",
    "m": "slots",
    "p_0": "participation",
}
STYLES = {
    "one": {"color": "#0072b2", "line": "solid", "label": "the one"},
    "other": {"color": "#d55e00", "line": "dotted", "label": "the other"},
}


def curve(variable="rounds", **columns):
    """Return a table as accountants.evaluation gives it, with one column along an axis and epsilon."""
    fixed = {"n": 1e6, "k": 1e3, "eps0": 2.0, "rounds": 1e5, "delta": 1e-8}
    table = {**fixed, variable: np.array([10.0, 100.0, 1000.0]), "epsilon": np.array([0.1, 0.3, 1.0])}
    return pd.DataFrame({**table, **columns})


@pytest.fixture(scope="session")
def asked(shipped, shipped_figure):
    """The parameters that the job of a shipped figure is asked to draw."""
    return shipped.product(shipped_figure).parameters


@pytest.fixture(scope="session")
def drawn(root, asked):
    """A shipped figure, drawn from the tracked tables as its job does, and these tables."""
    panels = {
        name: {
            accountant: tables.read_table(root / path) for accountant, path in asked["panels"][name]["curves"]
        }
        for name in asked["order"]
    }
    variables = {name: panel["variable"] for name, panel in asked["panels"].items()}
    return draw_bounds(panels, variables=variables, styles=asked["styles"]), panels


def panel_axes(figure):
    return [axis for axis in figure.axes if axis.lines]


def test_shipped_figures_show_the_tables(drawn, asked):
    figure, panels = drawn
    axes = panel_axes(figure)
    assert len(axes) == len(panels)
    for axis, (name, curves) in zip(axes, panels.items(), strict=True):
        assert len(axis.lines) == len(curves) > 1
        for line, table in zip(axis.lines, curves.values(), strict=True):
            variable = asked["panels"][name]["variable"]
            assert (table[dependent_variable(variable)] > 0).all()
            np.testing.assert_array_equal(line.get_xdata(), table[variable])
            np.testing.assert_array_equal(line.get_ydata(), table[dependent_variable(variable)])


def test_shipped_figures_have_the_looks_of_the_configuration(drawn, asked):
    figure, panels = drawn
    names = {"solid": "-", "dashed": "--", "dashdot": "-.", "dotted": ":"}
    for axis, curves in zip(panel_axes(figure), panels.values(), strict=True):
        for line, accountant in zip(axis.lines, curves, strict=True):
            look = asked["styles"][accountant]
            assert colors.to_hex(line.get_color()) == look["color"].lower()
            assert line.get_linestyle() == names.get(look["line"], "--")  # what is no name is dashed
            assert line.get_label() == look["label"]
        looks = [asked["styles"][accountant] for accountant in curves]
        assert len({(look["color"], look["line"], look.get("marker")) for look in looks}) == len(looks)


def test_shipped_figures_have_one_legend_in_the_order_of_the_configuration(drawn, asked, shipped_figure):
    figure, _ = drawn
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    wanted = [asked["styles"][name]["label"] for name in shipped_figure.looks]
    assert labels == list(dict.fromkeys(wanted))
    assert all(axis.get_legend() is None for axis in figure.axes)


def test_axes_are_logarithmic_and_labelled(drawn, asked):
    figure, panels = drawn
    axes = panel_axes(figure)
    for axis, (name, curves) in zip(axes, panels.items(), strict=True):
        variable = asked["panels"][name]["variable"]
        values = np.concatenate([table[dependent_variable(variable)] for table in curves.values()])
        decade = values.max() >= 10 * values.min()
        assert axis.get_xscale() == ("linear" if variable == "epsilon" else "log")
        assert axis.get_yscale() == ("log" if decade else "linear")
        assert axis.get_xlabel()
    assert (r"\delta" if variable == "epsilon" else r"\epsilon") in axes[0].get_ylabel()


def settings_in(title):
    """Return the settings that a title states, as numbers by name."""
    names = {symbol: name for name, symbol in SYMBOLS.items()} | {r"\gamma": "gamma"} | OF_OTHERS
    found = {}
    for symbol, text in re.findall(r"\$([^$=]+) = ([^$]+)\$", title):
        number = re.fullmatch(r"(?:([\d.]+) \\cdot )?10\^\{(-?\d+)\}", text)
        value = float(number[1] or 1) * 10.0 ** int(number[2]) if number else float(text)
        found[names[symbol.strip()]] = value
    return found


def test_titles_of_shipped_figures_state_the_settings_of_the_configuration(drawn, shipped_figure):
    figure, panels = drawn
    for axis, name in zip(panel_axes(figure), panels, strict=True):
        first = next(curve for curve in shipped_figure.curves if curve.panel == name)
        expected = dict(first.fixed)
        if {"n", "k"} <= expected.keys():
            expected["gamma"] = expected["k"] / expected["n"]
        assert axis.get_title().startswith(f"({name}) ") == (len(panels) > 1)
        if "rate" in expected:  # which the paper calls gamma, too
            expected["gamma"] = expected.pop("rate")
        if "categories" in expected:  # the k of k-ary randomised response
            expected["k"] = expected.pop("categories")
        assert settings_in(axis.get_title()) == pytest.approx(expected, rel=THREE_DIGITS, abs=0)


@pytest.mark.parametrize("variable", SYMBOLS)
def test_titles_come_from_the_columns_of_the_table(variable):
    fixed = {"n": 2.5e6, "k": 500.0, "eps0": 0.75, "rounds": 7.0, "delta": 3e-10}
    del fixed[variable]
    table = curve(variable, **fixed)
    figure = draw_bounds({"z": {"one": table}}, variables={"z": variable}, styles=STYLES)
    (axis,) = panel_axes(figure)
    expected = dict(fixed)
    if {"n", "k"} <= fixed.keys():
        expected["gamma"] = fixed["k"] / fixed["n"]
    assert settings_in(axis.get_title()) == pytest.approx(expected, rel=THREE_DIGITS, abs=0)
    assert SYMBOLS[variable] in axis.get_xlabel()
    np.testing.assert_array_equal(axis.lines[0].get_xdata(), table[variable])


def test_what_the_paper_states_is_marked_in_the_colour_of_its_curve():
    table = curve()
    tables = {"one": table, "other": table.assign(epsilon=[0.5, 2.0, 9.0])}
    saved = {"panel": "a", "curve": "other", "at": 1000, "times": 14, "over": "one"}
    value = {"panel": "b", "curve": "one", "at": 100, "value": 0.2}
    figure = draw_bounds(
        {"a": tables, "b": tables},
        variables=dict.fromkeys("ab", "rounds"),
        styles=STYLES,
        stated=[saved, value],
    )
    left, right = panel_axes(figure)
    for axis, x, y, name in ((left, 1000, 14, "other"), (right, 100, 0.2, "one")):
        (cross,) = axis.containers
        marker = cross[0]
        assert (marker.get_xdata(), marker.get_color()) == ([x], STYLES[name]["color"])
        np.testing.assert_allclose(list(map(float, marker.get_ydata())), [y])
    (line,) = [line for line in left.lines if list(line.get_xdata()) == [1000, 1000]]
    np.testing.assert_allclose(line.get_ydata(), [1, 14])
    assert [text.get_text() for text in left.texts] == ["14\N{MULTIPLICATION SIGN}"]
    assert not right.texts
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words == [
        *("the one", "the other"),
        "stated in the paper, as so many times the curve at the foot of the line",
    ]
    (legend,) = draw_bounds({"b": tables}, variables={"b": "rounds"}, styles=STYLES, stated=[value]).legends
    assert legend.get_texts()[-1].get_text() == "stated in the paper for the curve of that colour"


def test_along_epsilon_delta_is_drawn_on_a_linear_axis():
    table = curve(epsilon=np.array([0.1, 0.5, 1.0]), delta=np.array([1e-2, 1e-5, 0.0]))
    upper = table.assign(delta=[2e-2, 3e-5, 1e-9])
    figure = draw_bounds(
        {"a": {"one": upper, "other": table}},
        variables={"a": "epsilon"},
        styles=STYLES,
        ratio=("one", "other"),
    )
    axis, strip = panel_axes(figure)
    assert (axis.get_xscale(), axis.get_yscale()) == ("linear", "log")
    assert [line.get_ydata().tolist() for line in axis.lines] == [[2e-2, 3e-5, 1e-9], [1e-2, 1e-5]]
    assert strip.lines[0].get_ydata() == pytest.approx([2, 3])
    assert "delta" not in settings_in(axis.get_title())


def test_a_strip_may_have_every_curve_relative_to_one():
    panels = {"a": {"one": curve(epsilon=[2, 4, 8]), "other": curve(epsilon=[1, 3, 2])}}
    figure = draw_bounds(panels, variables={"a": "rounds"}, styles=STYLES, relative="one")
    axis, strip = panel_axes(figure)
    assert len(axis.lines) == 2
    (line,) = strip.lines
    assert line.get_ydata() == pytest.approx([0.5, 0.75, 0.25])
    assert line.get_color() == STYLES["other"]["color"]


def test_a_ratio_is_to_the_largest_of_the_others():
    tables = {"one": [2, 4, 8], "other": [1, 3, 2], "third": [2, 1, 4]}
    panels = {"a": {name: curve(epsilon=values) for name, values in tables.items()}}
    styles = {**STYLES, "third": STYLES["one"]}
    own = {"ratio": tuple(tables), "strip_label": "one over all"}
    figure = draw_bounds(panels, variables={"a": "rounds"}, styles=styles, **own)
    _, strip = panel_axes(figure)
    assert strip.get_ylabel() == "one over all"
    assert strip.lines[0].get_ydata() == pytest.approx([1, 4 / 3, 2])


def test_points_of_epsilon_zero_are_left_out():
    table = curve(epsilon=np.array([0.0, 0.3, 1.0]))
    figure = draw_bounds({"a": {"one": table, "other": curve()}}, variables={"a": "rounds"}, styles=STYLES)
    one, other = panel_axes(figure)[0].lines
    assert one.get_xdata().tolist() == [100.0, 1000.0]
    assert one.get_ydata().tolist() == [0.3, 1.0]
    assert other.get_xdata().tolist() == [10.0, 100.0, 1000.0]
    assert table["epsilon"].tolist() == [0.0, 0.3, 1.0], "the table stays as it is"


def test_each_panel_has_its_own_curves_and_variable():
    panels = {"a": {"one": curve(), "other": curve(epsilon=[1, 2, 3])}, "b": {"other": curve("n")}}
    figure = draw_bounds(panels, variables={"a": "rounds", "b": "n"}, styles=STYLES)
    first, second = panel_axes(figure)
    assert [line.get_label() for line in first.lines] == ["the one", "the other"]
    assert [line.get_label() for line in second.lines] == ["the other"]
    assert settings_in(second.get_title())["rounds"] == 1e5
    assert "n" not in settings_in(second.get_title())


def test_the_legend_has_the_curves_of_every_panel():
    panels = {"a": {"one": curve()}, "b": {"one": curve(), "other": curve()}}
    figure = draw_bounds(panels, variables={"a": "rounds", "b": "rounds"}, styles=STYLES)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["the one", "the other"]


def test_drawing_leaves_the_settings_of_matplotlib_alone():
    before = dict(mpl.rcParams)
    draw_bounds({"a": {"one": curve()}}, variables={"a": "rounds"}, styles=STYLES)
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.5, "0.5"),
        (2.0, "2"),
        (999.0, "999"),
        (1e3, "10^{3}"),
        (1e6, "10^{6}"),
        (2.5e6, r"2.5 \cdot 10^{6}"),
        (0.002, "0.002"),
        (1e-3, "10^{-3}"),
        (1e-8, "10^{-8}"),
        (3e-10, r"3 \cdot 10^{-10}"),
        (999.9, "10^{3}"),  # not 1e+03, which mathtext would set as a sum
        (0.00099999, "10^{-3}"),
    ],
)
def test_numbers_in_titles(value, text):
    assert power_of_ten(value) == text


@pytest.mark.parametrize("common", [False, True])
def test_panels_have_one_range_of_the_y_axis_where_that_is_asked_for(common):
    high = curve(epsilon=np.array([10.0, 300.0, 1000.0]))
    panels = {"a": {"one": curve()}, "b": {"one": high}}
    figure = draw_bounds(panels, variables={"a": "rounds", "b": "rounds"}, styles=STYLES, common_y=common)
    left, right = (axis.get_ylim() for axis in panel_axes(figure))
    assert (left == right) is common
    assert left[0] <= 0.1
    assert right[1] >= 1000
