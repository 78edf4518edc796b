"""Files of YAML: numbers are numbers, keys have lines, and what is wrong is told in a line."""

import pytest

from shuffledp.records import yaml_files

TEXT = "one: 1e-8\nlist:\n  - a: 1\n  - {b: 2}\n"


def test_numbers_with_exponents_are_numbers():
    found = yaml_files.with_numbers({"a": "1e-8", "b": ["1E5", ".5e+2", "1e"], "c": {"d": "-2e3"}, "e": "e1"})
    assert found == {"a": 1e-8, "b": [1e5, 50.0, "1e"], "c": {"d": -2e3}, "e": "e1"}


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), None),
        (("one",), 1),
        (("list", 0, "a"), 3),
        (("list", "1", "b"), 4),
        (("list", 2), None),
        (("list", "a"), None),
        (("one", "a"), None),
    ],
)
def test_a_key_has_a_line(path, line):
    assert yaml_files.line(yaml_files.composed(TEXT), path) == line


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: [", "line 1, column 5 is not valid YAML"),
        (b"a: \xff", "is not valid YAML"),
        (b"[" * 3000, "is nested too deeply to be read"),
    ],
)
def test_what_is_no_yaml_is_told_in_a_line(tmp_path, content, message):
    path = tmp_path / "a.yaml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as told:
        yaml_files.parsed(str(path))
    assert "\n" not in str(told.value)
