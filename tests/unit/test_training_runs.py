"""Runs: what an experiment may be, checkpoints, and a kill in the middle of an epoch."""

import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from shuffledp import config
from shuffledp.training.experiment import Experiment

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
    assert [found.rate(epoch) for epoch in (1, 2, 3)] == [0.3, 0.1, 0.1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 601}, "k must be at most n"),
        ({"k": 0}, "k must be"),
        ({"randomizer": "laplace"}, "randomizer must be one of linf_coordinate"),
        ({"clip": "l2"}, "clip must be one of"),
        ({"model": "resnet"}, "model must be one of"),
        ({"data": "cifar"}, "data must be one of"),
        ({"randomizer": "l2_privunit"}, "clip 'coordinate' is for randomizer 'linf_coordinate' alone"),
        ({"randomizer": "none"}, "clip must be 'none' without a randomiser"),
        ({"randomizer": "none", "clip": "none"}, "takes no clip_norm"),
        ({"eps0": None}, "needs eps0"),
        ({"eps0": 0.0}, "eps0 must be"),
        ({"randomizer": "gaussian", "clip": "norm"}, "takes no eps0"),
        ({"epochs": (1,)}, "epochs and learning_rates"),
        ({"epochs": (0, 1)}, "epochs must be"),
        ({"aggregate": "clt"}, "aggregate 'clt' is for l2 randomisers"),
        ({"projection": -1.0}, "projection must be"),
        ({"delta": 2.0}, "delta must"),
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


def test_the_shipped_experiments(shipped):
    rounds = {entry.name: entry.rounds for entry in shipped.experiments}
    assert rounds["girgis2021-fig3"] == rounds["girgis2021-fig3-normclip"] == 1200
    assert rounds["girgis2021-fig6-hemisphere"] == rounds["girgis2021-fig6-privunit"] == 6000
    with pytest.raises(ValueError, match="no experiment 'girgis2021-fig7'; it has girgis2021-fig3"):
        shipped.experiment("girgis2021-fig7")


def test_a_bad_experiment_in_the_configuration_is_named_with_its_line(root, tmp_path):
    layer = tmp_path / "layer.yaml"
    layer.write_text("training:\n  experiments:\n    girgis2021-fig3:\n      k: 70000\n")
    with pytest.raises(ValueError, match=r"k must be at most n.*layer.yaml line 4"):
        config.load([root / "config/config.yaml", layer])


def test_training_imports_no_torch_until_it_runs():
    script = (
        "import sys; import shuffledp.config, shuffledp.training.datasets, shuffledp.randomizers.registry; "
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
    (checkpoint,) = (killed / "resources/checkpoints").glob("*.pt")
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
