"""The command that accounts for a deployment of several phases."""

import json
import os
import re

import pandas as pd
import pytest
import yaml
from click.testing import CliRunner

from shuffledp import cli, optional_packages
from shuffledp.accountants import Plan
from shuffledp.records import refusals

SMALL = """\
delta: 1.0e-5
budget: 12
phases:
  - {n: 1, k: 1, eps0: 0.5, rounds: 10}
  - name: later
    n: 1
    k: 1
    eps0: 1
    rounds: 5
"""


def run(*arguments, expect=0):
    result = CliRunner().invoke(cli.app, ["plan", *map(str, arguments)])
    assert result.exit_code == expect, result.output
    return result


def refusal(*arguments):
    lines = run(*arguments, expect=2).stderr.splitlines()
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("delta: 0.001\nphases:\n- {n: 5, k: 7, eps0: 0.2, rounds: 1}\n", "line 3: k must be at most n"),
        ("delta: 2\nphases:\n- {n: 5, k: 2, eps0: 0.2, rounds: 1}\n", "line 1: delta must lie in [0, 1)"),
        ("delta: 0.1\nphases:\n- {n: 5, k: 2, eps0: -1, rounds: 1}\n", "line 3: eps0 must be a finite"),
    ],
)
def test_keys_of_the_file_are_called_as_it_calls_them(written, text, message):
    assert message in refusal(written(text))


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "deployment.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_the_example_prints_what_its_page_says(root):
    page = (root / "docs/plans.md").read_text(encoding="utf-8")
    example = (root / "docs/examples/deployment.yaml").read_text(encoding="utf-8")
    assert f"```yaml\n{example}```" in page
    printed = run(root / "docs/examples/deployment.yaml").stdout
    said = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]
    assert [line.split() for line in printed.splitlines()] == [line.split() for line in said.splitlines()]


