"""Every command of the README and of the pages in docs is run: those of make, and what would take
hours, as far as a dry run goes.

Installations are not run, as they need a network: what they name must be there.
"""

import functools
import importlib.util
import itertools
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp import cli

from .conftest import make_clone

ROOT = Path(__file__).resolve().parents[2]


# Those that are written by hand, and the page of keys; what else is made from the code has no commands.
PAGES = [
    *(ROOT / name for name in ("README.md", "config/README.md")),
    *sorted(ROOT.glob("docs/[!_]*/*.md")),
    *sorted(ROOT.glob("docs/*.md")),
]
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def _commands():
    """Those of the blocks, and those in the text, once each and without the path of the environment."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for language, block in _BLOCK.findall(text):
            if language == "sh":
                yield from (line.partition("#")[0].strip() for line in block.splitlines())
        for span in re.findall(r"`([^`]+)`", _BLOCK.sub("", text)):
            words = span.split()
            if len(words) > 1 and Path(words[0]).name in PROGRAMS:
                yield " ".join(words)


PROGRAMS = ("make", "snakemake", "shuffledp", "python", "pip", "conda", "git", "cp")
COMMANDS = list(dict.fromkeys(command.removeprefix(".venv/bin/") for command in _commands() if command))


# Ten seconds of accounting, a training by the command that the next line of the README trains by too, and
# plans of thousands of jobs, as test_sweep.py makes a smaller one.
DEAR = ("--protocol shuffled-check-in --clients 6e4", "train girgis2021-fig3 --seed 0", "config/sweep.yaml")


def of(program, *, few=False):
    """Commands of one program; where a few are enough for the ordinary suite, the slow one has the others."""
    own = [one for one in COMMANDS if one.split()[0] == program]
    slow = [
        pytest.mark.slow if (few and at % 4) or any(words in one for words in DEAR) else ()
        for at, one in enumerate(own)
    ]
    return pytest.mark.parametrize(
        "command", [pytest.param(one, marks=marks) for one, marks in zip(own, slow, strict=True)]
    )


# The library's own configuration would train for hours.
TINY = ("--config", "config/config.yaml", "--config", "config/smoke.yaml")


@pytest.fixture(scope="module")
def checkout(origin, tmp_path_factory):
    return make_clone(origin, tmp_path_factory.mktemp("readme"))


def test_there_are_commands():
    assert len(COMMANDS) > 30
    assert {command.split()[0] for command in COMMANDS} == set(PROGRAMS)


def test_no_target_is_taken_for_a_file_of_configuration():
    told = [words for words in map(str.split, COMMANDS) if "--configfile" in words]
    assert any("--" in words for words in told)
    for words in told:
        behind = words[words.index("--configfile") + 1 :]
        files = list(itertools.takewhile(lambda word: not word.startswith("-"), behind))
        assert all(name.endswith(".yaml") for name in files), words


@of("make")
def test_make(checkout, command):
    done = subprocess.run(
        [*shlex.split(command), "--dry-run"], cwd=checkout.path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@of("snakemake", few=True)
def test_snakemake(checkout, command, tmp_path):
    arguments = shlex.split(command.replace("<paper>/<name>", "girgis2021/fig2"))[1:]
    if "profiles/slurm" in arguments and not importlib.util.find_spec("snakemake_executor_plugin_slurm"):
        pytest.skip("needs the extra cluster")
    if "mine.yaml" in arguments:
        page = (ROOT / "config/README.md").read_text(encoding="utf-8")
        (text,) = re.findall(r"```yaml\n(# mine\.yaml: .*?)```", page, re.DOTALL)
        (checkout.path / "mine.yaml").write_text(text, encoding="utf-8")
    if "code.yaml" in arguments:
        page = (ROOT / "docs/howto/training.md").read_text(encoding="utf-8")
        (text,) = re.findall(r"```yaml\n(.*?)```\s+With this in `code.yaml`", page, re.DOTALL)
        (table,) = re.findall(r"TABLE being\s+`(.*?)`", page)
        (checkout.path / "code.yaml").write_text(text, encoding="utf-8")
        arguments[arguments.index("TABLE")] = table
    shared = str(tmp_path) if "--cache" in arguments else None
    words = " ".join(arguments).removeprefix("-n ")
    run = _dry_run(checkout, re.sub(r"^--cores \w+ ?", "", words), shared)
    assert run.status == 0, run.output
    assert run.jobs or run.says_nothing_to_do


@functools.cache
def _dry_run(checkout, words, shared):
    """Once for commands that differ in the cores alone, which a dry run does not look at."""
    return checkout.run("--dry-run", "--cores", "all", *words.split(), SHUFFLEDP_CACHE=shared)


@of("shuffledp")
def test_shuffledp(checkout, command, tmp_path, monkeypatch):
    arguments = shlex.split(command)[1:]
    trains = arguments[0] == "train" and "--list" not in arguments and len(arguments) > 1
    if trains:
        pytest.importorskip("torch")
        arguments = [{"cuda": "cpu", "DIR": str(tmp_path)}.get(word, word) for word in arguments]
        arguments += [*TINY, *([] if "--out" in arguments else ["--out", str(tmp_path)])]
    if len(arguments) == 1 and arguments[0] in ("epsilon", "delta", "calibrate", "plan", "train"):
        # the text speaks of the command
        arguments.append("--help")
    if trains:
        run = checkout.run_module("shuffledp", *arguments)
        assert run.status == 0, run.output
        assert run.stdout
    else:
        # what a process of its own would say too, half a second later
        monkeypatch.chdir(checkout.path)
        said = CliRunner().invoke(cli.app, arguments)
        assert said.exit_code == 0, said.output
        assert said.stdout
    if "--out" in arguments:
        assert list(tmp_path.rglob("*.csv"))


@pytest.mark.slow  # test_crash.py runs it after kills
@of("python")
def test_python(checkout, command):
    _, option, module = command.split()
    assert option == "-m"
    run = checkout.run_module(module, "--cores", "1", "--dry-run")
    assert run.status == 0, run.output


@of("pip")
def test_pip(command):
    words = shlex.split(command)
    assert words[1] == "install"
    if "-c" in words:
        assert (ROOT / words[words.index("-c") + 1]).is_file()
    named = re.findall(r"\[(.*)\]", words[-1])
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {extra for group in named for extra in group.split(",")}
    assert extras <= known["optional-dependencies"].keys()


@of("conda")
def test_conda(command):
    words = command.split()
    if "-f" in words:
        assert (ROOT / words[-1]).is_file()
    else:
        assert re.search(
            rf"^name: {words[-1]}$", (ROOT / "environment.yml").read_text(encoding="utf-8"), re.MULTILINE
        )


@of("git")
def test_git(checkout, command):
    lost = checkout.path / "figures/girgis2021/fig2.png"
    kept = lost.read_bytes()
    lost.unlink()
    subprocess.run(shlex.split(command), cwd=checkout.path, check=True, capture_output=True)
    assert lost.read_bytes() == kept


@of("cp")
def test_cp(command, tmp_path):
    (tmp_path / "shared").write_text("trained", encoding="utf-8")
    (tmp_path / "run").symlink_to(tmp_path / "shared")
    subprocess.run(["bash", "-c", command.replace("FILE", "run")], cwd=tmp_path, check=True)
    assert not (tmp_path / "run").is_symlink()
    assert (tmp_path / "run").read_text(encoding="utf-8") == "trained"
