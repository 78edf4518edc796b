"""Learning rates are tried on training images that no client holds, and on no test image."""

import math
from dataclasses import replace

import numpy as np
import pytest

from shuffledp.records import tables
from shuffledp.reproduction.trainings.learning_rates import SEED, Tuning
from shuffledp.training.experiment import Experiment

SETTING = {
    "name": "tiny",
    "data": "synthetic",
    "model": "logistic",
    "n": 600,
    "protocol": "shuffled-check-in",
    "rate": 0.1,
    "randomizer": "none",
    "clip": "none",
    "epochs": (4, 4),
    "learning_rates": (0.3, 0.1),
}


def tuned(**changes):
    plan = {"learning_rates": (1e-4, 0.3, 1e6), "epochs": 2, "held_out": 100}
    return Tuning(experiment=Experiment(**{**SETTING, **changes}), **plan)


def test_tries_differ_in_the_learning_rate_alone():
    found = tuned()
    assert [entry.learning_rates for entry in found.tries] == [(1e-4,), (0.3,), (1e6,)]
    assert {(entry.n, entry.k, entry.rate, entry.epochs) for entry in found.tries} == {(500, 50, 0.1, (2,))}
    assert {entry.n for entry in tuned(n=10**6, rate=1e-4, bootstrap=True).tries} == {10**6}
    assert {entry.k for entry in tuned(protocol="subsampled-shuffle", rate=None, k=60).tries} == {60}
    with pytest.raises(ValueError, match="held_out must be less than the 600"):
        Tuning(experiment=found.experiment, learning_rates=(1.0,), epochs=1, held_out=600)
    assert tuned(seeds=3).product("r").request() == found.product("r").request()
    assert found.product("r").outputs == ("r/tuning/tiny.csv",)


@pytest.mark.parametrize(
    ("protocol", "setting", "k", "of_tries"),
    [
        ("subsampled-shuffle", {"k": 60}, 60, 60),
        ("shuffled-check-in", {"rate": 0.1}, 60, 50),
        ("fixed-window", {"slots": 30, "participation": 0.5}, 1, 1),
        ("sliding-window", {"slots": 30}, 1, 1),
        ("averaged-window", {"slots": 60}, 10, 8),
    ],
)
def test_fewer_clients_send_what_the_protocol_has_them_send(protocol, setting, k, of_tries):
    found = tuned(**{"rate": None, "protocol": protocol, **setting})
    assert found.experiment.k == k
    assert {(entry.n, entry.k) for entry in (*found.tries, *found.longest)} == {(500, of_tries)}


