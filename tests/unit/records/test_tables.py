"""Tables: one format for numbers and line ends, written whole, and unreadable ones reported with a remedy."""

import os

import numpy as np
import pandas as pd
import pytest

from shuffledp.records import tables


def test_numbers_have_all_their_digits_and_lines_end_in_newline(tmp_path):
    path = tmp_path / "t.csv"
    tables.write_table(path, {"n": [1e6, 2e15], "delta": [1e-8, 0.0], "epsilon": [1 / 3, 2 / 3e-7]})
    assert path.read_bytes() == (
        b"n,delta,epsilon\n1000000,1e-08,0.3333333333333333\n2000000000000000,0,6666666.666666667\n"
    )


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "t.csv"
    values = np.concatenate([np.geomspace(1e-300, 1e300, 601), [5e-324, 2.0**53 - 1, 1 / 3]])
    tables.write_table(path, {"x": values, "y": -values, "s": ['a, "b"'] * values.size})
    table = tables.read_table(path, needs=("x", "y", "s"))
    # each to the last bit, which a parser in a hurry misses
    np.testing.assert_array_equal(table["x"], values)
    np.testing.assert_array_equal(table["y"], -values)
    assert set(table["s"]) == {'a, "b"'}


def test_infinities_are_read_back(tmp_path):
    path = tmp_path / "t.csv"
    tables.write_table(path, {"epsilon": [np.inf, 1.0]})
    assert tables.read_table(path)["epsilon"].tolist() == [np.inf, 1.0]


def test_columns_and_frames_give_the_same_bytes(tmp_path):
    columns = {"a": np.arange(3.0), "b": np.array([0.1, 0.2, 0.3])}
    tables.write_table(tmp_path / "1.csv", columns)
    # the index of a frame is not part of the table
    tables.write_table(tmp_path / "2.csv", pd.DataFrame(columns, index=[5, 6, 7]))
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()


def test_an_error_leaves_the_old_table_and_nothing_else(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="same length"):
        tables.write_table(path, {"a": [1, 2], "b": [1]})
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.csv"]


UNREADABLE = {
    "missing": (None, "there is no table"),
    "empty": (b"", "not a table"),
    "no rows": (b"rounds,epsilon\n", "has no rows"),
    "column lacking": (b"rounds,eps\n1,2\n", r"lacks the column\(s\) epsilon"),
    "columns lacking": (b"t,eps\n1,2\n", r"lacks the column\(s\) rounds, epsilon"),
    "ragged": (b"rounds,epsilon\n1,2\n1,2,3,4\n", "not a table"),
    "binary": (b"\xff\xfe\x00\x80", "not a table"),
}


@pytest.mark.parametrize(("content", "what"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_tables_name_the_file_and_the_remedy(tmp_path, content, what):
    path = tmp_path / "t.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=what) as caught:
        tables.read_table(path, needs=("rounds", "epsilon"))
    assert str(path) in str(caught.value)
    assert f"snakemake --cores 1 {path}" in str(caught.value)


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(ValueError, match="not a table") as caught:
        tables.read_table(tmp_path)
    assert str(tmp_path) in str(caught.value)
