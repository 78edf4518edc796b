"""Jobs: an error becomes one line and exit status 1, its trace goes to the log; a success leaves a record."""

import contextlib
import logging
import os
from pathlib import Path

import pytest

from shuffledp.records import files, requests
from shuffledp.records.product import Product
from shuffledp.reproduction import jobs

# An error, and what its line must say; a bare 'epsilon', or nothing at all, would tell a reader nothing.
ERRORS = {
    "value": (ValueError("n must be a whole number >= 1, got 0"), "n must be a whole number >= 1, got 0"),
    "system": (
        FileNotFoundError(2, "No such file or directory", "a.csv"),
        "a.csv cannot be read or written (No such file or directory); check the path",
    ),
    "network": (OSError("the connection ended early; try again"), "the connection ended early; try again"),
    "several lines": (RuntimeError("first\nsecond\n\nthird"), "third"),
    "no message": (AssertionError(), "AssertionError"),
    "key": (KeyError("epsilon"), "KeyError"),
}


def _fail(error):
    raise error


@pytest.mark.parametrize(("error", "says"), ERRORS.values(), ids=ERRORS)
def test_an_error_is_one_line_and_the_trace_is_in_the_log(tmp_path, capsys, error, says):
    log = tmp_path / "logs" / "rule.log"
    with pytest.raises(SystemExit) as caught, jobs.logged(log):
        _fail(error)
    assert caught.value.code == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert says in shown.err
    assert shown.err.endswith(f"(trace in {log})\n")
    assert shown.err.count("\n") == 1, shown.err
    trace = log.read_text()
    assert trace.startswith("Traceback (most recent call last)")
    assert "_fail(error)" in trace
    assert type(error).__name__ in trace


def test_a_log_that_cannot_be_written_hides_no_error(tmp_path, capsys):
    (tmp_path / "logs").touch()
    with pytest.raises(SystemExit), jobs.logged(tmp_path / "logs" / "rule.log"):
        pass
    shown = capsys.readouterr().err
    assert shown == (
        f"error: {tmp_path / 'logs'} cannot be read or written (File exists); name a folder, not a file\n"
    )
    log = tmp_path / "rule.log"
    log.mkdir()
    with pytest.raises(SystemExit), jobs.logged(log):
        _fail(ValueError("n must be less"))
    assert capsys.readouterr().err == "error: n must be less\n"


def test_a_success_is_silent_and_replaces_the_log(tmp_path, capsys):
    log = tmp_path / "rule.log"
    log.write_text("Traceback of last time")
    with jobs.logged(log):
        pass
    assert log.read_text() == "done\n"
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("fails", [False, True])
def test_a_warning_of_the_library_is_on_standard_error_and_in_the_log(tmp_path, capsys, fails):
    log, library = tmp_path / "rule.log", logging.getLogger("shuffledp.reproduction.figures.left_out")
    with contextlib.suppress(SystemExit), jobs.logged(log):
        library.warning("%d points are not drawn", 3)
        library.debug("of no interest")
        if fails:
            raise ValueError("no more")
    told = "warning: 3 points are not drawn\n"
    assert capsys.readouterr().err.startswith(told)
    assert log.read_text().startswith(told + ("Traceback" if fails else "done\n"))
    library.warning("after the job")
    assert "after the job" not in log.read_text()


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_being_stopped_is_no_error_of_the_job(tmp_path, capsys, stop):
    log = tmp_path / "rule.log"
    with pytest.raises(stop), jobs.logged(log):
        raise stop
    assert not log.exists()
    assert capsys.readouterr().err == ""


@pytest.fixture
def staged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    product = Product(
        record="out/a.json",
        parameters={"x": 1.5},
        modules=["shuffledp.records.tables"],
        outputs=["out/a.csv"],
    )
    return product, requests.stage(product, "requests")


@pytest.mark.parametrize("packages", [None, ["numpy", "pandas"]])
def test_making_gives_the_parameters_and_leaves_a_record(staged, packages):
    product, request = staged
    with jobs.running(request, log="a.log", packages=packages) as asked:
        assert asked == {"x": 1.5}
        files.write_text("out/a.csv", "x\n1.5\n")
        assert not os.path.exists("out/a.json")
    assert product.is_current()
    environment = files.read_json("out/a.json").get("environment")
    if packages is None:
        assert environment is None, "pages and figures shall be the same bytes everywhere"
    else:
        assert set(environment["versions"]) == set(packages)
        assert 0 <= environment["seconds"] < 60


@pytest.mark.parametrize("wrote", [True, False])
def test_a_failed_job_leaves_no_record(staged, wrote):
    product, request = staged

    def job():
        with jobs.running(request, log="a.log"):
            if wrote:
                files.write_text("out/a.csv", "x\n1.5\n")
            raise ValueError("broken")

    with pytest.raises(SystemExit):
        job()
    assert not os.path.exists("out/a.json")
    assert not product.is_current()


def test_an_output_that_was_not_written_is_an_error(staged):
    _, request = staged
    with pytest.raises(SystemExit), jobs.running(request, log="a.log"):
        pass
    assert "out/a.csv" in Path("a.log").read_text()
    assert not os.path.exists("out/a.json")


def test_a_request_that_cannot_be_read_is_an_error(tmp_path, capsys):
    request = tmp_path / "request.json"
    request.write_text("{")
    with pytest.raises(SystemExit), jobs.running(request, log=tmp_path / "a.log"):
        pytest.fail("the block must not run")
    assert str(request) in capsys.readouterr().err


def said(message, *values):
    """What a reader sees of a line of Snakemake's."""
    record = logging.LogRecord("snakemake", logging.INFO, __file__, 1, message, values, None)
    assert jobs.explain(record)
    assert jobs.explain(record), "a second look adds nothing"
    return record.getMessage()


def test_missing_notes_are_explained_and_other_lines_are_as_they_were():
    notes = "86 jobs have missing provenance/metadata so that it in part cannot be used to trigger re-runs."
    assert said(notes).startswith(f"{notes}\nThis is not an error: ")
    assert said(notes).count("This is not an error") == 1
    assert said("%d of %s done", 3, "100%") == "3 of 100% done"
