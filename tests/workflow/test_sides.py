"""Every tracked table of a bound holds what the accountant returns, and nothing on the wrong side of it.

Of each table a row, another one in each, so that together they go over every part of a curve.
"""

import zlib
from pathlib import Path

import numpy as np
import pytest

from shuffledp import accountants
from shuffledp.accountants import named
from shuffledp.accountants.evaluation import evaluate
from shuffledp.accountants.systems import dependent_variable
from shuffledp.records import tables
from shuffledp.reproduction import config
from shuffledp.reproduction.studies import quantities
from shuffledp.reproduction.trainings.accounting import accounting, rounds_of_one

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = config.load([ROOT / "config/config.yaml"])
RESULTS = ROOT / SETTINGS.results
CURVES = [curve for curve in SETTINGS.curves if curve.entry.kind != "estimate"]
QUANTITIES = [
    curve
    for figure in SETTINGS.of("quantities")
    for curve in figure.curves
    if quantities.get(curve.quantity).kind == "upper"
]
JOINED = [
    (panel, name)
    for figure in SETTINGS.of("accuracy", untrained=True)
    for panel in figure.panels
    for name in panel.accountants
    if accountants.get(name).kind != "estimate"
]
# What another processor's elementary functions, or fewer values in one call, may change; tables have all
# digits.
LAST_BITS = 1e-11
# The same for bounds of named randomisers, which the number of threads behind a product of matrices moves
# too.
PRODUCTS = 1e-9
# The same where epsilon hangs on a search: of one round of the shuffled Gaussian, on a root that is moved
# outward until the computed profile confirms it, by 1e-9 at first, and how often that doubles hangs on last
# bits (3e-7 was seen); of check-ins with Gaussian noise, on a guarantee of the noise that is found to 1e-9.
SEARCHED = {"shuffled-gaussian-pair": 1e-6, "shuffled-gaussian-blanket": 1e-6, "check-in-gaussian-pld": 1e-6}


slow = pytest.mark.slow


DEAR = (
    "results/liew2022/accounting/b/liew2022-lower",
    "results/liew2022/distributed/a/distributed-check-in-strong",
    "results/liew2022/fig3b_epsilon/c/privacy_utility-check-in-gaussian-pld",
)


def _a_tenth(cases, ids):
    """A tenth of the cases in the ordinary suite, and all of them in the slow one."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            id=name,
            marks=[] if at % 10 == 0 and name not in DEAR else slow,
        )
        for at, (case, name) in enumerate(zip(cases, ids, strict=True))
    ]


SHARED = "distributed-check-in"  # rounds that are asked for together share a lattice


def _table(stem):
    path = RESULTS.parent / f"{stem}.csv"
    if not path.exists():
        pytest.skip(f"{path.name} waits for a training")
    return tables.read_table(path)


def _row(stem, count):
    return zlib.crc32(stem.encode()) % count


def _is_on_its_side(written, found, kind, within=LAST_BITS):
    np.testing.assert_allclose(written, found, rtol=within, atol=0)
    # infinite on both sides is on its side
    last = np.where(np.isfinite(found), within * np.abs(found), 0.0)
    assert (written >= found - last if kind == "upper" else written <= found + last).all()


@pytest.mark.parametrize("kind", ["upper", "lower"])
def test_a_table_of_ten_digits_is_noticed(kind):
    exact = np.array([2.25408465021974, np.inf, 0.0])
    _is_on_its_side(exact, exact, kind)
    with pytest.raises(AssertionError):
        _is_on_its_side(np.array([2.25408465, np.inf, 0.0]), exact, kind)


@pytest.mark.parametrize("curve", _a_tenth(CURVES, [curve.stem("results") for curve in CURVES]))
def test_a_curve_of_bounds_is_that_of_its_accountant(curve):
    stem = curve.stem(SETTINGS.results)
    entry = named.accountant(curve.accountant, **dict(curve.randomizer))
    table, values = _table(stem), list(curve.values)
    assert table[curve.variable].tolist() == values, "the points are written to the last digit"
    together = curve.variable == "rounds" and entry.protocol == SHARED
    rows = list(range(len(values))) if together else [_row(stem, len(values))]
    found = evaluate(
        entry, variable=curve.variable, values=[values[row] for row in rows], fixed=dict(curve.fixed)
    )
    columns = {dependent_variable(curve.variable), "theorem_epsilon"} & set(found)
    for column in columns:
        within = SEARCHED.get(curve.accountant, PRODUCTS if curve.randomizer else LAST_BITS)
        _is_on_its_side(table[column].to_numpy()[rows], found[column], entry.kind, within)


@pytest.mark.parametrize("curve", _a_tenth(QUANTITIES, [curve.stem("results") for curve in QUANTITIES]))
def test_a_bound_of_a_quantity_is_that_of_its_theorem(curve):
    stem, values = curve.stem(SETTINGS.results), list(curve.values)
    row = _row(stem, len(values))
    found = quantities.evaluate(
        quantities.get(curve.quantity),
        variable=curve.variable,
        values=[values[row]],
        fixed=dict(curve.fixed),
    )
    _is_on_its_side(_table(stem)["value"].to_numpy()[[row]], np.asarray(found["value"]), "upper")


@pytest.mark.parametrize(
    ("panel", "name"), _a_tenth(JOINED, [f"{panel.stem('results')}-{name}" for panel, name in JOINED])
)
def test_epsilon_beside_an_accuracy_is_that_of_its_accountant(panel, name):
    stem, entry = panel.stem(SETTINGS.results), accountants.get(name)
    table = _table(stem)
    rows = list(range(len(table))) if entry.protocol == SHARED else [_row(f"{stem}{name}", len(table))]
    system = entry.protocol, entry.mechanism
    setting = dict(accounting(panel.experiment, distance=panel.distance)[system])
    own = {variable: setting[variable] for variable in entry.system.variables if variable in setting}
    rounds = table["round"].to_numpy(dtype=np.float64)[rows] / rounds_of_one(panel.experiment)
    told = entry.details(rounds=rounds, delta=setting["delta"], **own)
    found = np.where(np.isinf(told["theorem_epsilon"]), np.inf, told["epsilon"])
    _is_on_its_side(table[name].to_numpy()[rows], found, entry.kind, SEARCHED.get(name, LAST_BITS))
