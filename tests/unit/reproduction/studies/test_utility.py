"""Accuracy against epsilon: what is joined, and what is drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shuffledp import accountants
from shuffledp.reproduction.figures.accuracy import draw_accuracy
from shuffledp.reproduction.studies.accuracy_against_epsilon import privacy_utility

SETTING = {"n": 1000, "k": 100, "eps0": 2.0, "delta": 1e-5}
NAMES = ["girgis2021-upper", "clones-pld"]
LOOKS = {
    "girgis2021-upper": {"color": "#0072b2", "line": "solid", "label": "Theorem 1"},
    "clones-pld": {"color": "#009e73", "line": "dashdot", "label": "clones"},
}


def history(*accuracy):
    epochs = np.arange(1, len(accuracy) + 1)
    return pd.DataFrame({"epoch": epochs, "round": 10 * epochs, "test_accuracy": accuracy})


def test_means_deviations_and_epsilons():
    table = privacy_utility([history(0.5, 0.7), history(0.6, 0.9)], names=NAMES, **SETTING)
    assert list(table) == ["epoch", "round", "seeds", "accuracy", "deviation", *NAMES]
    assert table["accuracy"] == pytest.approx([0.55, 0.8])
    assert table["deviation"] == pytest.approx([0.1 / 2**0.5, 0.2 / 2**0.5])
    assert table["seeds"].tolist() == [2, 2]
    for name in NAMES:
        for rounds, epsilon in zip((10, 20), table[name], strict=True):
            alone = accountants.epsilon(name, **SETTING, rounds=rounds)
            assert epsilon == pytest.approx(alone, rel=1e-10)


def test_one_seed_deviates_from_nothing():
    table = privacy_utility([history(0.5, 0.7)], names=NAMES, **SETTING)
    assert table["deviation"].tolist() == [0, 0]


def test_a_window_counts_whole_as_soon_as_it_has_begun():
    own = {"slots": 10, "participation": 1.0, "eps0": 1.0, "delta": 1e-5}
    names = ["fixed-window-printed", "fixed-window-clones"]
    runs = history(0.2, 0.5, 0.7).assign(round=[10, 20, 25])
    table = privacy_utility([runs], names=names, rounds_of_one=10, **own)
    assert table["round"].tolist() == [10, 20, 25]
    for name in names:
        expected = [accountants.epsilon(name, **own, rounds=windows) for windows in (1, 2, 3)]
        assert table[name] == pytest.approx(expected, rel=1e-10)


def test_a_theorem_ends_where_delta_is_used_up_though_rounds_add_up():
    own = {"n": 10**4, "rate": 0.01, "eps0": 6.0, "delta0": 1e-8, "delta": 1e-7}
    names = ["liew2022-shuffling-conversion"]
    table = privacy_utility([history(0.5, 0.7)], names=names, **own)
    assert table[names[0]].tolist() == [np.inf, np.inf]
    assert accountants.epsilon(names[0], **own, rounds=10) == pytest.approx(60)


def test_histories_must_match():
    with pytest.raises(ValueError, match="histories must be of the same rounds"):
        privacy_utility([history(0.5, 0.7), history(0.6)], names=NAMES, **SETTING)
    with pytest.raises(ValueError, match="histories must hold one table a seed, got none"):
        privacy_utility([], names=NAMES, **SETTING)


def test_the_figure_shows_the_table():
    runs = [history(0.5, 0.7), history(0.6, 0.9), history(0.4, 0.8)]
    table = pd.DataFrame(privacy_utility(runs, names=NAMES, **SETTING))
    figure = draw_accuracy(
        {"a": table, "b": table}, titles={"a": "one", "b": "other"}, curves=LOOKS, x_scale="log", x_limit=9.0
    )
    for axis, title in zip(figure.axes, ("(a) one", "(b) other"), strict=True):
        assert axis.get_title() == title
        assert axis.get_xscale() == "log"
        assert axis.get_xlim()[1] == 9
        for line, (name, look) in zip(axis.get_lines(), LOOKS.items(), strict=True):
            np.testing.assert_allclose(line.get_xdata(), table[name])
            np.testing.assert_allclose(line.get_ydata(), 100 * table["accuracy"])
            assert line.get_label() == look["label"]
        band = axis.collections[0].get_paths()[0].vertices[:, 1]
        assert band.min() == pytest.approx(100 * (table["accuracy"] - table["deviation"]).min())
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["Theorem 1", "clones"]
    alone = draw_accuracy({"a": table}, titles={"a": "one"}, curves=LOOKS)
    assert alone.axes[0].get_title() == "one"


def test_a_panel_has_curves_of_its_own_and_the_legend_each_bound_once():
    table = pd.DataFrame(privacy_utility([history(0.5, 0.7)], names=NAMES, **SETTING))
    same = {name: {**look, "label": "one and the same"} for name, look in LOOKS.items()}
    first, second = NAMES
    figure = draw_accuracy(
        {"a": table, "b": table},
        titles={"a": "one", "b": "other"},
        curves=same,
        of_panel={"a": [first], "b": [second]},
        common_x=True,
    )
    for axis, name in zip(figure.axes, NAMES, strict=True):
        (line,) = axis.get_lines()
        np.testing.assert_allclose(line.get_xdata(), table[name])
    assert figure.axes[0].get_xlim() == figure.axes[1].get_xlim()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["one and the same"]


def test_what_the_paper_states_is_marked_with_its_deviation():
    table = pd.DataFrame(privacy_utility([history(0.5, 0.7)], names=NAMES, **SETTING))
    name, look = next(iter(LOOKS.items()))
    point = {"panel": "b", "curve": name, "epsilon": 1.4, "accuracy": 80, "deviation": 1.8}
    figure = draw_accuracy(
        {"a": table, "b": table}, titles={"a": "one", "b": "other"}, curves=LOOKS, stated=[point]
    )
    left, right = figure.axes
    assert left.containers == []
    (cross,) = right.containers
    marker, _, bars = cross
    assert (marker.get_xdata(), marker.get_ydata()) == ([1.4], [80])
    assert marker.get_color() == look["color"]
    np.testing.assert_allclose(bars[0].get_segments()[0], [[1.4, 78.2], [1.4, 81.8]])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        *(look["label"] for look in LOOKS.values()),
        "stated in the paper for the curve of that colour, with its standard deviation",
    ]
