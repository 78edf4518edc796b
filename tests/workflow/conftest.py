"""Clones of the working tree, and one smoke run that several tests look at."""

import shutil

import pytest

from .clone import SMOKE, Clone, git


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
    return folder


def make_clone(origin, folder):
    """Return a fresh clone below a folder."""
    git(folder, "clone", "--quiet", str(origin), "clone")
    return Clone(folder / "clone")


@pytest.fixture
def clone(origin, tmp_path):
    """A fresh clone."""
    return make_clone(origin, tmp_path)


@pytest.fixture(scope="session")
def smoke(origin, tmp_path_factory):
    """A clone in which the smoke configuration was run from nothing, and that run; not to be changed."""
    clone = make_clone(origin, tmp_path_factory.mktemp("smoke"))
    return clone, clone.run("--cores", "all", *SMOKE)


@pytest.fixture
def smoke_copy(smoke, tmp_path):
    """The smoke clone right after its run, with the times of its files, to be changed at will."""
    clone, run = smoke
    assert run.status == 0, run.output
    shutil.copytree(clone.path, tmp_path / "copy", symlinks=True)
    return Clone(tmp_path / "copy")
