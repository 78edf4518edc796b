"""What a figure of quantities shows is what its tables say."""

import numpy as np
import pandas as pd
import pytest

from shuffledp.reproduction.figures.quantities import draw_quantities

STYLES = {
    "exact": {"color": "#0072b2", "line": "solid", "label": "expected"},
    "drawn": {"color": "#000000", "line": "points", "label": "drawn"},
}


@pytest.fixture
def axis():
    x = np.array([1.0, 10.0, 100.0])
    tables = {
        "exact": pd.DataFrame({"slots": x, "value": [2.0, np.inf, 4.0]}),
        "drawn": pd.DataFrame({"slots": x, "value": [2.1, 0.0, 3.9], "error": [0.1, 0.0, 0.2]}),
    }
    figure = draw_quantities(
        {"a": tables},
        variables={"a": "slots"},
        axes={"a": ("slots $m$", "dummy updates")},
        titles={"a": "a window"},
        styles=STYLES,
    )
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["expected", "drawn"]
    return figure.axes[0]


def test_lines_and_points_are_the_tables_without_what_no_logarithm_shows(axis):
    line, points = axis.get_lines()[:2]
    assert line.get_xydata().tolist() == [[1, 2], [100, 4]]
    assert points.get_xydata().tolist() == [[1, 2.1], [100, 3.9]]
    assert (line.get_color(), points.get_linestyle()) == ("#0072b2", "None")


def test_bars_are_two_standard_errors(axis):
    (bars,) = axis.containers[0][2]
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    assert ends == pytest.approx(np.array([[1.9, 2.3], [3.5, 4.3]]))


def test_a_strip_shows_the_ratio_of_two_and_y_may_be_linear():
    x = np.array([1.0, 10.0, 100.0])
    tables = {
        "exact": pd.DataFrame({"slots": x, "value": [2.0, 3.0, 4.0]}),
        "drawn": pd.DataFrame({"slots": x, "value": [3.0, 3.0, 5.0]}),
    }
    figure = draw_quantities(
        {"a": tables, "b": tables},
        variables={"a": "slots", "b": "slots"},
        axes={"a": ("slots", "updates"), "b": ("slots", "updates")},
        titles={"a": "one", "b": "other"},
        styles=STYLES,
        y_scales={"a": "linear"},
        ratios={"a": ("drawn", "exact")},
    )
    first, strip, second = figure.axes
    assert strip.get_lines()[0].get_xydata().tolist() == [[1, 1.5], [10, 1], [100, 1.25]]
    assert (strip.get_ylabel(), strip.get_xlabel(), first.get_xlabel()) == ("ratio", "slots", "")
    assert [axis.get_yscale() for axis in (first, second)] == ["linear", "log"]


def test_few_decades_are_labelled_with_numbers():
    figure = draw_quantities(
        {"a": {"exact": pd.DataFrame({"slots": [1.0, 10.0], "value": [30.0, 400.0]})}},
        variables={"a": "slots"},
        axes={"a": ("slots", "norm")},
        titles={"a": "one"},
        styles={"exact": {**STYLES["exact"], "label": "one whose label is too long for half of the width"}},
    )
    figure.draw_without_rendering()
    (axis,) = figure.axes
    low, high = axis.get_ylim()
    told = [text.get_text() for text in axis.get_yticklabels() if low <= text.get_position()[1] <= high]
    assert told == ["50", "100", "200"]
    assert figure.legends[0]._ncols == 1


def test_words_are_those_of_the_configuration(axis):
    assert (axis.get_xlabel(), axis.get_ylabel(), axis.get_title()) == (
        "slots $m$",
        "dummy updates",
        "a window",
    )
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
