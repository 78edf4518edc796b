"""Runs: what an experiment may be, checkpoints, and a kill in the middle of an epoch."""

import inspect
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shuffledp.accountants import systems
from shuffledp.convergence import girgis2021_convergence
from shuffledp.profiles.gaussian import gaussian_delta
from shuffledp.records import digest, files, requests
from shuffledp.reproduction import config
from shuffledp.reproduction.trainings import recorded
from shuffledp.reproduction.trainings.accounting import accounting, rounds_of_one
from shuffledp.training.costs import WITHIN, core_seconds
from shuffledp.training.experiment import Experiment
from shuffledp.training.sgd import schedule
from shuffledp.training.sgd.schedule import SAMPLING

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
        ({"randomizer": "laplace"}, "randomizer must be one of linf_coordinate"),
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
        ({"aggregate": "clt"}, "aggregate 'clt' is for l2 randomisers"),
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


def test_checks_of_arguments_make_no_run_stale():
    plain = recorded.product(experiment(), "results", 0)
    other = recorded.product(
        experiment(k=None, protocol="shuffled-check-in", rate=0.1, bootstrap=True), "results", 0
    )
    for run in (plain, other):
        assert "shuffledp.checks" in digest.modules_behind(run.modules)
        assert "shuffledp.checks" not in digest.modules_behind(run.modules, run.without)
    assert "shuffledp.training.data.population" in digest.modules_behind(other.modules, other.without)


def test_runs_that_are_made_do_not_depend_on_the_protocols(shipped):
    runs = [
        recorded.product(entry, "results", 0) for entry in shipped.experiments if entry.protocol == SAMPLING
    ]
    assert len(runs) >= 6
    new = {"protocol", "rate", "slots", "participation"}
    for run in runs:
        behind = digest.modules_behind(run.modules, run.without)
        assert not {"shuffledp.protocols", "shuffledp.training.sgd.checkin_sgd"} & set(behind)
        assert not new & set(run.parameters["experiment"])


@pytest.mark.parametrize(
    ("changes", "system", "setting"),
    [
        ({}, ("subsampled-shuffle", "ldp"), {"n": 600, "k": 100, "eps0": 1.5, "delta": 1e-5}),
        (
            {"protocol": "shuffled-check-in", "rate": 0.1, "k": None},
            ("shuffled-check-in", "ldp"),
            {"n": 600, "rate": 0.1, "eps0": 1.5, "delta": 1e-5},
        ),
        (
            {"protocol": "shuffled-check-in", "rate": 0.1, "k": None, **GAUSSIAN},
            ("shuffled-check-in", "approximate-ldp"),
            {"n": 600, "rate": 0.1, "eps0": 2.0, "delta0": 1e-5, "delta": 1e-5},
        ),
        (
            {
                **{"protocol": "shuffled-check-in", "rate": 0.1, "k": None, **GAUSSIAN},
                **{"eps0": None, "delta0": None, "noise_multiplier": 1.3},
            },
            ("distributed-check-in", "gaussian"),
            {"n": 600, "rate": 0.1, "sigma": 0.65, "delta": 1e-5},
        ),
        (
            {"protocol": "fixed-window", "slots": 10, "k": None},
            ("fixed-window", "ldp"),
            {"slots": 10, "participation": 1.0, "eps0": 1.5, "delta": 1e-5},
        ),
        (
            {"protocol": "fixed-window", "slots": 10, "participation": 0.5, "k": None},
            ("fixed-window", "ldp"),
            {"slots": 10, "participation": 0.5, "eps0": 1.5, "delta": 1e-5},
        ),
        (
            {"protocol": "sliding-window", "slots": 10, "k": None},
            ("sliding-window", "ldp"),
            {"slots": 10, "eps0": 1.5, "delta": 1e-5},
        ),
        (
            {"protocol": "averaged-window", "slots": 10, "k": None},
            ("averaged-window", "ldp"),
            {"n": 600, "slots": 10, "eps0": 1.5, "delta": 1e-5},
        ),
    ],
)
def test_the_system_that_accounts_for_an_experiment(changes, system, setting):
    found = accounting(experiment(delta=1e-5, **changes))
    assert found[system] == setting
    for each, variables in found.items():
        assert set(systems.get(*each).variables) == set(variables) - {"delta"}


@pytest.mark.parametrize(
    "changes",
    [
        {"delta": None},
        {"protocol": "fixed-window", "slots": 10, "k": None, **GAUSSIAN},
        GAUSSIAN,
        {"randomizer": "none", "clip": "none", "clip_norm": None, "eps0": None},
    ],
)
def test_what_no_system_accounts_for(changes):
    assert accounting(experiment(**{"delta": 1e-5, **changes})) == {}


