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


def test_words_are_those_of_the_configuration(axis):
    assert (axis.get_xlabel(), axis.get_ylabel(), axis.get_title()) == (
        "slots $m$",
        "dummy updates",
        "a window",
    )
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
