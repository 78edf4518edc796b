"""Runs: what an experiment may be, checkpoints, and a kill in the middle of an epoch."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from shuffledp.convergence import girgis2021_convergence
from shuffledp.profiles.gaussian import gaussian_delta
from shuffledp.records import digest
from shuffledp.reproduction.trainings import recorded
from shuffledp.training.experiment import Experiment
from shuffledp.training.sgd import schedule

GOOD = {
    "name": "tiny",
    "data": "synthetic",
    "model": "mnist_cnn_16",
    "n": 600,
    "k": 100,
    "randomizer": "linf_coordinate",
    "clip": "coordinate",
    "clip_norm": 0.01,
    "eps0": 1.5,
    "epochs": (1, 2),
    "learning_rates": (0.3, 0.1),
}


def experiment(**changes):
    return Experiment(**{**GOOD, **changes})


def test_an_experiment_counts_its_rounds():
    found = experiment(n=650)
    assert (found.rounds_per_epoch, found.total_epochs, found.rounds) == (6, 3, 18)
    assert [schedule.learning_rate(found, epoch) for epoch in (1, 2, 3)] == [0.3, 0.1, 0.1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 601}, "k must be at most n"),
        ({"k": 0}, "k must be"),
        ({"randomizer": "laplace"}, "randomizer must be one of gaussian, l1_hadamard"),
        ({"clip": "l2"}, "clip must be one of"),
        ({"model": "resnet"}, "model must be one of"),
        ({"data": "cifar"}, "data must be one of"),
        ({"randomizer": "l2_privunit"}, "clip 'coordinate' is for randomizer 'linf_coordinate' alone"),
        ({"randomizer": "none"}, "clip must be 'none' without a randomiser"),
        ({"randomizer": "none", "clip": "none"}, "takes no clip_norm"),
        ({"eps0": None}, "needs eps0"),
        ({"eps0": 0.0}, "eps0 must be"),
        ({"randomizer": "gaussian", "clip": "norm"}, "needs delta0"),
        ({"randomizer": "gaussian", "clip": "norm", "eps0": None}, "needs noise_multiplier"),
        ({"delta0": 0.1}, "takes no delta0"),
        ({"randomizer": "gaussian", "clip": "norm", "delta0": 1.5}, "delta0 must lie in"),
        ({"epoch_rounds": 0}, "epoch_rounds must be"),
        ({"bootstrap": True}, "bootstrap is for check-in protocols alone"),
        ({"bootstrap": 1}, "bootstrap must be true or false"),
        ({"epochs": (1,)}, "epochs and learning_rates"),
        ({"epochs": (0, 1)}, "epochs must be"),
        ({"aggregate": "clt"}, "aggregate 'clt' is for randomizers l2_hemisphere and l2_privunit, got"),
        ({"projection": -1.0}, "projection must be"),
        ({"digits": (3,)}, "digits must be two or more different ones"),
        ({"digits": (3, 3)}, "digits must be two or more different ones"),
        ({"digits": (3, 10)}, "digits must be two or more different ones"),
        ({"model": "logistic_binary"}, "digits must be two for model 'logistic_binary'"),
        ({"schedule": "cosine"}, "schedule must be one of"),
        ({"schedule": "girgis2021-theorem3"}, "needs a convex loss .* a projection, an l2 randomiser"),
        ({"delta": 2.0}, "delta must"),
        ({"k": None}, "protocol 'subsampled-shuffle' needs k, got none"),
        ({"protocol": "lottery"}, "protocol must be one of subsampled-shuffle, shuffled-check-in"),
        ({"protocol": "shuffled-check-in"}, "protocol 'shuffled-check-in' needs rate, got none"),
        (
            {"protocol": "shuffled-check-in", "rate": 0.5},
            "k must be left out .* expects 300 messages a round",
        ),
        ({"protocol": "shuffled-check-in", "rate": 1.5, "k": None}, r"rate must lie in \(0, 1\)"),
        ({"rate": 0.5}, "protocol 'subsampled-shuffle' takes no rate, got 0.5; it is set by k"),
        ({"protocol": "averaged-window", "slots": 5, "participation": 0.5}, "takes no participation"),
        ({"protocol": "sliding-window", "slots": 601, "k": None}, "slots must be at most n"),
    ],
)
def test_impossible_experiments_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        experiment(**changes)


def test_what_decides_a_run():
    base = experiment().parameters(0)
    assert experiment(name="other", seeds=9, delta=1e-5).parameters(0) == base
    assert experiment(eps0=2).parameters(0) != base
    assert experiment().parameters(1) != base
    assert Experiment.from_parameters("tiny", base) == experiment()


@pytest.mark.parametrize(
    ("changes", "k", "rounds"),
    [
        ({"protocol": "shuffled-check-in", "rate": 0.1667}, 100, 6),
        ({"protocol": "shuffled-check-in", "rate": 1e-4}, 1, 600),
        ({"protocol": "fixed-window", "slots": 30, "participation": 0.5}, 1, 30),
        ({"protocol": "fixed-window", "slots": 1}, 1, 1),
        ({"protocol": "sliding-window", "slots": 30}, 1, 571),
        ({"protocol": "averaged-window", "slots": 30}, 20, 30),
    ],
)
def test_protocols_set_the_length_of_an_epoch(changes, k, rounds):
    found = experiment(k=None, **changes)
    assert (found.k, found.rounds_per_epoch, found.rounds) == (k, rounds, 3 * rounds)
    assert Experiment.from_parameters("tiny", found.parameters(0)) == found
    run = recorded.product(found, "results", 0)
    assert "shuffledp.training.sgd.checkin_sgd" in digest.modules_behind(run.modules, run.without)


GAUSSIAN = {"randomizer": "gaussian", "clip": "norm", "eps0": 2.0, "delta0": 1e-5}


def test_noise_is_calibrated_to_the_distance_of_two_clipped_gradients():
    found = experiment(**GAUSSIAN)
    # the least noise for a distance of 1 is 1.9938124 (mpmath); two gradients are 2 C apart
    assert found.noise == pytest.approx(2 * 1.993812445, rel=1e-8)
    assert gaussian_delta(eps=2.0, noise=found.noise / 2) < 1e-5
    assert found.noise == float(f"{found.noise:.10g}")
    request = found.parameters(0)
    assert request["noise_multiplier"] == found.noise
    assert Experiment.from_parameters("tiny", request) == found
    given = experiment(randomizer="gaussian", clip="norm", eps0=None, noise_multiplier=0.7)
    assert given.noise == 0.7
    assert experiment().noise is None


def test_an_epoch_may_have_rounds_of_its_own():
    found = experiment(epoch_rounds=4)
    assert (found.rounds_per_epoch, found.rounds) == (4, 12)
    assert [schedule.step(found, index, dimension=13_706) for index in (3, 4)] == [0.3, 0.1]
    assert Experiment.from_parameters("tiny", found.parameters(0)) == found


THEOREM3 = {
    "model": "logistic_binary",
    "digits": (3, 8),
    "randomizer": "l2_hemisphere",
    "clip": "norm",
    "clip_norm": 20.0,
    "projection": 1.0,
    "regularization": 0.01,
    "schedule": "girgis2021-theorem3",
    "learning_rates": (1.0, 0.5),
}


def test_steps_of_theorem_3():
    found = experiment(**THEOREM3)
    stated = girgis2021_convergence(10, n=600, delta=1e-5, diameter=2, **found.theorem3)
    steps = [schedule.step(found, index, dimension=785) for index in range(9)]
    assert steps[0] == pytest.approx(stated.first_step)
    assert steps[3] == pytest.approx(stated.first_step / 2)
    assert steps[8] == pytest.approx(0.5 * stated.first_step / 3), "the second stretch halves them"
    assert Experiment.from_parameters("tiny", found.parameters(0)) == found
    plain = experiment()
    assert [schedule.step(plain, index, dimension=13_706) for index in (0, 5, 6, 17)] == [0.3, 0.3, 0.1, 0.1]


def test_training_imports_no_torch_until_it_runs():
    script = (
        "import sys; import shuffledp.reproduction.config, shuffledp.training.data.datasets; "
        "import shuffledp.randomizers.registry; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


# --- with torch


def runs():
    pytest.importorskip("torch")
    from shuffledp.training import runs as module

    return module


def without_seconds(history):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in history]


NORM = {"randomizer": "l2_hemisphere", "clip": "norm"}


@pytest.mark.parametrize("changes", [{}, NORM], ids=["coordinate", "l2"])
def test_a_run_that_stops_goes_on_where_it_was(changes, tmp_path):
    module = runs()
    setting = experiment(**changes)
    data = module.load(setting, root=None, on=module.device("cpu"))
    whole = module.train(setting, seed=0, data=data)
    checkpoint = tmp_path / "deep" / "run.pt"

    def stop(row):
        if row["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        module.train(setting, seed=0, data=data, checkpoint=checkpoint, report=stop)
    shown = []
    resumed = module.train(setting, seed=0, data=data, checkpoint=checkpoint, report=shown.append)
    assert without_seconds(resumed) == without_seconds(whole)
    assert [row["epoch"] for row in shown] == [1, 2, 3]
    seconds = [row["seconds"] for row in resumed]
    assert seconds == sorted(seconds)
    # of another run: begins at the beginning
    other = module.train(setting, seed=1, data=data, checkpoint=checkpoint, identity="another")
    assert without_seconds(other) == without_seconds(module.train(setting, seed=1, data=data))


def test_a_damaged_checkpoint_is_named(tmp_path):
    module = runs()
    setting = experiment()
    data = module.load(setting, root=None, on=module.device("cpu"))
    checkpoint = tmp_path / "run.pt"
    checkpoint.write_bytes(b"PK half a file")
    with pytest.raises(ValueError, match=r"run\.pt is no checkpoint .*delete it"):
        module.train(setting, seed=0, data=data, checkpoint=checkpoint)
    torch = pytest.importorskip("torch")
    for content in ([1, 2], {"identity": "", "state": {}}):
        torch.save(content, checkpoint)
        with pytest.raises(ValueError, match=r"run\.pt is no checkpoint .*delete it"):
            module.train(setting, seed=0, data=data, checkpoint=checkpoint)


def test_excess_risk_is_a_column_of_runs_by_theorem_3(tmp_path):
    module = runs()
    setting = experiment(**THEOREM3)
    data = module.load(setting, root=None, on=module.device("cpu"))
    assert set(data.train_labels.tolist()) == {0, 1}
    history = module.train(setting, seed=0, data=data)
    assert all(row["excess_risk"] > 0 for row in history)
    short = experiment(**{**THEOREM3, "clip_norm": 1.0})
    with pytest.raises(ValueError, match=r"clip_norm must be at least 1\d\."):
        module.train(short, seed=0, data=data)


@pytest.mark.slow
def test_the_gaussian_limit_learns_as_the_sum_does():
    """Accuracies of two ways to draw the same law differ by no more than those of two seeds do."""
    module = runs()
    accuracy = {}
    for aggregate in ("sum", "clt"):
        setting = experiment(
            **NORM,
            model="logistic",
            aggregate=aggregate,
            n=2000,
            k=500,
            clip_norm=1.0,
            eps0=4.0,
            epochs=(3, 3),
            learning_rates=(0.3, 0.1),
        )
        data = module.load(setting, root=None, on=module.device("cpu"))
        ends = [module.train(setting, seed=seed, data=data)[-1]["test_accuracy"] for seed in range(6)]
        accuracy[aggregate] = np.array(ends)
    assert accuracy["sum"].mean() > 0.3, "it learns, where guessing has a tenth"
    noise = np.sqrt(sum(each.var(ddof=1) / each.size for each in accuracy.values()))
    assert abs(accuracy["sum"].mean() - accuracy["clt"].mean()) < 4 * noise


def test_devices():
    module = runs()
    assert module.device("cpu").type == "cpu"
    with pytest.raises(ValueError, match="device must be one of"):
        module.device("tpu")


def command(root, folder, *, epochs):
    layer = folder / "layer.yaml"
    layer.write_text(
        "training: {experiments: {girgis2021-fig3: "
        f"{{data: synthetic, n: 1200, k: 200, epochs: [1, {epochs - 1}]}}}}}}\n"
    )
    files = [str(root / "config/config.yaml"), str(layer)]
    options = [part for name in files for part in ("--config", name)]
    return [
        *(sys.executable, "-m", "shuffledp", "train", "girgis2021-fig3", "--seed", "3", "--device", "cpu"),
        *("--out", "results", *options),
    ]


def environment(root):
    return {**os.environ, "PYTHONPATH": str(root / "workflow")}


@pytest.mark.slow
def test_hard_case_f1_kill_in_the_middle_of_an_epoch(root, tmp_path):
    """kill -9 as soon as some epoch's checkpoint is there; the next run ends in the same table."""
    pytest.importorskip("torch")
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for folder in (killed, whole):
        folder.mkdir()
    started = subprocess.Popen(
        command(root, killed, epochs=20), cwd=killed, env=environment(root), stderr=subprocess.PIPE, text=True
    )
    for line in started.stderr:
        if "epoch 3/" in line:
            break
    time.sleep(0.05)
    started.send_signal(signal.SIGKILL)
    started.communicate()
    assert started.returncode == -signal.SIGKILL
    assert not (killed / "results/seed3.csv").exists()
    # a kill while one is written leaves half a one too, under a hidden name
    (checkpoint,) = (killed / "resources/checkpoints").glob("[!.]*.pt")
    for folder in (killed, whole):
        done = subprocess.run(
            command(root, folder, epochs=20),
            cwd=folder,
            env=environment(root),
            capture_output=True,
            text=True,
            check=True,
        )
        assert "written" in done.stdout
    tables = [
        pd.read_csv(folder / "results/seed3.csv").drop(columns="seconds").to_csv()
        for folder in (killed, whole)
    ]
    assert tables[0] == tables[1]
    assert tables[0].count("\n") == 21
    assert not checkpoint.exists()
    again = subprocess.run(
        command(root, killed, epochs=20),
        cwd=killed,
        env=environment(root),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "up to date" in again.stdout
