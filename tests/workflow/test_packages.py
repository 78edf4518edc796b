"""The sdist, and the wheel that is built from it, in an environment with no more than they need."""

import importlib.metadata
import os
import subprocess
import sys
import tarfile
import venv
import zipfile

import pytest

import shuffledp

# The accountants and the command line need these and what these need; pandas is for tables only.
NEEDED = ("numpy", "scipy", "click")
SETTING = "n=1e6, k=1e3, eps0=2, rounds=1e5, delta=1e-8"


def build(source, target, kind):
    """Return what the build backend makes of a source tree, without a network."""
    code = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(target)!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=source, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return target / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def packages(origin, tmp_path_factory):
    """An sdist of the working tree, and a wheel of what is in the sdist."""
    pytest.importorskip("setuptools", minversion="77")
    folder = tmp_path_factory.mktemp("packages")
    sdist = build(origin, folder, "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return sdist, build(folder / sdist.name.removesuffix(".tar.gz"), folder, "wheel")


@pytest.fixture(scope="module")
def empty(packages, tmp_path_factory):
    """An environment with the wheel and what the accountants need, and no more."""
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder, symlinks=True)
    python = folder / "bin/python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*install, "--no-deps", "--no-index", str(packages[1])], check=True, capture_output=True)
    site = next(folder.glob("lib/python3*/site-packages"))
    for name in NEEDED:
        found = importlib.metadata.distribution(name)
        for top in {file.parts[0] for file in found.files if file.parts[0] != ".."}:
            (site / top).symlink_to(found.locate_file(top))
    return folder


def run(folder, *command):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [folder / "bin" / command[0], *command[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_wheel_holds_the_package_and_nothing_else(packages, root):
    with zipfile.ZipFile(packages[1]) as wheel:
        names = set(wheel.namelist())
    assert {name.partition("/")[0] for name in names} == {
        "shuffledp",
        f"shuffledp-{shuffledp.__version__}.dist-info",
    }
    source = root / "workflow/shuffledp"
    code = {f"shuffledp/{path.relative_to(source)}" for path in source.rglob("*.py")}
    assert code | {"shuffledp/py.typed"} <= names


def test_command_line_runs(empty):
    assert run(empty, "shuffledp", "--version") == f"shuffledp {shuffledp.__version__}\n"
    assert "calibrate" in run(empty, "shuffledp", "--help")
    setting = ("--clients", "1e4", "--per-round", "100", "--eps0", "1", "--rounds", "10", "--delta", "1e-6")
    assert "epsilon in [" in run(empty, "shuffledp", "epsilon", *setting)


def test_accountants_need_neither_torch_nor_pandas(empty):
    code = (
        "import sys; from shuffledp import accountants; "
        f"print(accountants.epsilon('girgis2021-upper', {SETTING})); "
        "assert not {'torch', 'pandas', 'matplotlib', 'snakemake'} & set(sys.modules)"
    )
    assert float(run(empty, "python", "-c", code)) == pytest.approx(1.0402, abs=1e-4)


def test_training_says_what_is_missing(empty):
    done = subprocess.run(
        [empty / "bin/shuffledp", "train", "--list"], cwd=empty, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "training" in done.stderr
    assert len(done.stderr.splitlines()) == 1
