"""What a figure of accuracy against rounds shows is what its tables say."""

import numpy as np
import pandas as pd

from shuffledp.reproduction.figures.progress import draw_progress

LOOK = {"color": "#0072b2", "line": "solid", "label": "one"}
OTHER = {"color": "#d55e00", "line": "dashed", "label": "other"}


def run(*accuracy):
    return pd.DataFrame({"round": [10, 20, 40], "test_accuracy": accuracy})


def drawn(runs):
    """The lines that runs are drawn as, and the corners of their band."""
    (axis,) = draw_progress({"a": [(LOOK, runs)]}, titles={"a": "left"}).axes
    corners = [corner for band in axis.collections for corner in band.get_paths()[0].vertices]
    return [line.get_ydata() for line in axis.lines], {tuple(corner.round(6)) for corner in corners}


def test_three_runs_and_more_are_their_mean_and_a_band_of_one_deviation():
    (mean,), corners = drawn([run(0.4, 0.6, 0.8), run(0.6, 0.6, 0.9), run(0.5, 0.9, 0.7)])
    np.testing.assert_allclose(mean, [50, 70, 80])
    assert {(10, 40), (10, 60), (40, 70), (40, 90)} <= corners


def test_fewer_runs_are_drawn_as_they_are_without_a_band():
    two, corners = drawn([run(0.4, 0.6, 0.8), run(0.6, 0.6, 0.9)])
    assert corners == set()
    np.testing.assert_allclose(np.sort(two, axis=0), [[40, 60, 80], [60, 60, 90]], atol=1e-9)
    (alone,), corners = drawn([run(0.4, 0.6, 0.8)])
    assert corners == set()
    np.testing.assert_allclose(alone, [40, 60, 80])


def test_panels_have_their_lines_and_titles():
    runs = [run(0.4, 0.6, 0.8), run(0.6, 0.6, 0.9)]
    figure = draw_progress(
        {"a": [(LOOK, runs), (OTHER, runs[:1])], "b": [(OTHER, runs[1:])]}, titles={"a": "left", "b": "right"}
    )
    left, right = figure.axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["one", "other"]
    assert (left.get_title(), right.get_title()) == ("(a) left", "(b) right")
    (single,) = draw_progress({"a": [(LOOK, runs)]}, titles={"a": "left"}).axes
    assert single.get_title() == "left"


def test_what_the_paper_states_is_a_cross_or_a_line_across():
    runs = [run(0.4, 0.6, 0.8)]
    at, across = {"panel": "b", "accuracy": 90, "color": "#0072b2"}, {"panel": "a", "accuracy": 70}
    figure = draw_progress(
        {"a": [(LOOK, runs)], "b": [(OTHER, runs)]},
        titles={"a": "left", "b": "right"},
        stated=[{**at, "rounds": 40}, {**across, "color": "#d55e00"}],
    )
    left, right = figure.axes
    (cross,) = right.containers
    marker = cross[0]
    assert (marker.get_xdata(), marker.get_ydata(), marker.get_color()) == ([40], [90], "#0072b2")
    assert [text.get_text() for text in right.get_legend().get_texts()] == [
        "other",
        "stated in the paper for the line of that colour",
    ]
    line = left.lines[-1]
    assert (list(line.get_ydata()), line.get_color()) == ([70, 70], "#d55e00")
    assert "70%, stated in the paper" in line.get_label()
    assert not left.containers