@pytest.mark.parametrize(
    ("changes", "rounds"),
    [
        ({}, 1),
        ({"protocol": "shuffled-check-in", "rate": 0.1, "k": None}, 1),
        ({"protocol": "fixed-window", "slots": 10, "k": None}, 10),
        ({"protocol": "averaged-window", "slots": 10, "k": None}, 10),
        ({"protocol": "sliding-window", "slots": 10, "k": None}, 591),  # the slots 10 to 600
    ],
)
def test_a_window_counts_as_one_round_of_its_system(changes, rounds):
    assert rounds_of_one(experiment(delta=1e-5, **changes)) == rounds


def test_calibrated_noise_is_accounted_for_as_what_it_is():
    changes = {"protocol": "shuffled-check-in", "rate": 0.1, "k": None, **GAUSSIAN, "delta": 1e-5}
    found = accounting(experiment(**changes))
    assert list(found) == [("shuffled-check-in", "approximate-ldp"), ("shuffled-check-in", "gaussian")]
    sigma = found["shuffled-check-in", "gaussian"]["sigma"]
    # over the largest distance of two clipped gradients, it is what keeps (eps0, delta0)
    assert gaussian_delta(eps=2.0, noise=sigma) == pytest.approx(1e-5, rel=1e-6)


def test_runs_of_other_protocols_are_not_accounted_for_as_sampling(root, tmp_path):
    layer = tmp_path / "layer.yaml"
    layer.write_text(
        "training: {experiments: {girgis2021-fig3: {protocol: shuffled-check-in, rate: 0.1, k: 6000}}}\n"
    )
    with pytest.raises(
        ValueError, match=r"'girgis2021-upper' is for subsampled-shuffle .* shuffled-check-in"
    ):
        config.load([root / "config/config.yaml", layer])
    layer.write_text(
        "progress: {liew2022: {fig3b: {panels: {a: {lines: [\n{experiment: none, label: l, "
        "color: '#000000', line: solid}]}}}}}\n"
    )
    with pytest.raises(ValueError, match=r"one of training.experiments .* got 'none' .*layer.yaml line 2"):
        config.load([root / "config/config.yaml", layer])


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


CROWDED = {"girgis2021-theorem3", "fashion-fig6"}  # trained where ten other processes shared two cores


def test_costs_are_those_of_the_records(root, shipped):
    """Of one core of a CPU, each experiment by itself and all of them together."""
    ratios, estimated, recorded = {}, 0.0, 0.0
    for entry in shipped.experiments:
        paths = [root / run.record for run in shipped.trainings(entry) if (root / run.record).exists()]
        found = [files.read_json(path)["environment"] for path in paths]
        seconds = [
            one["training_seconds"]
            for one in found
            if one["device"]["type"] == "cpu" and one["device"]["threads"] == 1
        ]
        if seconds and entry.name not in CROWDED:
            ratios[entry.name] = float(np.mean(seconds)) / core_seconds(entry)
            estimated += len(seconds) * core_seconds(entry)
            recorded += sum(seconds)
    assert len(ratios) > 10
    assert all(1 / WITHIN < ratio < WITHIN for ratio in ratios.values()), ratios
    assert 1 / 1.5 < recorded / estimated < 1.5


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


# --- replays, and what decides a run

REPLAYED = {"n": 400, "k": 40, "epochs": (2,), "learning_rates": (0.3,), "epoch_rounds": 2}


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    pytest.importorskip("torch")
    import torch

    from shuffledp.reproduction.trainings import making
    from shuffledp.training import runs
    from shuffledp.training.sgd import loop

    folder = tmp_path_factory.mktemp("replayed")
    found = experiment(**REPLAYED)
    data = runs.load(found, root=None, on=torch.device("cpu"))
    product = recorded.product(found, str(folder), 3)
    request = requests.stage(product, folder / "requests")
    making.make(request, name="tiny", checkpoint=folder / "c.pt", on=torch.device("cpu"), data=data)
    return found, product, data, loop


