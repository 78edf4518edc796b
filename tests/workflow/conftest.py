"""Clones of the working tree, and one smoke run that several tests look at."""

import compileall
import shutil
from py_compile import PycInvalidationMode

import pytest

from .clone import FEW, SMOKE, Clone, git

CODE = "workflow/shuffledp"


@pytest.fixture(scope="session")
def origin(root, working_files, tmp_path_factory):
    """A repository with one commit that holds what the working tree would commit."""
    folder = tmp_path_factory.mktemp("origin")
    for name in working_files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all", "--force", *working_files)
    git(folder, "commit", "--quiet", "--message", "working tree")
    compileall.compile_dir(folder / CODE, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return folder


def make_clone(origin, folder):
    """Return a fresh clone below a folder.

    It comes with its code compiled, which each process of a run would do anew where bytecode is not written.
    What is edited is compiled then: the bytecode of a module has the hash of its source.
    """
    git(folder, "clone", "--quiet", str(origin), "clone")
    for compiled in (origin / CODE).rglob("__pycache__"):
        shutil.copytree(compiled, folder / "clone" / compiled.relative_to(origin))
    return Clone(folder / "clone")


@pytest.fixture
def clone(origin, tmp_path):
    """A fresh clone."""
    return make_clone(origin, tmp_path)


@pytest.fixture(scope="session")
def whole_smoke(origin, tmp_path_factory):
    """A clone in which the smoke configuration was run from nothing, and that run; not to be changed."""
    clone = make_clone(origin, tmp_path_factory.mktemp("smoke"))
    return clone, clone.run("--cores", "all", *SMOKE)


@pytest.fixture(scope="session")
def few_smoke(origin, tmp_path_factory):
    """A clone in which a few figures of the smoke run were made, and that run; not to be changed."""
    clone = make_clone(origin, tmp_path_factory.mktemp("few"))
    return clone, clone.run("--cores", "all", *FEW, *SMOKE)


@pytest.fixture(scope="session", params=["few", pytest.param("whole", marks=pytest.mark.slow)])
def smoke(request):
    """A run of the smoke configuration: of a few figures and, where slow tests are asked for, of all."""
    return request.getfixturevalue(f"{request.param}_smoke")


@pytest.fixture
def smoke_copy(few_smoke, tmp_path):
    """The clone of a few figures right after its run, with the times of its files, to be changed at will."""
    clone, run = few_smoke
    assert run.status == 0, run.output
    shutil.copytree(clone.path, tmp_path / "copy", symlinks=True)
    return Clone(tmp_path / "copy")
