"""Large studies: the grid, its products, what is left of it, and the frontier; a mistake is one error."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shuffledp import accountants
from shuffledp.records import tables
from shuffledp.reproduction import config
from shuffledp.reproduction.figures.frontier import draw_frontier
from shuffledp.reproduction.studies.frontier import Cell, frontier, undominated
from shuffledp.training.costs import core_seconds

BASE = """\
paths: {results: results, figures: figures, ledger: docs/claims.md}
styles:
  girgis2021-upper: {color: "#0072b2", line: solid}
  clones-pld: {color: "#009e73", line: dashdot}
  check-in-pld: {color: "#009e73", line: longdash}
captions: {sweep: {frontier: {shows: What it shows.}}}
sweep:
  experiment:
    data: synthetic
    model: mnist_cnn_16
    n: 600
    delta: 1e-5
    epochs: [2, 1]
    seeds: 2
  grid:
    eps0:
      - 0.5
      - 1
    k:
      - 50
      - 100
      - 200
    randomizer:
      - name: l2_hemisphere
        clip_norm: 0.05
        learning_rates: [1, 0.5]
      - name: linf_coordinate
        clip_norm: 0.01
        learning_rates: [0.3, 0.1]
  curves:
    - girgis2021-upper
    - clones-pld
"""


@pytest.fixture
def load(tmp_path):
    def load_text(text):
        path = tmp_path / "sweep.yaml"
        path.write_text(text, encoding="utf-8")
        return config.load([path])

    return load_text


@pytest.fixture
def sweep(load):
    return load(BASE).sweep


# The grid


def test_without_a_section_there_is_no_sweep(shipped):
    assert shipped.sweep is None


def test_each_combination_is_an_experiment(sweep):
    cells = [(cell.eps0, cell.k, cell.randomizer) for cell in sweep.cells]
    assert len(cells) == len(set(cells)) == 2 * 3 * 2
    assert {cell.eps0 for cell in sweep.cells} == {0.5, 1.0}
    assert {cell.k for cell in sweep.cells} == {50, 100, 200}
    clip_norms = {"l2_hemisphere": 0.05, "linf_coordinate": 0.01}
    rates = {"l2_hemisphere": (1.0, 0.5), "linf_coordinate": (0.3, 0.1)}
    for cell in sweep.cells:
        assert (cell.n, cell.delta, cell.epochs, cell.seeds, cell.clip) == (600, 1e-5, (2, 1), 2, "norm")
        assert (cell.clip_norm, cell.learning_rates) == (
            clip_norms[cell.randomizer],
            rates[cell.randomizer],
        )


def test_points_are_spelt_as_in_paths(sweep):
    assert sweep.points[0] == {"eps0": "0.5", "k": "50", "randomizer": "l2_hemisphere"}
    assert sweep.points[-1] == {"eps0": "1", "k": "200", "randomizer": "linf_coordinate"}
    for cell, point in zip(sweep.cells, sweep.points, strict=True):
        assert cell.name == "/".join(f"{name}~{value}" for name, value in point.items())


# The products


def test_runs_are_those_of_the_cells(sweep):
    trainings = sweep.trainings("r")
    assert len(trainings) == 12 * 2
    cell, run = trainings[1]
    assert run.outputs == ("r/sweep/eps0~0.5/k~50/randomizer~l2_hemisphere/seed1.csv",)
    assert run.parameters == cell.parameters(1)
    assert len({run.record for _, run in trainings}) == 24


def test_curves_end_where_epochs_do_and_serve_all_randomisers(sweep):
    assert len(sweep.curves) == 2 * 3 * 2
    curve = next(one for one in sweep.curves if one.stem("r") == "r/sweep/eps0~1/k~200/clones-pld")
    assert (curve.variable, curve.values) == ("rounds", (3.0, 6.0, 9.0))
    assert dict(curve.fixed) == {"n": 600.0, "k": 200.0, "eps0": 1.0, "delta": 1e-5}
    assert curve.product("r").parameters["accountant"]["name"] == "clones-pld"


def test_the_frontier_reads_all_that_is_made(sweep):
    product = sweep.frontier("r")
    assert product.outputs == ("r/sweep/frontier.csv",)
    made = {path for _, run in sweep.trainings("r") for path in run.outputs}
    made |= {f"{curve.stem('r')}.csv" for curve in sweep.curves}
    assert set(product.inputs) == made
    assert len(product.inputs) == len(made)
    cell = product.parameters["cells"][-1]
    assert (cell["eps0"], cell["k"], cell["randomizer"]) == (1.0, 200, "linf_coordinate")
    assert cell["curves"]["clones-pld"] == "r/sweep/eps0~1/k~200/clones-pld.csv"
    assert cell["runs"][1] == "r/sweep/eps0~1/k~200/randomizer~linf_coordinate/seed1.csv"


def test_the_figure_is_drawn_from_the_frontier(load):
    settings = load(BASE)
    (figure,) = settings.of("frontier")
    assert settings.plotted == (), "by request alone"
    assert settings.drawable == (figure,)
    product = settings.product(figure)
    assert product.outputs == ("figures/sweep/frontier.pdf", "figures/sweep/frontier.png")
    assert product.inputs == ("results/sweep/frontier.csv",)
    assert product.parameters["randomizers"] == ["l2_hemisphere", "linf_coordinate"]
    assert [name for name, _ in product.parameters["curves"]] == ["girgis2021-upper", "clones-pld"]
    caption = figure.text(settings.results)
    for words in (
        "all 12 experiments",
        "model = mnist_cnn_16, n = 600, delta = 1e-5, clip = norm, 3 epochs, mean over seeds 0 to 1",
        "eps0 = 0.5, 1; k = 50, 100, 200.",
        "``l2_hemisphere``: clip norm 0.05, learning rate 1 for 2 epochs, 0.5 for 1 epochs.",
        ": upper bound; Theorem 3.1 of feldman2022",
        "(``clones-pld``)",
        "trained on ?.",
    ):
        assert words in caption
    assert "Choices" not in caption


def test_what_is_left_is_what_is_not_current(sweep):
    assert sweep.outlook("r", is_current=lambda path: True).startswith("sweep: 0 trainings and 0 accounting")
    line = sweep.outlook("r", is_current=lambda path: "k~50" in path or path.endswith("clones-pld.csv"))
    assert line.startswith("sweep: 16 trainings and 4 accounting jobs left, less than 0.1 core-hours")


def test_what_a_study_costs_is_the_sum_of_its_runs(root):
    """The study that is shipped, with nothing made."""
    sweep = config.load([root / "config/config.yaml", root / "config/sweep.yaml"]).sweep
    hours = sum(cell.seeds * core_seconds(cell) for cell in sweep.cells) / 3600
    line = sweep.outlook("results", is_current=lambda path: False)
    runs = sum(cell.seeds for cell in sweep.cells)
    assert line == (
        f"sweep: {runs} trainings and {len(sweep.curves)} accounting jobs left, about {hours:.1f} "
        "core-hours of training"
    )
    assert runs + len(sweep.curves) > 2000
    assert {cell.data for cell in sweep.cells} == {"mnist"}
    assert {accountants.get(name).kind for name in sweep.accountants} == {"upper", "lower"}


def test_the_smoke_study_is_tiny_and_elsewhere(root):
    names = ("config.yaml", "sweep.yaml", "sweep-smoke.yaml")
    settings = config.load([root / "config" / name for name in names])
    assert len(settings.sweep.cells) == len(settings.sweep.trainings("r")) == len(settings.sweep.curves) == 4
    assert {cell.data for cell in settings.sweep.cells} == {"synthetic"}
    assert (settings.results, settings.figures) == ("results/smoke", "figures/smoke")


# The frontier

# few values, so that there are ties
LEVELS = st.integers(0, 6).map(float)


@given(st.lists(st.tuples(LEVELS | st.just(np.inf), LEVELS), max_size=30))
def test_undominated_points_are_those_of_brute_force(pairs):
    points = np.array(pairs, dtype=float).reshape(-1, 2)
    found = undominated(points[:, 0], points[:, 1])
    expected = {
        one
        for one in pairs
        if np.isfinite(one[0])
        and not any(other != one and other[0] <= one[0] and other[1] >= one[1] for other in pairs)
    }
    kept = [pairs[index] for index in found]
    assert len(kept) == len(set(kept))
    assert set(kept) == expected
    assert kept == sorted(kept)
    assert list(found) == [pairs.index(one) for one in kept], "of equal points the first"


def cells_at_random(random, count=6):
    made = []
    for index in range(count):
        rounds = np.arange(1.0, 6.0) * (index + 1)
        runs = [pd.DataFrame({"round": rounds, "test_accuracy": random.random(5)}) for _ in range(3)]
        curves = {
            name: pd.DataFrame({"rounds": rounds, "epsilon": np.sort(random.random(5))}) for name in "ab"
        }
        made.append(Cell(0.5 + index, 10 * index, "one" if index % 2 else "other", runs, curves))
    return made


@pytest.mark.parametrize("seed", range(3))
def test_the_frontier_is_what_no_point_of_any_cell_beats(seed):
    cells = cells_at_random(np.random.default_rng(seed))
    table = frontier(cells, accountants=["b", "a"])
    assert table.columns.tolist() == [
        *("accountant", "epsilon", "accuracy", "deviation", "eps0", "k", "randomizer", "round")
    ]
    assert list(dict.fromkeys(table["accountant"])) == ["b", "a"]
    for name in "ab":
        every = []
        for cell in cells:
            values = np.stack([run["test_accuracy"] for run in cell.runs])
            for at, rounds in enumerate(cell.runs[0]["round"]):
                column = values[:, at]
                where = (cell.eps0, cell.k, cell.randomizer, rounds)
                every.append((cell.curves[name]["epsilon"][at], column.mean(), column.std(ddof=1), *where))
        expected = sorted(
            one
            for one in every
            if not any(other is not one and other[0] <= one[0] and other[1] >= one[1] for other in every)
        )
        rows = table[table["accountant"] == name].drop(columns="accountant")
        for row, one in zip(rows.itertuples(index=False), expected, strict=True):
            assert tuple(row[3:]) == one[3:]
            assert tuple(row[:3]) == pytest.approx(one[:3], rel=1e-12)


def test_a_curve_of_other_rounds_is_refused():
    (cell,) = cells_at_random(np.random.default_rng(0), count=1)
    cell.curves["a"].loc[2, "rounds"] += 1
    with pytest.raises(
        ValueError, match=r"curves must be of the rounds of the runs: 'a' is not, for eps0 = 0\.5"
    ):
        frontier([cell], accountants=["b", "a"])


def test_the_figure_has_a_line_an_accountant_and_a_marker_a_randomiser(tmp_path):
    table = frontier(cells_at_random(np.random.default_rng(1)), accountants=["a", "b"])
    tables.write_table(tmp_path / "frontier.csv", table)
    looks = {
        name: {"color": color, "line": "solid", "label": f"by {name}"}
        for name, color in (("a", "#0072b2"), ("b", "#d55e00"))
    }
    figure = draw_frontier(
        tables.read_table(tmp_path / "frontier.csv"), curves=looks, randomizers=["one", "other"]
    )
    (axis,) = figure.axes
    steps = {line.get_label(): line for line in axis.get_lines() if line.get_linestyle() != "None"}
    assert steps.keys() == {"by a", "by b"}
    for name in "ab":
        own = table[table["accountant"] == name]
        assert steps[f"by {name}"].get_drawstyle() == "steps-post", (
            "a larger epsilon allows what a smaller does"
        )
        np.testing.assert_allclose(steps[f"by {name}"].get_ydata(), 100 * own["accuracy"])
        drawn = {
            line.get_marker(): set(line.get_xdata())
            for line in axis.get_lines()
            if line.get_linestyle() == "None" and line.get_color() == looks[name]["color"]
        }
        assert len(drawn) == 2
        for marker, randomizer in zip(("o", "^"), ("one", "other"), strict=True):
            expected = own.loc[own["randomizer"] == randomizer, "epsilon"]
            assert sorted(drawn[marker]) == pytest.approx(sorted(expected), rel=1e-9)
    words = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert words == ["by a", "by b", "one", "other"]


# Mistakes: the edit that makes one, the key that is named, what is said; the line is that of the edit.

GRID = "sweep.grid"
MISTAKES = {
    "unknown randomiser": (
        "name: l2_hemisphere",
        "name: l2_hemispere",
        f"{GRID}.randomizer.0.name",
        "'l2_hemispere' is not one of ['l1_hadamard'",
    ),
    "randomiser that is not pure": (
        "name: l2_hemisphere",
        "name: gaussian",
        f"{GRID}.randomizer.0.name",
        "'gaussian' is not one of",
    ),
    "k above n": ("- 200", "- 601", f"{GRID}.k.2", "k must be at most n"),
    "eps0 of 0": ("- 0.5", "- 0", f"{GRID}.eps0.0", "0 is less than or equal to the minimum of 0"),
    "clip norm of 0": (
        "clip_norm: 0.05",
        "clip_norm: 0",
        f"{GRID}.randomizer.0.clip_norm",
        "0 is less than or equal to the minimum of 0",
    ),
    "unknown accountant": ("- clones-pld", "- clones-pdl", "sweep.curves.1", "did you mean 'clones-pld'"),
    "accountant of another system": (
        "- clones-pld",
        "- check-in-pld",
        "sweep.curves.1",
        "'check-in-pld' is for shuffled-check-in with ldp",
    ),
    "accountant without a style": (
        "- clones-pld",
        "- clones-rdp",
        "sweep.curves.1",
        "'clones-rdp' is drawn here and has no entry under styles",
    ),
    "misspelt axis": ("    eps0:", "    epsO:", f"{GRID}.epsO", "did you mean 'eps0'"),
    "misspelt setting": ("    seeds: 2", "    seed: 2", "sweep.experiment.seed", "did you mean 'seeds'"),
    "misspelt section": ("  curves:", "  curve:", "sweep.curve", "did you mean 'curves'"),
    "unknown model": (
        "model: mnist_cnn_16",
        "model: cnn",
        "sweep.experiment.model",
        "'cnn' is not one of",
    ),
    "model of features": (
        "model: mnist_cnn_16",
        "model: linear_128",
        "sweep.experiment.model",
        "'linear_128' is not one of ['mnist_cnn_16', 'mnist_cnn_32', 'logistic', 'logistic_binary']",
    ),
    "stretches without rates": (
        "epochs: [2, 1]",
        "epochs: [3]",
        "sweep.experiment.epochs",
        "epochs and learning_rates must have one entry a stretch, got 1 and 2",
    ),
}


@pytest.mark.parametrize(("old", "new", "key", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_error_that_says_where(load, tmp_path, old, new, key, words):
    assert BASE.count(old) == 1, f"{old!r} must name one place"
    text = BASE.replace(old, new)
    line = next(
        number
        for number, (one, other) in enumerate(zip(BASE.splitlines(), text.splitlines(), strict=True), 1)
        if one != other
    )
    with pytest.raises(ValueError, match=r"^configuration: ") as caught:
        load(text)
    message = str(caught.value)
    assert words in message
    assert message.endswith(f"(at {key}, {tmp_path / 'sweep.yaml'} line {line})")


def test_values_that_paths_spell_alike_are_refused(load):
    with pytest.raises(ValueError, match=r"eps0 must name each value once, .* got 0\.5 2 times"):
        load(BASE.replace("      - 0.5\n      - 1\n", "      - 0.5\n      - 0.500000000001\n"))


def test_a_randomiser_is_named_once(load):
    with pytest.raises(
        ValueError, match=r"randomizer must name each value once, .* got l2_hemisphere 2 times"
    ):
        load(BASE.replace("linf_coordinate", "l2_hemisphere"))
