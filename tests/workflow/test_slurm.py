"""The workflow on a real Slurm: as on one machine, with the resources asked for, and after every mishap.

Run by `make test-slurm` alone: a cluster is brought up for it. The whole smoke configuration, which takes
longer than five minutes, is left out where SHUFFLEDP_TEST_SLURM is "short".
"""

import importlib.util
import os
import signal
import subprocess
import time

import pytest

from shuffledp.records import tables

from . import slurm as cluster
from .clone import SMOKE, TIMEOUT, Run
from .conftest import make_clone

ASKED = os.environ.get("SHUFFLEDP_TEST_SLURM")
pytestmark = pytest.mark.skipif(ASKED not in ("short", "all"), reason="run by make test-slurm")

TRAINED, FIGURE = "results/smoke/training/girgis2021-theorem3/seed0", "figures/smoke/girgis2021/fig4"
TARGETS = (f"{TRAINED}.csv", f"{FIGURE}.pdf")
PROFILE = ("--workflow-profile", "profiles/slurm")
# There is no accounting, and nobody else to be polite to.
HERE = (
    *("--slurm-no-account", "--slurm-status-command", "squeue", "--latency-wait", "20"),
    *("--slurm-init-seconds-before-status-checks", "5", "--seconds-between-status-checks", "3"),
)
# What other schedulers are asked with, here Slurm's own commands; and the jobs of a study, tiny.
OTHER = ("--workflow-profile", "profiles/cluster-generic")
STUDY = ("--configfile", "config/sweep.yaml", "config/sweep-smoke.yaml")
CELL = "results/smoke/sweep/eps0~1/k~50"
SWEPT = (f"{CELL}/randomizer~l2_hemisphere/seed0.csv", f"{CELL}/girgis2021-upper.csv")
# For longer than Slurm's least limit, a minute, and for a while.
LONG, SOME = (
    f"training: {{experiments: {{girgis2021-theorem3: {{epochs: [{epochs}], learning_rates: [1]}}}}}}\n"
    for epochs in (100_000, 1500)
)
COMMANDS = {
    "CANCELLED": (f"{TRAINED}.csv", *SMOKE, "long.yaml"),
    "TIMEOUT": (
        *(f"{TRAINED}.csv", *SMOKE, "long.yaml"),
        *("--set-resources", "train:gpu=0", "train:runtime=1"),
    ),
}
FILES = ("results/smoke/girgis2021/fig4/**/*.csv", f"{FIGURE}.*")


@pytest.fixture(scope="module")
def slurm_is_up():
    lacking = cluster.missing()
    if lacking is None and importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        lacking = "no snakemake-executor-plugin-slurm: install the extra cluster"
    if lacking:
        pytest.skip(lacking)
    with cluster.running():
        yield


def said(clone):
    """Where a run from a clone writes what it says."""
    return clone.path.parent / "said"


def start(clone, *arguments):
    with open(said(clone), "w", encoding="utf-8") as stream:
        return subprocess.Popen(
            clone.command(*PROFILE, *arguments, *HERE),
            cwd=clone.path,
            env=clone.environment(PATH=cluster.PATH),
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )


