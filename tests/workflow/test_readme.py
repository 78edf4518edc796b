"""Every command of the README is run: those of make, and what would take hours, as far as a dry run goes."""

import importlib.util
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from .conftest import make_clone

ROOT = Path(__file__).resolve().parents[2]


def _commands():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"```sh\n(.*?)```", readme, re.DOTALL):
        lines = (line.partition("#")[0].strip() for line in block.splitlines())
        yield from filter(None, lines)


COMMANDS = list(_commands())
# The library's own configuration would train for hours.
TINY = ("--config", "config/config.yaml", "--config", "config/smoke.yaml")


@pytest.fixture(scope="module")
def checkout(origin, tmp_path_factory):
    return make_clone(origin, tmp_path_factory.mktemp("readme"))


def test_there_are_commands():
    assert len(COMMANDS) > 15
    assert {shlex.split(command)[0] for command in COMMANDS} == {"make", ".venv/bin/snakemake", "shuffledp"}


@pytest.mark.parametrize("command", [one for one in COMMANDS if one.startswith("make ")])
def test_make(checkout, command):
    done = subprocess.run(
        [*shlex.split(command), "--dry-run"], cwd=checkout.path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("command", [one for one in COMMANDS if "snakemake" in one.split()[0]])
def test_snakemake(checkout, command):
    arguments = shlex.split(command)[1:]
    if "profiles/slurm" in arguments and not importlib.util.find_spec("snakemake_executor_plugin_slurm"):
        pytest.skip("needs the extra cluster")
    run = checkout.run("--dry-run", *arguments)
    assert run.status == 0, run.output
    assert run.jobs or run.says_nothing_to_do


@pytest.mark.parametrize("command", [one for one in COMMANDS if one.startswith("shuffledp ")])
def test_shuffledp(checkout, command, tmp_path):
    arguments = shlex.split(command)[1:]
    if arguments[0] == "train" and "--list" not in arguments:
        pytest.importorskip("torch")
        arguments = [{"cuda": "cpu", "DIR": str(tmp_path)}.get(word, word) for word in arguments]
        arguments += [*TINY, *([] if "--out" in arguments else ["--out", str(tmp_path)])]
    run = checkout.run_module("shuffledp", *arguments)
    assert run.status == 0, run.output
    assert run.stdout
    if "--out" in arguments:
        assert list(tmp_path.rglob("*.csv"))