def test_the_best_rate_is_found_without_the_test_images(tmp_path, monkeypatch, capsys):
    torch = pytest.importorskip("torch")
    from shuffledp.reproduction.trainings import tries, tuning
    from shuffledp.training import runs

    data = runs.load(tuned().experiment, root=None, on=runs.device("cpu"))
    parts = tries.split(data, 100, seed=SEED)
    assert parts.test_images.shape[0] == 100
    rows = torch.cat([parts.train_images, parts.test_images]).flatten(1).sum(1).sort().values
    torch.testing.assert_close(rows, data.train_images.flatten(1).sum(1).sort().values)
    blind = runs.Data(data.train_images, data.train_labels, data.test_images[:0], data.test_labels[:0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs, "load", lambda *arguments, **named: blind)
    said = []
    setting = {"results": "r", "device": "cpu", "threads": 1, "root": None, "say": said.append}
    tuning.make(tuned(), **setting)
    table = tables.read_table("r/tuning/tiny.csv")
    assert table["learning_rate"].tolist() == [1e-4, 0.3, 1e6]
    assert table["accuracy"][1] > table["accuracy"][0] + 0.2
    assert math.isnan(table["accuracy"][2]), "it diverges"
    (expected,) = [
        runs.train(entry, seed=SEED, data=parts)[-1]["test_accuracy"] for entry in tuned().tries[1:2]
    ]
    assert table["accuracy"][1] == expected
    assert np.isfinite(table["best"][:2]).all()
    tuning.make(tuned(), **setting)
    assert said[-1] == "r/tuning/tiny.csv is up to date"
    assert capsys.readouterr().err.startswith("tuning tiny: 3 runs, some ")


@pytest.fixture
def done(monkeypatch):
    """The indices of the rounds that are trained, as they are."""
    pytest.importorskip("torch")
    from shuffledp.training.sgd import checkin_sgd

    counted, indices = checkin_sgd.CheckInSgd.round, []

    def counting(run, index, **setting):
        indices.append(index)
        return counted(run, index, **setting)

    monkeypatch.setattr(checkin_sgd.CheckInSgd, "round", counting)
    return indices


def test_tries_that_were_killed_go_on(tmp_path, monkeypatch, done):
    from shuffledp.reproduction.trainings import tuning

    monkeypatch.chdir(tmp_path)
    plan = Tuning(experiment=tuned().experiment, learning_rates=(0.1, 0.3), epochs=2, held_out=100)

    def killed(line):
        if "0.3" in line:
            raise KeyboardInterrupt

    setting = {"device": "cpu", "threads": 1, "root": None}
    with pytest.raises(KeyboardInterrupt):
        tuning.make(plan, results="r", say=killed, **setting)
    assert not list(tmp_path.glob("r/tuning/*"))
    rounds = len(done)
    tuning.make(plan, results="r", say=str, **setting)
    assert len(done) == rounds, "both tries had ended"
    assert not list(tmp_path.glob("resources/checkpoints/*"))
    tuning.make(plan, results="whole", say=str, **setting)
    assert len(done) == 2 * rounds
    assert (tmp_path / "r/tuning/tiny.csv").read_bytes() == (tmp_path / "whole/tuning/tiny.csv").read_bytes()


def test_a_try_goes_on_to_a_longer_stage_as_if_it_had_been_so_long_at_once(tmp_path, done):
    from shuffledp.reproduction.trainings import tries, tuning
    from shuffledp.training import runs

    plan = Tuning(
        experiment=tuned().experiment, learning_rates=(1e-4, 0.1, 0.3), epochs=2, held_out=100, halving=True
    )
    data = runs.load(plan.experiment, root=None, on=runs.device("cpu"))
    checkpoints = [tmp_path / str(at) for at in range(3)]
    rows = tuning.tune(plan, data=data, checkpoints=checkpoints, identity="", say=str)
    assert [row["epochs"] for row in rows] == [2, 8, 8]
    halved = len(done)
    parts = tries.split(data, plan.held_out, seed=SEED)
    for row, entry in zip(rows, plan.tries, strict=True):
        whole = runs.train(replace(entry, epochs=(row["epochs"],)), seed=SEED, data=parts)
        assert row["accuracy"] == tries.result(entry.learning_rates[0], whole)["accuracy"]
    assert len(done) == 2 * halved, "no round was trained twice"


def test_no_more_images_are_held_out_than_there_are(tmp_path):
    pytest.importorskip("torch")
    from shuffledp.reproduction.trainings import tuning
    from shuffledp.training import runs

    data = runs.load(tuned().experiment, root=None, on=runs.device("cpu"))
    plan = Tuning(
        experiment=Experiment(**{**SETTING, "n": 10**6, "rate": 1e-4, "bootstrap": True}),
        learning_rates=(0.3,),
        epochs=1,
        held_out=600,
    )
    with pytest.raises(ValueError, match="held_out must be less than the 600 training images, got 600"):
        tuning.tune(plan, data=data, checkpoints=[tmp_path / "0.pt"], identity="", say=print)


def test_halving_keeps_the_better_half_for_twice_as_long():
    experiment = Experiment(**{**SETTING, "epochs": (10, 6)})
    rates = tuple(range(1, 9))
    plan = Tuning(experiment=experiment, learning_rates=rates, epochs=2, held_out=9, halving=True)
    assert plan.stages == ((8, 2), (4, 4), (2, 16))
    assert sorted(entry.total_epochs for entry in plan.longest) == [2] * 4 + [4] * 2 + [16] * 2
    three = Tuning(experiment=experiment, learning_rates=(1, 2, 3), epochs=4, held_out=9, halving=True)
    assert three.stages == ((3, 4), (2, 16))
    assert three.product("r").request() != tuned().product("r").request()
    with pytest.raises(ValueError, match="halving needs three or more"):
        Tuning(experiment=experiment, learning_rates=(1, 2), epochs=4, held_out=9, halving=True)
    with pytest.raises(ValueError, match="got 8 for 8 rates, which lead to 16"):
        Tuning(experiment=experiment, learning_rates=rates, epochs=8, held_out=9, halving=True)


def test_halving_finds_the_best_rate_of_a_long_run(tmp_path, monkeypatch):
    """A noisy quadratic, on which a rate r comes near the minimum like exp(-r t) and stays r/2 away from it:
    the highest is the best at first, the one below it in the end."""
    pytest.importorskip("torch")
    from shuffledp.reproduction.trainings import tries, tuning
    from shuffledp.training import runs
    from shuffledp.training.sgd import cldp_sgd

    rates, trained = (0.01, 0.04, 0.16, 0.64, 1e3), []

    def train(entry, *, seed, data, checkpoint, identity):
        (rate,), epochs = entry.learning_rates, entry.total_epochs
        trained.append((rate, epochs))
        if rate > 2:
            raise cldp_sgd.DivergenceError("round 1")
        return [{"test_accuracy": 1 - math.exp(-rate * t) - rate / 2} for t in range(1, epochs + 1)]

    monkeypatch.setattr(runs, "train", train)
    monkeypatch.setattr(tries, "split", lambda data, held_out, *, seed: data)
    experiment = Experiment(**{**SETTING, "epochs": (128,), "learning_rates": (1,)})
    plan = Tuning(experiment=experiment, learning_rates=rates, epochs=8, held_out=9, halving=True)
    said = []
    rows = tuning.tune(
        plan, data=None, checkpoints=[tmp_path / str(at) for at in range(5)], identity="", say=said.append
    )
    assert [count for count, _ in plan.stages] == [5, 3, 2]
    short = {rate: 1 - math.exp(-rate * 8) - rate / 2 for rate in rates[:4]}
    assert max(short, key=short.get) == 0.64
    long = [row for row in rows if row["epochs"] == 128]
    assert {row["learning_rate"] for row in long} == {0.16, 0.64}
    assert max(long, key=lambda row: row["accuracy"])["learning_rate"] == 0.16
    assert math.isnan(rows[4]["accuracy"])
    assert sum(epochs for _, epochs in trained) == 5 * 8 + 3 * 16 + 2 * 128
