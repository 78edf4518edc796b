"""Values that no axis can show stop no figure: the others are drawn, and these marked and counted."""

import io
import logging
import warnings

import numpy as np
import pandas as pd
import pytest

from shuffledp.profiles import shuffled_gaussian
from shuffledp.reproduction.figures.accuracy import draw_accuracy
from shuffledp.reproduction.figures.bounds import draw_bounds
from shuffledp.reproduction.figures.convergence import draw_convergence
from shuffledp.reproduction.figures.frontier import draw_frontier
from shuffledp.reproduction.figures.progress import draw_progress
from shuffledp.reproduction.figures.quantities import draw_quantities
from shuffledp.reproduction.figures.simulation import draw_simulation
from shuffledp.reproduction.studies.frontier import Cell, frontier

LOOK = {"color": "#0072b2", "line": "solid", "label": "the one"}
OTHER = {"color": "#d55e00", "line": "dashed", "label": "the other"}
ROUNDS = np.array([10.0, 100.0, 1000.0, 10000.0])
SETTING = {"n": 1e6, "k": 1e3, "eps0": 2.0, "delta": 1e-8}


def bounds(values, variable="rounds", ratio=None, beside=None):
    given = {**SETTING, "rounds": ROUNDS}
    table = pd.DataFrame({**given, "epsilon": values})
    if variable == "epsilon":
        table = pd.DataFrame({**given, "rounds": 10.0, "epsilon": [0.1, 0.2, 0.3, 0.4], "delta": values})
    answer = "delta" if variable == "epsilon" else "epsilon"
    other = table.assign(**{answer: values if beside is None else beside})
    curves = {"one": table, "two": other}
    styles = {"one": LOOK, "two": OTHER}
    return draw_bounds({"a": curves}, variables={"a": variable}, styles=styles, ratio=ratio)


def accuracy(values, scale):
    table = pd.DataFrame({"one": values, "accuracy": [0.1, 0.5, 0.7, 0.8], "deviation": 0.01, "seeds": 3})
    panels = {"a": table, "b": table.assign(one=[1.0, 2.0, 3.0, 4.0])}
    titles = {"a": "x", "b": "y"}
    return draw_accuracy(panels, titles=titles, curves={"one": LOOK}, x_scale=scale)


def progress(values):
    run = pd.DataFrame({"round": ROUNDS, "test_accuracy": values})
    return draw_progress({"a": [(LOOK, [run])]}, titles={"a": "x"})


def convergence(values):
    theorem = {"n": 12_000, "k": 1100, "delta": 1e-5, "eps0": 2.0, "dimension": 785, "lipschitz": 16.0}
    runs = [pd.DataFrame({"round": ROUNDS, "excess_risk": values})] * 2
    return draw_convergence(runs, theorem={**theorem, "diameter": 2.0, "norm": 2})


def quantities(values, line):
    table = pd.DataFrame({"slots": ROUNDS, "value": values, "error": 0.01})
    look = {**LOOK, "line": line}
    return draw_quantities(
        {"a": {"one": table}},
        variables={"a": "slots"},
        axes={"a": ("x", "y")},
        titles={"a": "t"},
        styles={"one": look},
    )


def simulation(values):
    eps = np.array([0.1, 0.2, 0.3, 0.4])
    exact = np.asarray(shuffled_gaussian(eps, n=2, sigma=2.0, direction="forward", bound="upper"))
    tables = [
        pd.DataFrame(
            {
                "n": 2,
                "sigma": 2.0,
                "sampling": sampling,
                "epsilon": eps,
                "estimate": values,
                "standard_error": 0.1 * exact,
                "points": 1e4,
            }
        )
        for sampling in ("uniform", "zeros", "one")
    ]
    return draw_simulation([pd.concat(tables, ignore_index=True)])


def best(values):
    runs = [pd.DataFrame({"round": ROUNDS, "test_accuracy": [0.1, 0.5, 0.7, 0.8]})]
    curve = pd.DataFrame({"rounds": ROUNDS, "epsilon": values})
    cell = Cell(eps0=2.0, k=10, randomizer="gaussian", runs=runs, curves={"one": curve})
    table = frontier([cell], accountants=["one"])
    assert len(table), "a table without rows is none"
    return draw_frontier(table, curves={"one": LOOK}, randomizers=["gaussian"])