def test_a_run_is_reproduced_and_a_changed_value_is_noticed(replayed, monkeypatch):
    from shuffledp.records import files
    from shuffledp.reproduction.trainings import replay

    found, product, data, loop = replayed
    said = []
    setting = {"seed": 3, "folder": str(Path(product.record).parent), "data": data, "say": said.append}
    assert replay.replay(found, **setting, rows=2, stamp=False)
    assert said.pop().endswith("seed3.csv, 2 of 2 epochs: reproduced")
    # a record of other code becomes current by proof alone
    record = files.read_json(product.record)
    record["request"]["code"] = "0" * 16
    files.write_json(product.record, record)
    assert not product.is_current()
    rate = loop.schedule.step
    monkeypatch.setattr(loop.schedule, "step", lambda *given, **named: 10 * rate(*given, **named))
    assert not replay.replay(found, **setting, rows=1, stamp=True)
    assert "not reproduced: " in said[-1]
    assert not product.is_current()
    monkeypatch.undo()
    assert replay.replay(found, **setting, rows=1, stamp=True)
    assert product.is_current()
    assert files.read_json(product.record)["environment"]["proof"]["epochs"] == 1
    Path(product.outputs[0]).write_text(Path(product.outputs[0]).read_text().replace("2", "3"))
    with pytest.raises(ValueError, match="is not the file that was recorded; train the run again"):
        replay._stamp(product, 1)


KINDS_OF_RUNS = {
    "coordinates": {},
    "clipped by norm": {"clip": "norm"},
    "hadamard": {"randomizer": "l1_hadamard", "clip": "norm"},
    "hemisphere": {"randomizer": "l2_hemisphere", "clip": "norm"},
    "privunit": {"randomizer": "l2_privunit", "clip": "norm"},
    "limit": {"randomizer": "l2_privunit", "clip": "norm", "aggregate": "clt"},
    "plain": {"randomizer": "none", "clip": "none", "clip_norm": None, "eps0": None},
    "check-in": {"k": None, "protocol": "shuffled-check-in", "rate": 0.1, "bootstrap": True},
    "noise": {
        **{"randomizer": "gaussian", "clip": "norm", "eps0": None, "noise_multiplier": 1.0},
        **{"k": None, "protocol": "shuffled-check-in", "rate": 0.1},
    },
    "window": {
        "k": None,
        "protocol": "fixed-window",
        "slots": 20,
        "participation": 0.5,
        "epoch_rounds": None,
    },
}
# What a run calls without its being in the digest; a folder stands for all that is in it.
OUTSIDE = {
    "shuffledp.checks": "refuses arguments or takes them as they are",
    "shuffledp.training.experiment": "what of it decides a number is a parameter of the run",
    "shuffledp.training.specification": "what of it decides a number is a parameter of the run",
    "shuffledp.training.data.datasets": "what it reads has the checksums that are parameters of the run",
    "shuffledp.training.runs": "hands on rows, and the state of a killed run, as the tests of kills show",
    "shuffledp.training.checkpoints": "the state of a killed run comes back as it was, as its tests show",
    "shuffledp.training.costs": "says how long a run will take",
    "shuffledp.optional_packages": "refuses what is not installed",
    "shuffledp.rounding": "how numbers are written, of a training all their digits",
    "shuffledp.records": "how files are written, and what is recorded beside the numbers",
    "shuffledp.reproduction.jobs": "where a checkpoint lies",
    "shuffledp.reproduction.progress_bar": "shows how far a run is",
    "shuffledp.reproduction.trainings": "which runs are made, and where they are written",
}


@pytest.mark.parametrize("kind", KINDS_OF_RUNS)
def test_all_code_that_a_run_runs_is_in_its_digest(kind, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    from shuffledp.reproduction.trainings import commands

    monkeypatch.chdir(tmp_path)
    found = experiment(**{**REPLAYED, "epochs": (1,), **KINDS_OF_RUNS[kind]})
    seen = set()

    def note(frame, event, argument):
        name = frame.f_globals.get("__name__", "")
        # the text of a module that is imported on the way, or of a class, is no function
        function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
        if event == "call" and function and name.startswith("shuffledp."):
            seen.add(name)

    asked = {"seeds": [0], "device": "cpu", "threads": torch.get_num_threads(), "folder": str(tmp_path)}
    sys.setprofile(note)
    try:
        # as `shuffledp train` makes a run, from the data to the record
        commands.train(found, **asked, root=None, say=lambda line: None)
    finally:
        sys.setprofile(None)
    run = recorded.product(found, str(tmp_path), 0)
    assert run.is_current()
    covered = set(digest.modules_behind(run.modules, run.without))
    assert {
        "shuffledp.training.sgd.loop",
        "shuffledp.training.sgd.schedule",
        "shuffledp.training.models.registry",
        "shuffledp.training.data.synthetic",
    } <= seen & covered
    excused = {
        name for name in seen for outside in OUTSIDE if name == outside or name.startswith(f"{outside}.")
    }
    if found.protocol == SAMPLING:  # of which the settings are checked alone; who is drawn, the loop says
        excused.add("shuffledp.protocols")
    assert seen - covered - excused == set()
    # what decides a number may be excused by no folder
    assert not [
        name for name in excused if name.startswith(("shuffledp.randomizers.", "shuffledp.training.sgd."))
    ]
