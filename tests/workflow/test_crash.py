"""Kills at random moments, of everything or of Snakemake alone: what comes out is as if there were none.

Of three jobs, and with `make test-crash` of the smoke run too.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from shuffledp.records import tables
from shuffledp.reproduction import recovery

from .clone import SMOKE, TIMEOUT, Clone

KILLS = 20
FEW_KILLS = 6  # of which one in four is to hit a training
CONFIG = """\
paths: {results: results, figures: figures, ledger: results/pages/claims.md}
styles: {girgis2021-upper: {color: "#0072b2", line: solid}}
captions: {paper: {fig1: {shows: What it shows.}}}
bounds:
  paper:
    fig1:
      delta: 1e-8
      curves: [girgis2021-upper]
      panels:
        a: {x: {variable: rounds, from: 10, to: 1e5, points: 3}, n: 1e6, k: 1e3, eps0: 2}
training:
  experiments:
    tiny:
      data: synthetic
      model: mnist_cnn_16
      n: 600
      k: 100
      randomizer: l2_hemisphere
      clip: norm
      clip_norm: 0.01
      eps0: 2
      epochs: [30]
      learning_rates: [1]
"""
ARGUMENTS = ("--cores", "2", "results/training/tiny/seed0.csv", "figures/paper/fig1.pdf")
TRAINED = "results/smoke/training/girgis2021-theorem3/seed0.csv"  # besides what the smoke run makes


@pytest.fixture
def small(clone):
    """A clone with a configuration of three jobs, one of them a training, and nothing made."""
    (clone.path / "config/config.yaml").write_text(CONFIG, encoding="utf-8")
    return fresh(clone)


@pytest.fixture
def log(tmp_path):
    with open(tmp_path / "log", "w") as stream:
        yield stream


def fresh(clone):
    for folder in ("results", "figures", ".snakemake", "resources"):
        shutil.rmtree(clone.path / folder, ignore_errors=True)
    return clone


def content(clone):
    """What was made, but for times and what follows from them."""
    made = {}
    for path in sorted((clone.path / "results").rglob("*.csv")):
        if "benchmarks" not in path.parts:
            table = tables.read_table(path)
            name = str(path.relative_to(clone.path))
            made[name] = table.drop(columns="seconds", errors="ignore").to_csv()
            record = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            environment = record.pop("environment", None)
            assert environment is None or environment.keys() >= {"versions", "seconds", "finished"}
            if "seconds" in table:
                del record["outputs"]  # the checksum of a table that has them
            made[f"record of {name}"] = record
    pages = clone.bytes_of("figures/**/*", "results/**/README.md")
    for name in [name for name in pages if Path(name).suffix == ".json"]:
        record = json.loads(pages.pop(name))
        # a figure of trainings was made from tables that have seconds
        record["inputs"] = {
            path: digest for path, digest in record["inputs"].items() if "/training/" not in path
        }
        made[f"record of {name}"] = record
    return made, pages


RESUMING = "shuffledp.reproduction.recovery"


def to_resume(clone, arguments):
    """What the documented command is given: nothing, or these if a run did not get as far as to be noted."""
    return () if (clone.path / ".snakemake/run.json").exists() else arguments


def is_snakemake(process):
    """Whether a process is Snakemake and no job's; one that has ended meanwhile is neither."""
    try:
        words = process.cmdline()
    except psutil.NoSuchProcess:
        return False
    return "snakemake" in words and "--mode" not in words


def kill(process, everything):
    """Kill a run without warning: all its processes, or only Snakemake, so that its jobs live on."""
    if everything:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return
    first = psutil.Process(process.pid)
    first.suspend()  # so that it starts nothing more meanwhile
    chosen = [one for one in first.children(recursive=True) if is_snakemake(one)]
    for one in (first, *chosen):
        with suppress(psutil.NoSuchProcess):
            one.kill()
    process.wait()
    psutil.wait_procs(chosen, timeout=TIMEOUT)


@dataclass(frozen=True)
class Whole:
    """A run to be killed.

    Attributes:
        clone: where nothing is made.
        arguments: of the run.
        tables: how many it makes, at least.
        longest: of a span without a kill, in parts of the time of an undisturbed run.
        trains: whether the second kill and every fourth after it are to hit a training under way.
        kills: how many.
    """

    clone: Clone
    arguments: tuple[str, ...]
    tables: int
    longest: float
    trains: bool
    kills: int = KILLS


@pytest.fixture(params=[pytest.param("three jobs", marks=pytest.mark.slow), "smoke"])
def whole(request, clone):
    if request.param == "three jobs":
        small = request.getfixturevalue("small")
        return Whole(small, ARGUMENTS, tables=2, longest=0.9, trains=True, kills=FEW_KILLS)
    if os.environ.get("SHUFFLEDP_TEST_CRASH") != "1":
        pytest.skip("run by make test-crash")
    arguments = ("--cores", "all", "all", TRAINED, *SMOKE)
    return Whole(fresh(clone), arguments, tables=100, longest=0.2, trains=False)


def settle(whole):
    """The figures of what was trained: asked for where that is there when a run begins, hence in the next."""
    run = whole.clone.run(*whole.arguments)
    assert run.status == 0, run.output


def test_kills_at_random_moments_leave_no_trace(whole, tmp_path, log):
    pytest.importorskip("torch")
    clone, arguments = whole.clone, whole.arguments
    begun = time.monotonic()
    assert clone.run(*arguments).status == 0
    span = time.monotonic() - begun
    settle(whole)
    expected = content(clone)
    assert len(expected[0]) >= 2 * whole.tables
    fresh(clone)

    chance = random.Random(8)
    killed, went_on = 0, 0
    while killed < whole.kills:
        process = subprocess.Popen(
            [sys.executable, "-m", RESUMING, *to_resume(clone, arguments)],
            cwd=clone.path,
            env=clone.environment(),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        after = chance.uniform(0.1 * whole.longest, whole.longest) * span
        if whole.trains and killed % 4 == 1:
            after = chance.uniform(0.0, 0.1) * span
            while not clone.checkpoints() and process.poll() is None:
                time.sleep(0.05)
        try:
            status = process.wait(timeout=after)
            assert status == 0, (tmp_path / "log").read_text()
            settle(whole)
            assert content(clone) == expected
            fresh(clone)
        except subprocess.TimeoutExpired:
            went_on += bool(clone.checkpoints())
            kill(process, everything=chance.random() < 0.5)
            killed += 1
    run = clone.run_module(RESUMING, *to_resume(clone, arguments))
    assert run.status == 0, run.output
    settle(whole)
    assert went_on > 0 or not whole.trains, "no kill hit a training under way"
    assert content(clone) == expected
    assert not (clone.path / ".snakemake/run.json").exists()
    assert clone.plan(*arguments[2:]).says_nothing_to_do
    without_note = clone.run_module(RESUMING)
    assert without_note.status == 0, without_note.output
    assert "Nothing to resume" in without_note.stdout


def test_a_live_run_is_not_disturbed(small):
    pytest.importorskip("torch")
    small.edit("config/config.yaml", "epochs: [30]", "epochs: [100000]")
    process = subprocess.Popen(
        small.command(*ARGUMENTS),
        cwd=small.path,
        env=small.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while not recovery.is_locked(small.path / ".snakemake"):
            assert process.poll() is None
            time.sleep(0.1)
        refused = small.run_module(RESUMING)
        assert refused.status == 1
        assert str(process.pid) in refused.stderr
        assert "wait for it or stop it" in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
        assert recovery.is_locked(small.path / ".snakemake")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
