"""Paths are refused that cannot be written to, or where something else would be replaced."""

import os

import pytest

from shuffledp.records import files, refusals


def test_an_empty_path_is_refused():
    assert refusals.of_folder("") == "must be a folder, got '', which is empty; name one"
    assert refusals.of_folder("", written=False) == refusals.of_folder("")
    assert refusals.of_file("") == "must be a file, got '', which is empty; name one"


def test_new_and_regular_files_may_be_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").touch()
    (tmp_path / "folder").mkdir()
    # a folder may be a link, since what is written into it leaves the link alone
    (tmp_path / "linked").symlink_to("folder")
    for path in ("new.csv", "old.csv", "none/new.csv", "linked/new.csv", str(tmp_path / "new.csv")):
        assert refusals.of_file(path) is None
    for path in (".", "folder", "linked", "none/below"):
        assert refusals.of_folder(path) is None


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda path: path.symlink_to("old.csv"), "a symbolic link"),
        (lambda path: path.symlink_to("nowhere.csv"), "a symbolic link"),
        (lambda path: path.symlink_to("/dev/null"), "a symbolic link"),
        (os.mkfifo, "a device or a pipe"),
    ],
)
def test_what_a_file_would_replace_is_refused(tmp_path, make, kind):
    (tmp_path / "old.csv").touch()
    path = tmp_path / "a.csv"
    make(path)
    assert refusals.of_file(str(path)) == (
        f"must be a new or regular file, got {str(path)!r}, where {kind} would be replaced; name another"
    )
    files.write_text(path, "new\n")
    assert not path.is_symlink()
    assert path.is_file(), "it is what writing does"


def test_a_device_is_refused():
    assert "'/dev/null', where a device or a pipe would be replaced" in refusals.of_file("/dev/null")
