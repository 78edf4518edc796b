"""What is said of packages that are not installed."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

from shuffledp import optional_packages

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("modules", "words"),
    [
        (("torch",), "torch, which is not installed"),
        (("yaml", "torch"), "yaml and torch, which are not installed"),
        (("yaml", "pydantic", "torch"), "yaml, pydantic and torch, which are not installed"),
    ],
)
def test_what_is_missing_is_named_with_how_to_get_it(monkeypatch, modules, words):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"^training needs ") as caught:
        optional_packages.need(*modules, extra="training")
    assert str(caught.value) == (
        f"training needs {words}; in a clone of the repository, run: pip install '.[training]'"
    )


def test_extras_are_installed_in_the_same_way_everywhere():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md"), *(ROOT / "workflow").glob("**/*.py")]
    named = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"pip install '?shuffledp\[", text), page
        named += re.findall(r"pip install '\.\[(\w+)\]'", text)
    assert {"interop", "opacus", "flower", "training", "scattering"} <= set(named)
    assert set(named) <= set(extras["optional-dependencies"])