def test_json_csv_and_plot(written, tmp_path):
    found = json.loads(
        run(written(SMALL), "--json", "--csv", tmp_path / "b.csv", "--plot", tmp_path / "b.svg").stdout
    )
    phases = found["phases"]
    assert [row["phase"] for row in phases] == ["phase 1", "later"]
    assert phases[1]["lower"] <= 9.994500503286 <= phases[1]["upper"]
    assert phases[1]["left"] == 12 - phases[1]["upper"]
    assert found["neighbours"] == "substitution"
    assert found["further_rounds"] == Plan.read(yaml.safe_load(SMALL)).further_rounds()
    curve = pd.read_csv(tmp_path / "b.csv")
    assert curve["epsilon_upper"].iloc[-1] == phases[1]["upper"]
    assert (tmp_path / "b.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_bounds_that_are_used_are_named(written):
    printed = run(
        written("delta: 0.001\ngroup: 2\nphases:\n- {n: 5, k: 2, eps0: 0.2, rounds: 1, reports: 3}")
    )
    assert "bound used: a group of g" in printed.stdout
    assert "bound used: several reports" in printed.stdout


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (SMALL.replace("budget", "budgte"), 2, "did you mean 'budget'"),
        (SMALL.replace("    eps0: 1\n", "    epso: 1\n"), 8, "unknown key 'epso' of phase 2: did you mean"),
        (SMALL.replace("rounds: 5", "rounds: .nan"), 9, "rounds must be a whole number"),
        (SMALL.replace("eps0: 1\n", 'eps0: "1"\n'), 8, "got '1'; write it without quotes"),
        (SMALL.replace("rounds: 5", "rounds: '5'"), 9, "got '5'; write it without quotes"),
        (SMALL.replace("budget: 12", "budget: '12'"), 2, "got '12'; write it without quotes"),
        (SMALL + "    reports: '2'\n", 10, "got '2'; write it without quotes"),
        (SMALL + "  - release: {epsilon: 1,\n     delta: '0'}\n", 11, "got '0'; write it without quotes"),
        (SMALL + "  - noise: {sigma: 1,\n     sensitivity: '2'}\n", 11, "got '2'; write it without quotes"),
        (SMALL.replace("eps0: 1\n", "eps0: 2e5\n"), 8, "eps0 must be at most"),
        (SMALL + "    protocol: shuffel\n", 10, "got 'shuffel'; did you mean 'shuffle'?"),
        (SMALL + "    accountant: clones-pdl\n", 10, "did you mean 'clones-pld'?"),
        (SMALL + "    randomizer: kr\n", 10, "did you mean 'krr'?"),
        (SMALL + "    mechanism: ldq\n", 10, "got 'ldq'; did you mean 'ldp'?"),
        (SMALL.replace("12", "5"), 5, "is spent already: phase 2, 'later'"),
        (
            SMALL.replace("    k: 1\n", "    rate: 0.5\n    sigma: 1\n").replace("    eps0: 1\n", ""),
            5,
            "protocol must be",
        ),
        (SMALL + "  x: [\n", 10, "is not valid YAML"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(written, text, line, message):
    said = refusal(written(text))
    assert f"deployment.yaml line {line}" in said
    assert message in said


def test_a_key_that_stands_twice(written):
    said = refusal(written(SMALL + "    n: 2\n"))
    assert "key 'n' stands twice in one place of" in said
    assert "deployment.yaml, on line 6 and on line 10; keep one" in said


def test_phases_with_different_neighbours(written):
    text = SMALL + "  - {protocol: distributed-check-in, n: 50, rate: 0.1, sigma: 2, rounds: 1}\n"
    assert "line 10: phases must agree on neighbours" in refusal(written(text))


def test_files_that_are_not_there_or_cannot_be_drawn(written, tmp_path, monkeypatch):
    missing = tmp_path / "none.yaml"
    assert refusal(missing) == f"Error: {missing} cannot be read (No such file or directory); check the path"
    assert "--plot must end in .pdf, .png, .svg" in refusal(written(SMALL), "--plot", "budget.jpeg2")
    monkeypatch.setattr(optional_packages.importlib.util, "find_spec", lambda name: None)
    assert "pip install '.[figures]'" in refusal(written(SMALL), "--plot", "budget.png")


@pytest.mark.parametrize("quoted", ["1,5", "one", "nan"])
def test_what_is_no_number_without_quotes_either(written, quoted):
    assert "quotes" not in refusal(written(SMALL.replace("eps0: 1\n", f"eps0: '{quoted}'\n")))


@pytest.mark.parametrize(("option", "name"), [("--csv", "b.csv"), ("--plot", "b.svg")])
def test_a_file_that_cannot_be_written_is_refused_before_computing(
    written, tmp_path, monkeypatch, option, name
):
    monkeypatch.setattr(Plan, "spent", lambda plan: pytest.fail("computed"))
    blocked = tmp_path / "deployment.yaml" / "below" / name
    assert refusal(written(SMALL), option, blocked) == (
        f"Error: {option} must be a file in a folder, got {str(blocked)!r}, where "
        f"{tmp_path / 'deployment.yaml'} is a file; name another"
    )
    folder = tmp_path / name
    folder.mkdir()
    assert refusal(written(SMALL), option, folder) == (
        f"Error: {option} must be a file, got {str(folder)!r}, which is a folder; name a file"
    )
    link = tmp_path / f"link-{name}"
    link.symlink_to(name)
    folder.rmdir()
    assert refusal(written(SMALL), option, link) == (
        f"Error: {option} must be a new or regular file, got {str(link)!r}, where a symbolic link would "
        "be replaced; name another"
    )
    before = sorted(tmp_path.iterdir())
    inside = tmp_path / "new" / name

    def refuse(*_, **__):
        raise OSError(30, "Read-only file system", "a temporary name")

    monkeypatch.setattr(refusals.tempfile, "TemporaryFile", refuse)
    assert refusal(written(SMALL), option, inside) == (
        f"Error: {option} must be a file that can be written, got {str(inside)!r}, where {tmp_path} is not; "
        "name another"
    )
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    assert "must be a file that can be written" in refusal(written(SMALL), option, inside)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("deployment", "warnings"),
    [
        (
            "delta: 0.02\nphases: [{n: 100, k: 10, eps0: 1, rounds: 3}]",
            ["delta = 0.02 is at least 1/n = 0.01"],
        ),
        (
            "delta: 0.001\nphases: [{n: 2000, k: 2, eps0: 1, rounds: 3}, {n: 99, k: 10, eps0: 1, rounds: 3}]",
            [],
        ),
        # those who arrive are fewer than the clients
        ("delta: 0.02\nphases: [{n: 45, k: 10, eps0: 1, rounds: 3, arriving: 9}]", []),
        (
            "delta: 0.02\nphases: [{n: 100, k: 10, eps0: 30, rounds: 9}]",
            ["delta = 0.02 is at least", "epsilon = 76"],
        ),
        ("delta: 0.02\nphases: [{noise: {sigma: 1, sensitivity: 1}}]", []),
    ],
)
def test_a_plan_that_promises_little_comes_with_a_warning(written, deployment, warnings):
    lines = run(written(deployment)).stderr.splitlines()
    assert len(lines) == len(warnings)
    for line, words in zip(lines, warnings, strict=True):
        assert line.startswith(f"Warning: {words}")
