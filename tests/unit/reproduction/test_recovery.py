"""Going on after a crash: who is alive, what is whole, what would be run."""

import os
import socket
import subprocess
import sys
import time

import pytest

from shuffledp.records import files, requests
from shuffledp.records.product import Product
from shuffledp.reproduction import recovery

SLEEP = "import time; time.sleep(600)"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def process(here):
    """Starts a process in the directory with the words of another command behind its own."""
    begun = []

    def start(*words):
        begun.append(subprocess.Popen([sys.executable, "-c", SLEEP, *words], cwd=here))
        return begun[-1].pid

    yield start
    for one in begun:
        one.kill()
        one.wait()


def note(**changes):
    return {"host": socket.gethostname(), "pid": 0, "started": 0.0, "arguments": ["--cores", "1"], **changes}


def test_a_run_is_noted_until_it_ends_well(here):
    recovery.begin(["--cores", "1"])
    found = recovery.noted()
    assert (found["pid"], found["arguments"]) == (os.getpid(), ["--cores", "1"])
    with pytest.raises(recovery.HeldError, match=f"process {os.getpid()}"):
        recovery.check_free(found)
    recovery.end()
    assert recovery.noted() is None


def test_the_end_of_another_run_leaves_the_note(here):
    files.write_json(".snakemake/run.json", note(pid=1))
    recovery.end()
    assert recovery.noted() == note(pid=1)


def test_a_run_keeps_the_note_of_another_command_that_was_cut_off(here):
    cut_off = note(arguments=["--cores", "2", "all_figures"])
    files.write_json(".snakemake/run.json", cut_off)
    recovery.begin(["--cores", "1"])
    recovery.begin(["--cores", "1"])  # begun again
    assert recovery.noted()["before"] == cut_off
    recovery.end()
    assert recovery.noted() == cut_off
    recovery.begin(cut_off["arguments"])  # taken up
    recovery.end()
    assert recovery.noted() is None


def test_commands_that_were_cut_off_are_resumed_from_the_last_to_the_first(here, monkeypatch):
    first = note(arguments=["--cores", "2", "all_figures"])
    files.write_json(".snakemake/run.json", note(before=first))
    ran = []

    def snakemake(*words, **_):
        ran.append(list(words))
        if len(ran) == 1:  # this one has something to do, and notes it
            recovery.begin(words)
            recovery.end()
        return 0

    monkeypatch.setattr(recovery, "_snakemake", snakemake)
    assert (recovery.resume(), recovery.resume()) == (0, 0)
    assert ran == [note()["arguments"], first["arguments"]]
    assert recovery.noted() is None


@pytest.mark.parametrize("torn", ["", '{"pid": 1, "sta', "[]", "{}", '"x"', "null"])
def test_a_torn_note_is_none(here, torn):
    files.write_text(".snakemake/run.json", torn)
    assert recovery.noted() is None


def test_a_number_that_another_process_has_now_holds_nothing(here):
    recovery.check_free(note(pid=os.getpid(), started=1.0))
    recovery.check_free(None)


def test_a_run_of_another_machine_cannot_be_judged(here):
    recovery.check_free(note(host="elsewhere"))  # it left no lock
    files.write_text(".snakemake/locks/0.output.lock", "a.csv\n")
    with pytest.raises(recovery.HeldError, match="begun on elsewhere"):
        recovery.check_free(note(host="elsewhere"))


def test_a_run_that_begins_while_jobs_are_waited_for_keeps_its_lock(here, process, monkeypatch):
    files.write_text(".snakemake/locks/0.output.lock", "a.csv\n")
    files.write_json(".snakemake/run.json", note())
    left = [[process()], []]
    newcomer = []

    def jobs_left():
        # the run begins while the first is asked for
        if not newcomer:
            newcomer.append(process("newcomer"))
        return left.pop(0) if left else []

    monkeypatch.setattr(recovery, "jobs_left", jobs_left)
    monkeypatch.setattr(
        recovery,
        "_words",
        lambda one: [sys.executable, "-m", "snakemake"] if [one.pid] == newcomer else ["sh"],
    )
    monkeypatch.setattr(recovery, "_snakemake", lambda *_, **__: pytest.fail("nothing is unlocked or run"))
    with pytest.raises(recovery.HeldError, match="Snakemake runs in this directory"):
        recovery.resume()
    assert recovery.is_locked()


def test_one_resumes_at_a_time(here):
    with recovery._alone(), pytest.raises(recovery.HeldError, match="another resume goes on"):
        recovery.resume()


