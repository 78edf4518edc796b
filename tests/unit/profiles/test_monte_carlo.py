"""Monte Carlo estimates: right within their errors, and the same however they were computed."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from shuffledp.profiles import monte_carlo, shuffled_gaussian
from shuffledp.records import files, requests, tables
from shuffledp.records.product import Product
from shuffledp.reproduction import simulations

EPS = np.linspace(0.1, 1.0, 19)


def last(setting, **how):
    *_, sums = monte_carlo.batches(setting, **how)
    return sums


@pytest.mark.parametrize("sampling", monte_carlo.SAMPLINGS)
@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_estimates_are_within_four_standard_errors(n, sampling):
    sums = last(monte_carlo.experiment(EPS, n=n, sigma=2, points=400_000, sampling=sampling))
    lower, upper = (
        shuffled_gaussian(EPS, n=n, sigma=2, direction="forward", bound=bound) for bound in ("lower", "upper")
    )
    # where too few points have a value, neither the estimate nor its error is normal
    seen = sums.values**2 > 100 * sums.squares
    assert seen.sum() >= 6
    assert (sums.estimate >= lower - 4 * sums.standard_error)[seen].all()
    assert (sums.estimate <= upper + 4 * sums.standard_error)[seen].all()


@pytest.mark.parametrize("sampling", monte_carlo.SAMPLINGS)
def test_the_standard_error_is_that_of_repeated_estimates(sampling):
    found = [
        last(monte_carlo.experiment([0.3], n=2, sigma=1.5, points=4000, sampling=sampling, seed=seed))
        for seed in range(200)
    ]
    spread = np.std([one.estimate[0] for one in found], ddof=1)
    stated = np.mean([one.standard_error[0] for one in found])
    assert spread == pytest.approx(stated, rel=0.25)  # five standard errors of a deviation of 200 values


@pytest.mark.parametrize("sampling", monte_carlo.SAMPLINGS)
def test_neither_workers_nor_interruptions_change_anything(sampling, monkeypatch):
    monkeypatch.setattr(monte_carlo, "_NUMBERS", 3000)
    setting = monte_carlo.experiment(EPS, n=3, sigma=2, points=9500, sampling=sampling)
    assert setting.batches == 10
    whole = list(monte_carlo.batches(setting))
    assert [one.points for one in whole] == [*range(1000, 10000, 1000), 9500]
    for other in (
        last(setting, workers=3),
        last(setting, after=whole[3]),
        last(setting, after=whole[8], workers=2),
    ):
        assert other.batches == 10
        assert (other.values == whole[-1].values).all()
        assert (other.squares == whole[-1].squares).all()


def test_batches_are_the_children_of_the_seed():
    setting = monte_carlo.experiment([0.0], n=1, sigma=1, points=5, sampling="one", seed=3)
    child = np.random.SeedSequence((3, 1, 2)).spawn(1)[0]
    x = 1 + np.random.default_rng(child).standard_normal(5)
    values = np.maximum(1 - np.exp(0.5 - x), 0)
    assert last(setting).values[0] == pytest.approx(values.sum(), rel=1e-12)


def test_seeds_and_samplings_are_independent():
    found = {
        last(monte_carlo.experiment([0.1], n=2, sigma=2, points=100, sampling=one, seed=seed)).values[0]
        for one in monte_carlo.SAMPLINGS
        for seed in range(5)
    }
    assert len(found) == 15


@pytest.mark.parametrize("n", [1, 7, 1000])
def test_memory_does_not_grow_with_the_points(n):
    setting = monte_carlo.experiment([0.1, 0.5], n=n, sigma=2, points=4 * 2**20 // n, sampling="uniform")
    tracemalloc.start()
    last(setting)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"eps": [[0.1]]}, "eps must be one-dimensional"),
        ({"eps": [math.nan]}, "eps must hold finite numbers"),
        ({"n": 0}, "n must be a whole number >= 1, got 0"),
        ({"sigma": 0}, "sigma must be a finite number >= 0.1, got 0"),
        ({"points": 0}, "points must be a whole number >= 1, got 0"),
        ({"sampling": "P"}, "sampling must be one of uniform, zeros, one, got 'P'"),
        ({"half_width": -1}, "half_width must be a finite number"),
        ({"seed": -1}, "seed must be a whole number >= 0, got -1"),
    ],
)
def test_arguments_are_checked(change, message):
    given = {"eps": [0.1], "n": 2, "sigma": 2, "points": 10, **change}
    with pytest.raises(ValueError, match=f"^{message}"):
        monte_carlo.experiment(given.pop("eps"), **given)


def test_workers_are_checked():
    setting = monte_carlo.experiment([0.1], n=2, sigma=2, points=10)
    with pytest.raises(ValueError, match=r"^workers must be a whole number >= 1, got 0"):
        monte_carlo.batches(setting, workers=0)


# Tables


@pytest.fixture
def request_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(monte_carlo, "_NUMBERS", 3000)
    product = Product(
        record="table.json",
        parameters={"eps": [0.1, 0.5], "n": 3, "sigma": 2.0, "points": 9500, "half_width": 12.0, "seed": 0},
        modules=simulations.MODULES,
        outputs=("table.csv",),
    )
    return requests.stage(product, "requests")


def test_a_table_is_the_same_after_an_interruption(request_path, tmp_path):
    simulations.make(request_path, checkpoint="state.json")
    whole = (tmp_path / "table.csv").read_bytes()
    (tmp_path / "table.csv").unlink()
    reported = []

    def interrupted(done):
        reported.append(done)
        if done == 14:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulations.make(request_path, checkpoint="state.json", report=interrupted)
    assert not (tmp_path / "table.csv").exists()
    simulations.make(request_path, checkpoint="state.json", report=reported.append)
    assert reported == [*range(15), *range(14, 31)]
    assert (tmp_path / "table.csv").read_bytes() == whole
    assert not (tmp_path / "state.json").exists()


def test_a_table_has_every_sampling(request_path):
    simulations.make(request_path, checkpoint="state.json", workers=2)
    table = tables.read_table("table.csv")
    assert table.sampling.tolist() == ["uniform", "uniform", "zeros", "zeros", "one", "one"]
    assert set(table.points) == {9500}
    assert table.L.tolist()[:2] == [12, 12]
    assert table.L.isna().sum() == 4
    assert (table.standard_error > 0).all()


def test_a_checkpoint_of_another_simulation_is_not_used(request_path):
    content = {"identity": {"code": "other"}, "sums": {"one": [1, 1, [9.0, 9.0], [81.0, 81.0]]}}
    files.write_json("state.json", content)
    simulations.make(request_path, checkpoint="state.json")
    assert tables.read_table("table.csv").estimate.max() < 1
