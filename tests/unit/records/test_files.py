"""Files appear whole or not at all, as the same bytes, and unreadable ones are reported with a remedy."""

import json
import math
import os
import stat

import pytest

from shuffledp.records import files

# Each writes something to a path; "new" appears in the result.
WRITERS = {
    "replacing": lambda path: _write_and_maybe_fail(path, fails=False),
    "text": lambda path: files.write_text(path, "new\n"),
    "json": lambda path: files.write_json(path, {"new": 1}),
}
FAILING_WRITERS = {
    "replacing": (RuntimeError, lambda path: _write_and_maybe_fail(path, fails=True)),
    "text": (UnicodeEncodeError, lambda path: files.write_text(path, "new \ud800")),
    "json": (ValueError, lambda path: files.write_json(path, {"new": math.nan})),
    "unserialisable": (TypeError, lambda path: files.write_json(path, {"new": object()})),
}


def _write_and_maybe_fail(path, *, fails):
    with files.replacing(path) as temporary:
        temporary.write_text("new\n")
        if fails:
            raise RuntimeError("disk full")


@pytest.fixture
def umask():
    old = os.umask(0o022)
    yield os.umask
    os.umask(old)


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_writing_takes_the_place_of_the_old_and_makes_folders(tmp_path, write):
    path = tmp_path / "deep" / "er" / "a.txt"
    for _ in range(2):
        write(path)
        assert "new" in path.read_text()
        path.write_text("old")
    write(path)
    assert "old" not in path.read_text()
    assert os.listdir(path.parent) == ["a.txt"]


@pytest.mark.parametrize(("error", "write"), FAILING_WRITERS.values(), ids=FAILING_WRITERS)
@pytest.mark.parametrize("existed", [True, False])
def test_an_error_leaves_the_old_and_nothing_else(tmp_path, error, write, existed):
    path = tmp_path / "a.json"
    if existed:
        path.write_text("old")
    with pytest.raises(error):
        write(path)
    assert os.listdir(tmp_path) == (["a.json"] if existed else [])
    assert not existed or path.read_text() == "old"


def test_the_old_stays_until_the_block_ends(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with files.replacing(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        # beside it, since a rename across file systems is no single step
        assert temporary.parent == path.parent
        assert temporary.suffix == path.suffix
    assert path.read_text() == "new"


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_are_those_of_any_new_file(tmp_path, umask, mask, mode):
    path = tmp_path / "a.txt"
    umask(mask)
    files.write_text(path, "x")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert umask(mask) == mask, "the process keeps its mask"


@pytest.mark.parametrize("text", ["", "a\nb\n", "a\r\nb", "\u03b5 \u2264 1\n"])
def test_text_is_written_as_it_is(tmp_path, text):
    path = tmp_path / "a.txt"
    files.write_text(path, text)
    assert path.read_bytes() == text.encode("utf-8")


def test_json_is_the_same_bytes_for_the_same_content(tmp_path):
    one, other = tmp_path / "1.json", tmp_path / "2.json"
    files.write_json(one, {"b": [1, 0.1], "a": {"d": None, "c": "x"}})
    files.write_json(other, {"a": {"c": "x", "d": None}, "b": (1, 0.1)})
    assert one.read_bytes() == other.read_bytes()
    assert one.read_bytes().endswith(b"}\n")
    assert files.read_json(one) == json.loads(one.read_text())


@pytest.mark.parametrize("content", [b"", b'{"a": [1, 2', b"<<<<<<< HEAD\n{}", b"\xff\xfe\x00"])
def test_unreadable_json_names_the_file_and_the_remedy(tmp_path, content):
    path = tmp_path / "record.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="delete it and run the workflow again") as caught:
        files.read_json(path)
    assert str(path) in str(caught.value)


def test_sha256_is_that_of_the_bytes(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")  # the example of FIPS 180-2
    assert files.sha256(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
