"""Kills at random moments, of everything or of Snakemake alone: what comes out is as if there were none."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import psutil
import pytest

from shuffledp import recovery, tables

from .clone import TIMEOUT

KILLS = 20
CONFIG = """\
paths: {results: results, figures: figures, readme: results/README.md}
styles: {girgis2021-upper: {color: "#0072b2", line: solid}}
bounds:
  paper:
    fig1:
      shows: What it shows.
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
CURVE, RUN, FIGURE = (
    "results/paper/fig1/a/girgis2021-upper",
    "results/training/tiny/seed0",
    "figures/paper/fig1",
)
ARGUMENTS = ("--cores", "2", f"{RUN}.csv", f"{FIGURE}.pdf")


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
    history = tables.read_table(clone.path / f"{RUN}.csv").drop(columns="seconds")
    records = {}
    for stem in (CURVE, RUN):
        record = json.loads((clone.path / f"{stem}.json").read_text(encoding="utf-8"))
        environment = record.pop("environment")
        assert environment.keys() >= {"versions", "seconds", "finished"}
        if stem == RUN:
            del record["outputs"]  # the checksum of a table that has the seconds
        records[stem] = record
    files = clone.bytes_of(f"{CURVE}.csv", f"{FIGURE}.*")
    assert len(files) == 4
    return history.to_csv(), records, files


RESUMING = "shuffledp.recovery"


def to_resume(clone):
    """What the documented command is given: nothing, or these if a run did not get as far as to be noted."""
    return () if (clone.path / ".snakemake/run.json").exists() else ARGUMENTS


def resume(clone):
    run = clone.run_module(RESUMING, *to_resume(clone))
    assert run.status == 0, run.output
    return run.output


def kill(process, everything):
    """Kill a run without warning: all its processes, or only Snakemake, so that its jobs live on."""
    if everything:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return
    first = psutil.Process(process.pid)
    first.suspend()  # so that it starts nothing more meanwhile
    family = [one for one in first.children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE]
    chosen = [one for one in family if "snakemake" in one.cmdline() and "--mode" not in one.cmdline()]
    for one in (first, *chosen):
        one.kill()
    process.wait()
    psutil.wait_procs(chosen, timeout=TIMEOUT)


def test_kills_at_random_moments_leave_no_trace(small, tmp_path, log):
    pytest.importorskip("torch")
    begun = time.monotonic()
    assert small.run(*ARGUMENTS).status == 0
    span = time.monotonic() - begun
    expected = content(small)
    fresh(small)

    chance = random.Random(8)
    killed, went_on = 0, 0
    while killed < KILLS:
        process = subprocess.Popen(
            [sys.executable, "-m", RESUMING, *to_resume(small)],
            cwd=small.path,
            env=small.environment(),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout=chance.uniform(0.1, 0.9) * span)
            assert status == 0, (tmp_path / "log").read_text()
            assert content(small) == expected
            fresh(small)
        except subprocess.TimeoutExpired:
            went_on += any((small.path / "resources/checkpoints").glob("*.pt"))
            kill(process, everything=chance.random() < 0.5)
            killed += 1
    resume(small)
    assert went_on > 0, "no kill hit a training under way"
    assert content(small) == expected
    assert not (small.path / ".snakemake/run.json").exists()
    assert small.plan(*ARGUMENTS[2:]).says_nothing_to_do
    without_note = small.run_module(RESUMING)
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
