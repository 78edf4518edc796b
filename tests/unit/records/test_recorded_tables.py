"""Tables are read only if they are the ones that were recorded."""

import re

import pytest

from shuffledp.records import files, recorded_tables, tables


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "seed0.csv"
    tables.write_table(path, {"round": [1, 2, 3], "test_accuracy": [0.1, 0.2, 0.3]})
    files.write_json(path.with_suffix(".json"), {"outputs": {"elsewhere/seed0.csv": files.sha256(path)}})
    return path


def test_a_table_of_its_record_is_read_wherever_it_lies(run):
    table = recorded_tables.read(run, needs=("round",))
    assert list(table["test_accuracy"]) == [0.1, 0.2, 0.3]


def test_a_table_that_was_cut_off_is_refused(run):
    lines = run.read_bytes().splitlines(keepends=True)
    run.write_bytes(b"".join(lines[:-1]))
    remedy = f"take both files from version control, or delete both and run: snakemake --cores 1 {run}"
    with pytest.raises(ValueError, match=f"^{re.escape(str(run))} is not the table .* {re.escape(remedy)}$"):
        recorded_tables.read(run)


@pytest.mark.parametrize("record", [None, "", "{", "[]", "{}", '{"outputs": {}}', '{"outputs": 1}'])
def test_a_table_without_a_record_is_refused(run, record):
    path = run.with_suffix(".json")
    path.unlink()
    if record is not None:
        path.write_text(record, encoding="utf-8")
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))} is not the record of "):
        recorded_tables.read(run)
