"""Faults of the configuration, of the code and of the machine: non-zero, said once, and nothing half made."""

import os
import signal
import subprocess
import time

import pytest

from .clone import SMOKE, TIMEOUT
from .conftest import make_clone

CURVE = "results/girgis2021/fig2/a/girgis2021-upper"
LOG = "results/logs/compute_curve/girgis2021/fig2/a/girgis2021-upper.log"

# An overlay with a mistake on its last line, and what the message must say. The first is in a key of its own,
# the second in one that config.yaml has too.
OVERLAYS = {
    "misspelt key": (
        "bounds: {girgis2021: {fig2: {panels: {a: {x: {\n  pionts: 3}}}}}}\n",
        "did you mean 'points'?",
    ),
    "value": (
        "bounds: {girgis2021: {fig2: {panels: {a: {x: {\n  points: 1}}}}}}\n",
        "less than the minimum of 2",
    ),
}
EDITS = {
    "misspelt key": ("delta: 1e-8", "dleta: 1e-8", "unknown key 'dleta': did you mean 'delta'?"),
    "more per round than there are": ("k: 1e3", "k: 1e8", "k must be at most n"),
}


def assert_refused(run, says):
    """The run failed with a message that a reader can act on, given once, and no trace of Python."""
    assert run.status != 0
    assert run.output.count(says) == 1, run.output
    assert "Traceback" not in run.output
    assert len(run.output.strip().splitlines()) < 10, run.output


def each_but_the_first_is_slow(cases):
    """All of them start a run each, and take the same way once the configuration is read."""
    return [
        pytest.param(*case, id=name, marks=[pytest.mark.slow] if at else [])
        for at, (name, case) in enumerate(cases.items())
    ]


def of_each(messages):
    """Ways to spoil a file with what is said of it, as above."""
    return each_but_the_first_is_slow({how: (how, says) for how, says in messages.items()})


@pytest.mark.parametrize(("old", "new", "says"), each_but_the_first_is_slow(EDITS))
def test_a_mistake_in_the_configuration_is_said_once(clone, old, new, says):
    clone.edit("config/config.yaml", old, new)
    run = clone.run("--dry-run")
    assert_refused(run, says)
    lines = (clone.path / "config/config.yaml").read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if new in line)
    assert f"config/config.yaml line {number})" in run.output


@pytest.mark.parametrize(("text", "says"), each_but_the_first_is_slow(OVERLAYS))
def test_a_mistake_in_an_overlay_is_placed_there(clone, text, says):
    # the same mistake in a file that the second one overrides
    (clone.path / "theirs.yaml").write_text("\n" + text, encoding="utf-8")
    (clone.path / "mine.yaml").write_text(text, encoding="utf-8")
    run = clone.run("--dry-run", "--configfile", "theirs.yaml", "mine.yaml")
    assert_refused(run, says)
    assert "mine.yaml line 2)" in run.output


@pytest.mark.parametrize(
    "folder", ["results/girgis2021", pytest.param("results/logs", marks=pytest.mark.slow)]
)
def test_a_file_in_the_place_of_a_folder_is_named(clone, folder):
    (clone.path / folder).rename(clone.path / "moved") if (clone.path / folder).exists() else None
    (clone.path / folder).write_text("mine", encoding="utf-8")
    run = clone.run("--dry-run")
    assert_refused(run, f"{folder} must be a folder, since files are written into")
    assert "and is a file; move it away" in run.output
    assert (clone.path / folder).read_text(encoding="utf-8") == "mine"


def spoilt(path, how):
    """Make a file one that cannot be read, whoever runs the tests; a folder at its place is such a one."""
    if how == "broken":
        path.write_text("paths:\n  results: [a\nbounds: {}\n", encoding="utf-8")
        return
    path.unlink(missing_ok=True)
    if how == "folder":
        path.mkdir()


UNREADABLE = {
    "broken": "config/config.yaml line 3, column 7 is not valid YAML",
    "missing": "config/config.yaml cannot be read (No such file or directory); check the path",
    "folder": "config/config.yaml cannot be read (Is a directory); name a file, not a folder",
}


@pytest.mark.parametrize(("how", "says"), of_each(UNREADABLE))
def test_a_configuration_that_cannot_be_read_is_named(clone, how, says):
    spoilt(clone.path / "config/config.yaml", how)
    assert_refused(clone.run("--dry-run"), says)


@pytest.mark.slow
def test_a_file_where_a_folder_of_the_workflow_should_be_is_named(clone):
    (clone.path / ".snakemake").mkdir(exist_ok=True)
    (clone.path / ".snakemake/requests").write_text("", encoding="utf-8")
    assert_refused(clone.run("--dry-run"), ".snakemake/requests")


