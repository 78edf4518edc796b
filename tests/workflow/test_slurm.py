"""The workflow on a real Slurm: as on one machine, with the resources asked for, and after every mishap.

Run by `make test-slurm` alone: a cluster is brought up for it.
"""

import importlib.util
import os
import signal
import subprocess
import time

import pytest

from shuffledp import tables

from . import slurm as cluster
from .clone import SMOKE, TIMEOUT, Run
from .conftest import make_clone

pytestmark = pytest.mark.skipif(
    os.environ.get("SHUFFLEDP_TEST_SLURM") != "1", reason="run by make test-slurm"
)

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
LONG = "training: {experiments: {girgis2021-theorem3: {epochs: [2000000], learning_rates: [1]}}}\n"
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


def end(clone, process):
    status = process.wait(timeout=TIMEOUT)
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
    for name, resources in (("CANCELLED", ()), ("TIMEOUT", ("train:gpu=0", "train:runtime=1"))):
        clone = clones(name)
        (clone.path / "long.yaml").write_text(LONG, encoding="utf-8")
        extra = ("--set-resources", *resources) if resources else ()
        begun[name] = clone, start(clone, f"{TRAINED}.csv", *SMOKE, "long.yaml", *extra)
    clone, _ = begun["CANCELLED"]
    while not list((clone.path / "resources/checkpoints").glob("*.pt")):
        time.sleep(0.5)
    cluster.call("scancel", running(clone, "train")["id"])
    yield begun
    for _, process in begun.values():
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


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
    resumed = clone.run_module("shuffledp.recovery", PATH=cluster.PATH)
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
    clone, _ = mishaps["CANCELLED"]
    assert list((clone.path / "resources/checkpoints").glob("*.pt")), "the next run goes on from there"


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
