"""What decides a run: its parameters, and the digest of all code that it runs."""

import inspect
import sys

import pytest

from shuffledp.records import digest
from shuffledp.reproduction.trainings import recorded
from shuffledp.training.sgd.schedule import SAMPLING

from ...training.test_runs import experiment
from .test_replay import REPLAYED


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


# --- replays, and what decides a run


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
    "shuffledp.randomizers.names": "finds the class in the module of the randomiser, which is in the digest",
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
    assert {
        name for name in excused if name.startswith(("shuffledp.randomizers.", "shuffledp.training.sgd."))
    } <= {"shuffledp.randomizers.names"}