FIGURES = {
    "bounds": bounds,
    "bounds along epsilon": lambda values: bounds(values, "epsilon"),
    "bounds with ratio": lambda values: bounds(values, ratio=("one", "two")),
    "ratio over finite": lambda values: bounds(values, ratio=("one", "two"), beside=[0.1, 0.2, 0.3, 0.4]),
    "ratio under finite": lambda values: bounds(values, ratio=("two", "one"), beside=[0.1, 0.2, 0.3, 0.4]),
    "accuracy": lambda values: accuracy(values, "linear"),
    "accuracy, logarithmic": lambda values: accuracy(values, "log"),
    "progress": progress,
    "convergence": convergence,
    "quantities": lambda values: quantities(values, "solid"),
    "estimates of quantities": lambda values: quantities(values, "points"),
    "simulation": simulation,
    "frontier": best,
}
VALUES = {
    "infinite": [np.inf] * 4,
    "nan": [np.nan] * 4,
    "zero": [0.0] * 4,
    "negative": [-1.0] * 4,
    "one of each": [0.1, 0.0, np.inf, np.nan],
    "one finite": [0.1, np.inf, np.inf, np.inf],
    "mostly finite": [0.1, 0.2, np.inf, 0.4],
}
LINEAR_ZERO = ("accuracy", "progress")  # where a zero is a point like any other


# Each kind of figure with one of the two mixtures, and with one kind of value alone, another for each.
MIXED = ("one of each", "mostly finite")
DRAWN = [
    pytest.param(
        *(figure, values),
        id=f"{figure}-{name}",
        marks=[] if name == MIXED[place % 2] or (at - place) % 7 == 0 else pytest.mark.slow,
    )
    for place, figure in enumerate(FIGURES)
    for at, (name, values) in enumerate(VALUES.items())
]


@pytest.mark.parametrize(("figure", "values"), DRAWN)
def test_a_figure_is_drawn_whatever_is_in_its_tables(figure, values, caplog):
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING, "shuffledp"):
        warnings.simplefilter("error")
        drawn = FIGURES[figure](values)
        drawn.savefig(io.BytesIO(), format="png", dpi=20)
    if figure == "frontier" and np.isfinite(values).any():
        return  # what is not finite is no point of a frontier
    told = "\n".join(caplog.messages)
    linear = figure in LINEAR_ZERO
    missing = {
        "infinite": np.isinf(values).any(),
        "nan": np.isnan(values).any(),
        "zero": not linear and 0.0 in values,
        "negative": not linear and -1.0 in values,
    }
    notes = " ".join(text.get_text() for axis in drawn.axes for text in axis.texts)
    for reason, there in missing.items():
        if there:
            assert reason in told
            assert reason in notes
    if not any(missing.values()):
        assert not told


def test_what_is_left_out_is_counted_by_curve_and_marked_where_it_is(caplog):
    figure = bounds([0.1, 0.0, np.inf, np.inf], beside=[0.1, 0.2, 0.3, 0.4])
    assert caplog.messages == ["panel a, one: 3 of 4 points are not drawn: 2 infinite, 1 zero"]
    (axis,) = figure.axes
    marks = {tuple(map(float, xy)) for one in axis.collections for xy in one.get_offsets()}
    assert {x for x, y in marks if y > 0.9} == {1000.0, 10000.0}
    assert {x for x, y in marks if y < 0.1} == {100.0}
    assert [text.get_text() for text in axis.texts] == ["not drawn: ▲ infinite, ▼ zero"]


def test_the_note_has_the_marks_that_are_drawn():
    """Along the horizontal axis they point to the sides."""
    left, _ = accuracy([0.0, 0.1, np.inf, np.inf], "log").axes
    (note,) = left.texts
    assert note.get_text() == "not drawn: ▶ infinite, ◀ zero\n○ finite up to here"


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([0.1, 0.2, np.inf, np.inf], [(100.0, 0.2)]),
        ([0.1, np.inf, 0.3, 0.4], [(10.0, 0.1)]),
        ([np.inf, 0.2, 0.3, 0.4], []),  # it begins there, and does not end
        ([0.1, 0.2, 0.3, 0.0], []),  # a bound that is 0 has not run out
        ([0.1, 0.2, 0.3, np.nan], []),
    ],
)
def test_a_ring_marks_where_a_curve_ends_since_what_follows_is_infinite(values, ends):
    figure = bounds(values, beside=[0.1, 0.2, 0.3, 0.4])
    (axis,) = figure.axes
    rings = [
        tuple(map(float, xy))
        for one in axis.collections
        if one.get_offset_transform() == axis.transData and one.get_facecolor()[0, :3].min() == 1
        for xy in one.get_offsets()
    ]
    assert rings == ends
    (note,) = axis.texts
    assert ("○ finite up to here" in note.get_text()) == bool(ends)


def test_a_figure_with_everything_finite_says_nothing(caplog):
    figure = bounds([0.1, 0.2, 0.3, 0.4])
    assert not caplog.messages
    assert not figure.axes[0].texts