@pytest.mark.parametrize("words", [["-m", "snakemake"], ["/venv/bin/snakemake", "--cores", "1"]])
def test_snakemake_in_this_directory_holds_it(process, monkeypatch, words):
    pid = process()
    monkeypatch.setattr(
        recovery, "_words", lambda one: [sys.executable, *words] if one.pid == pid else ["sh"]
    )
    with pytest.raises(recovery.HeldError, match=f"Snakemake runs in this directory as process {pid}"):
        recovery.check_free(None)
    assert recovery.jobs_left() == []


def test_snakemake_elsewhere_does_not_hold_it(process, monkeypatch, tmp_path_factory):
    process()
    monkeypatch.setattr(recovery, "_words", lambda _: [sys.executable, "-m", "snakemake"])
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    recovery.check_free(None)


@pytest.mark.parametrize(
    "words", [["/there/.snakemake/scripts/tmp1.train.py"], ["-m", "snakemake", "--mode", "remote"]]
)
def test_jobs_that_live_on_are_found_and_hold_nothing(process, words):
    pid = process(*words)
    deadline = time.monotonic() + 30
    while recovery.jobs_left() != [pid]:
        assert time.monotonic() < deadline
    recovery.check_free(None)


def test_only_what_is_whole_and_new_counts_as_made(here):
    since = time.time() - 1
    for name in ("whole", "torn", "recordless", "old"):
        product = Product(
            record=f"{name}.json", parameters={}, modules=("shuffledp.checks",), outputs=(f"{name}.csv",)
        )
        request = requests.stage(product, ".snakemake/requests")
        files.write_text(f"{name}.csv", "a,b\n1,2\n")
        if name != "recordless":
            requests.record(request)
    files.write_text("torn.csv", "a,b\n1")
    os.utime("old.json", (1, 1))
    (here / ".snakemake/requests/cut.json").write_text('{"rec')
    assert recovery.made_whole(since) == ["whole.csv", "whole.json"]


@pytest.mark.parametrize("without", [(), ("shuffledp.checks",)])
def test_what_a_product_was_made_without_is_no_fault_of_it(here, without):
    """A training that takes check-ins does without some modules, and lasts hours."""
    product = Product(
        record="a.json",
        parameters={"seed": 0},
        modules=("shuffledp.reproduction.studies.over_seeds",),
        outputs=("a.csv",),
        without=without,
    )
    request = requests.stage(product, ".snakemake/requests")
    files.write_text("a.csv", "a,b\n1,2\n")
    requests.record(request)
    assert recovery.made_whole(time.time() - 60) == ["a.csv", "a.json"]


def test_a_lock_is_seen(here):
    assert not recovery.is_locked()
    files.write_text(".snakemake/locks/0.output.lock", "a.csv\n")
    assert recovery.is_locked()


def test_configuration_files_are_found_among_arguments(here):
    for name in ("one.yaml", "two.yaml"):
        (here / name).touch()
    ours = ["--cores", "2", "--configfile", "one.yaml", "two.yaml", "results/a.csv", "--keep-going"]
    assert recovery._configured(ours) == ["--configfile", "one.yaml", "two.yaml"]
    assert recovery._configured(["--cores", "2"]) == []


def test_nothing_to_resume_is_no_error(here, capsys):
    assert recovery.resume() == 0
    assert "Nothing to resume" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "kept"),
    [
        (None, 0, False),
        (["--cores", "1"], 0, False),
        (None, 1, True),
        (["-n", "--cores", "1"], 0, True),
        (["-n", "figures/girgis2021/fig2.pdf"], 0, True),
        (["--cores", "2", "all_figures"], 0, True),
    ],
)
def test_a_command_is_cut_off_until_it_is_run_to_its_end(here, monkeypatch, arguments, status, kept):
    files.write_json(".snakemake/run.json", note())
    ran = []

    def snakemake(*words, **_):
        ran.append(list(words))
        return status

    monkeypatch.setattr(recovery, "_snakemake", snakemake)
    assert recovery.resume(arguments) == status
    assert recovery.noted() == (note() if kept else None)
    if kept:
        recovery.resume()
        assert ran[-1] == note()["arguments"]


def test_what_the_system_refuses_is_one_line(here, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["recovery"])
    (here / ".snakemake").touch()
    with pytest.raises(SystemExit) as caught:
        recovery.main()
    assert caught.value.code == 1
    assert capsys.readouterr().err == (
        "error: .snakemake cannot be read or written (File exists); name a folder, not a file\n"
    )