def kill(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def seconds_trained(clone):
    """When each epoch that is in the checkpoint had ended, as its run counts."""
    pytest.importorskip("torch")
    from shuffledp.training import checkpoints as saved

    (path,) = clone.checkpoints()
    return [row["seconds"] for row in saved.load(path, keys=("history",))["history"]]


def end(clone, process):
    status = process.wait(timeout=4 * TIMEOUT)
    return Run(status, said(clone).read_text(encoding="utf-8"), "")


def submitted(clone):
    """The records of the jobs that were submitted from a clone."""
    mine = []
    for job in cluster.jobs():
        about = cluster.call("scontrol", "show", "job", job["id"], check=False)
        if f"WorkDir={clone.path}" in about:
            mine.append({**job, "gpus": "gres:gpu:1" in about or "gres/gpu=1" in about})
    return mine


def running(clone, rule):
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        for job in submitted(clone):
            if job["state"] == "RUNNING" and rule in job["comment"]:
                return job
        time.sleep(0.5)
    raise AssertionError(f"no job of {rule} came to run: {cluster.jobs()}")


def rows(clone, table=f"{TRAINED}.csv"):
    return tables.read_table(clone.path / table).drop(columns="seconds").to_csv()


@pytest.fixture(scope="module")
def clones(origin, tmp_path_factory):
    """A maker of clones."""
    return lambda name: make_clone(origin, tmp_path_factory.mktemp(name))


@pytest.fixture(scope="module")
def local(clones):
    clone = clones("local")
    run = clone.run("--cores", "2", *TARGETS, *SMOKE)
    assert run.status == 0, run.output
    return clone


@pytest.fixture(scope="module")
def mishaps(slurm_is_up, clones):
    """A training that is cancelled and one that runs out of time, begun first: Snakemake is slow to ask."""
    begun = {}
    for name, text in (("CANCELLED", SOME), ("TIMEOUT", LONG)):
        clone = clones(name)
        (clone.path / "long.yaml").write_text(text, encoding="utf-8")
        begun[name] = clone, start(clone, *COMMANDS[name])
    clone, _ = begun["CANCELLED"]
    while not clone.checkpoints():
        time.sleep(0.5)
    cluster.call("scancel", running(clone, "train")["id"])
    yield begun
    for _, process in begun.values():
        kill(process)


@pytest.mark.usefixtures("mishaps")
def test_results_are_those_of_a_local_run_even_after_a_kill(clones, local):
    """Snakemake killed with -9 while Slurm has its jobs, and the same again by the documented command."""
    clone = clones("killed")
    process = start(clone, *TARGETS, *SMOKE)
    running(clone, "train")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    # what is queued goes on without Snakemake, and is let finish
    deadline = time.monotonic() + TIMEOUT
    while any(job["state"] in ("PENDING", "RUNNING", "COMPLETING") for job in submitted(clone)):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    resumed = clone.run_module("shuffledp.reproduction.recovery", PATH=cluster.PATH)
    assert resumed.status == 0, resumed.output

    assert clone.bytes_of(*FILES) == local.bytes_of(*FILES)
    assert len(clone.bytes_of(*FILES)) > 5
    assert rows(clone) == rows(local)
    records = submitted(clone)
    training = [job for job in records if "train" in job["comment"]]
    curves = [job for job in records if "curves" in job["comment"] or "compute_curve" in job["comment"]]
    assert {job["state"] for job in records} == {"COMPLETED"}
    assert training
    for job in training:
        assert job["partition"] == "gpu"
        assert job["gpus"]
        assert (job["cpus"], job["memory"], job["limit"]) == ("1", "3000M", "4:00:00")
    made = len(list((clone.path / "results/smoke/girgis2021/fig4").rglob("*.csv")))
    assert 0 < len(curves) < made, "small jobs go in groups"
    for job in curves:
        assert job["partition"] == "cpu"
        assert int(job["cpus"]) <= 4, "not all of a group at once"
        assert not job["gpus"]


def test_jobs_that_are_cancelled_or_over_their_time_fail_by_name(mishaps):
    for state, (clone, process) in mishaps.items():
        run = end(clone, process)
        assert run.status != 0
        assert "Error in rule train" in run.stdout, run.stdout[-3000:]
        assert {job["state"] for job in submitted(clone)} == {state}
        assert not (clone.path / f"{TRAINED}.csv").exists()


def test_the_same_command_goes_on_from_the_last_epoch(mishaps):
    """To the end where it was cancelled; where the time is too short again, past where it was."""
    (cancelled, _), (stopped, _) = mishaps["CANCELLED"], mishaps["TIMEOUT"]
    before = {clone: seconds_trained(clone) for clone in (cancelled, stopped)}
    again = {
        clone: start(clone, *COMMANDS[name])
        for name, clone in (("CANCELLED", cancelled), ("TIMEOUT", stopped))
    }
    run = end(cancelled, again[cancelled])
    assert run.status == 0, run.output
    table = tables.read_table(cancelled.path / f"{TRAINED}.csv")
    assert len(table) == 1500
    deadline = time.monotonic() + TIMEOUT
    while len(after := seconds_trained(stopped)) == len(before[stopped]):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    kill(again[stopped])
    for clone, now in ((cancelled, table["seconds"].tolist()), (stopped, after)):
        assert len(before[clone]) > 0
        assert now[: len(before[clone])] == before[clone], "an epoch that had ended was not trained again"


@pytest.mark.skipif(
    ASKED != "all", reason="takes minutes: run by make test-slurm without SHUFFLEDP_TEST_SLURM"
)
@pytest.mark.usefixtures("slurm_is_up")
def test_the_whole_smoke_configuration_gives_what_it_gives_locally(clones):
    alone, clone = clones("whole-alone"), clones("whole")
    for targets in (("all_trainings",), ()):
        run = alone.run("--cores", "all", *targets, *SMOKE)
        assert run.status == 0, run.output
        run = end(clone, start(clone, *targets, *SMOKE))
        assert run.status == 0, run.output
    # apart from the seconds of a training, and from the records, which have seconds too
    ours, theirs = (
        {
            name: text
            for name, text in each.bytes_of("results/smoke/**/*.*", "figures/smoke/**/*.*").items()
            if not name.endswith(".json") and "/benchmarks/" not in name and "/logs/" not in name
        }
        for each in (clone, alone)
    )
    trained = [name for name in theirs if name.startswith("results/smoke/training/")]
    assert ours.keys() == theirs.keys()
    assert len(trained) > 10
    for name in theirs:
        if name in trained:
            assert rows(clone, name) == rows(alone, name)
        else:
            assert ours[name] == theirs[name], name

    records = submitted(clone)
    assert {job["state"] for job in records} == {"COMPLETED"}
    of_training = [job for job in records if job["partition"] == "gpu"]
    assert len(of_training) == len(trained)
    for job in of_training:
        assert job["gpus"]
        assert "train" in job["comment"]
        assert (job["cpus"], job["memory"], job["limit"]) == ("1", "3000M", "4:00:00")
    others = [job for job in records if job["partition"] != "gpu"]
    assert not any(job["gpus"] for job in others)
    curves = [name for name in theirs if name.endswith(".csv") and name not in trained]
    assert len(others) < len(curves) / 5, "a cluster is not flooded"


@pytest.mark.usefixtures("slurm_is_up")
def test_a_study_is_submitted_by_the_commands_of_another_scheduler(clones):
    alone, clone = clones("alone"), clones("other")
    assert alone.run("--cores", "2", *SWEPT, *STUDY).status == 0
    asked = ("--latency-wait", "20", "--seconds-between-status-checks", "1")
    run = clone.run(*OTHER, *SWEPT, *STUDY, *asked, PATH=cluster.PATH)
    assert run.status == 0, run.output
    assert rows(clone, SWEPT[0]) == rows(alone, SWEPT[0])
    assert clone.bytes_of(SWEPT[1]) == alone.bytes_of(SWEPT[1])
    records = {job["partition"]: job for job in submitted(clone)}
    assert {name: job["state"] for name, job in records.items()} == {"cpu": "COMPLETED", "gpu": "COMPLETED"}
    asked = {name: (job["cpus"], job["memory"], job["limit"]) for name, job in records.items()}
    assert asked == {"gpu": ("1", "3000M", "4:00:00"), "cpu": ("1", "1000M", "10:00")}
    assert records["gpu"]["gpus"]
    assert not records["cpu"]["gpus"]
