"""What a figure of accuracy against rounds shows is what its tables say."""

import numpy as np
import pandas as pd

from shuffledp.reproduction.figures.progress import draw_progress

LOOK = {"color": "#0072b2", "line": "solid", "label": "one"}
OTHER = {"color": "#d55e00", "line": "dashed", "label": "other"}


def run(*accuracy):
    return pd.DataFrame({"round": [10, 20, 40], "test_accuracy": accuracy})


def test_means_and_bands_are_drawn():
    runs = [run(0.4, 0.6, 0.8), run(0.6, 0.6, 0.9)]
    figure = draw_progress(
        {"a": [(LOOK, runs), (OTHER, runs[:1])], "b": [(OTHER, runs[1:])]}, titles={"a": "left", "b": "right"}
    )
    left, right = figure.axes
    mean, alone = left.lines
    np.testing.assert_allclose(mean.get_xdata(), [10, 20, 40])
    np.testing.assert_allclose(mean.get_ydata(), [50, 60, 85])
    np.testing.assert_allclose(alone.get_ydata(), [40, 60, 80])
    corners = {tuple(point) for point in left.collections[0].get_paths()[0].vertices.round(6).tolist()}
    assert (10, round(50 + 10 * 2**0.5, 6)) in corners
    assert (10, round(50 - 10 * 2**0.5, 6)) in corners
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["one", "other"]
    assert (left.get_title(), right.get_title()) == ("(a) left", "(b) right")
    (single,) = draw_progress({"a": [(LOOK, runs)]}, titles={"a": "left"}).axes
    assert single.get_title() == "left"