# Snakemake reads a file of --configfile before it looks at the Snakefile; docs/howto/figures.md says what it
# tells then.
OF_SNAKEMAKE = {
    "broken": "Config file is not valid JSON or YAML",
    "missing": "No such file or directory: 'mine.yaml'",
}


@pytest.mark.parametrize(("how", "says"), of_each(OF_SNAKEMAKE))
def test_an_overlay_that_cannot_be_read_starts_nothing(clone, how, says):
    spoilt(clone.path / "mine.yaml", how)
    run = clone.run("--dry-run", "--configfile", "mine.yaml")
    assert run.status != 0
    assert run.output.count(says) == 1, run.output
    assert clone.changed() <= {"mine.yaml"}
    # the command line names the line
    checked = clone.run_module("shuffledp", "train", "girgis2021-fig3", "--config", "mine.yaml")
    assert checked.status == 2
    assert len(checked.output.strip().splitlines()) == 1
    assert ("mine.yaml line 3, column 7" if how == "broken" else "mine.yaml cannot be read") in checked.output


@pytest.mark.parametrize(
    "target",
    [
        # no such figure
        pytest.param("figures/girgis2021/fig1.pdf", marks=pytest.mark.slow),
        # an accountant that is in another figure only
        "results/girgis2021/fig4/a/girgis2021-lower.csv",
    ],
)
def test_a_misspelt_target_is_named(clone, target):
    run = clone.run("--cores", "1", target)
    assert run.status != 0
    assert target in run.stderr
    assert "Traceback" not in run.output
    assert clone.changed() == set()


def test_a_failing_job_names_its_rule_and_leaves_nothing(clone):
    clone.append(
        "workflow/shuffledp/accountants/evaluation.py",
        '\n\ndef evaluate(*arguments, **options):\n    raise ValueError("values must be sabotaged")\n',
    )
    run = clone.run("--cores", "1", f"{CURVE}.csv")
    assert run.status != 0
    assert "Error in rule compute_curve" in run.stderr
    assert f"error: values must be sabotaged (trace in {LOG})" in run.stderr.splitlines()
    trace = (clone.path / LOG).read_text(encoding="utf-8")
    assert trace.startswith("Traceback")
    assert str(clone.path / "workflow/shuffledp/accountants/evaluation.py") in trace
    assert trace.endswith("ValueError: values must be sabotaged\n")
    for form in ("csv", "json"):
        assert not (clone.path / f"{CURVE}.{form}").exists()
    assert clone.leftovers() == []
    assert "0 made now" in run.stdout.split("\n")[0], "what failed was not made"


def kill_after(clone, arguments, jobs):
    """Start a run and kill it and all its processes, without a chance to tidy up, after some jobs."""
    with subprocess.Popen(
        clone.command(*arguments),
        cwd=clone.path,
        env=clone.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + TIMEOUT
        finished = 0
        for line in process.stderr:
            finished += line.startswith("Finished jobid")
            if finished == jobs or time.monotonic() > deadline:
                break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert finished == jobs
    assert process.returncode == -signal.SIGKILL


@pytest.mark.slow  # test_crash kills in the ordinary suite
def test_a_killed_run_is_taken_up_where_it_was(clone, origin, tmp_path_factory):
    """As the README says: the same command again, after --unlock if Snakemake asks for it."""
    arguments = ("--cores", "2", "figures/smoke/girgis2021/fig5.pdf", *SMOKE)
    kill_after(clone, arguments, jobs=4)
    curves = list((clone.path / "results/smoke").glob("*/*/*/*.csv"))
    done = {path: path.stat().st_mtime_ns for path in curves if path.with_suffix(".json").exists()}
    assert 3 <= len(done) <= 8

    refused = clone.run(*arguments)
    assert refused.status != 0
    assert "Directory cannot be locked" in refused.stderr
    assert "--unlock" in refused.stderr
    assert clone.run("--unlock").status == 0
    run = clone.run(*arguments)
    assert run.status == 0, run.output

    undisturbed = make_clone(origin, tmp_path_factory.mktemp("undisturbed"))
    whole = undisturbed.run(*arguments)
    assert whole.status == 0, whole.output
    kept = [path for path, when in done.items() if path.stat().st_mtime_ns == when]
    # two were in the making, and count as unfinished even where all of their files are there
    assert len(kept) >= len(done) - 2
    # jobs that outlived the run may have finished more
    assert 0 < run.jobs["compute_curve"] <= whole.jobs["compute_curve"] - len(done) + 2
    patterns = ("results/smoke/girgis2021/**/*.csv", "figures/smoke/girgis2021/*")
    expected = undisturbed.bytes_of(*patterns)
    assert len(expected) == whole.jobs["compute_curve"] + 3
    assert clone.bytes_of(*patterns) == expected
    assert clone.changed() == set()
