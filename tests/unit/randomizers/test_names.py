"""The randomisers' modules are found without being listed, and without torch."""

import importlib
import subprocess
import sys

import pytest

from shuffledp.randomizers import names

NEW = '''
class _Half:
    """Not the randomiser."""


class Mine:
    name = "mine"

    def __init__(self, *, dimension, radius, eps0):
        self.made = (dimension, radius, eps0)
'''
SCRIPT = """
import sys
from shuffledp import randomizers
randomizers.__path__.append(sys.argv[1])
from shuffledp.randomizers import registry
assert "torch" not in sys.modules
print(registry.NAMES, registry.create("mine", dimension=2, radius=0.5, eps0=1.0).made)
"""


def test_every_module_that_is_found_has_a_randomiser_of_its_name():
    pytest.importorskip("torch")
    from shuffledp.randomizers.base import Randomizer

    assert {"linf_coordinate", "l1_hadamard", "l2_hemisphere", "l2_privunit", "gaussian"} <= set(names.NAMES)
    assert len(names.CLASSES) == len(names.NAMES)
    for name, class_name in names.CLASSES.items():
        found = getattr(importlib.import_module(f"shuffledp.randomizers.{name}"), class_name)
        assert issubclass(found, Randomizer)
        assert found.name == name


def test_what_is_no_randomiser_is_not_found():
    assert "base" not in names.CLASSES
    with pytest.raises(KeyError):
        names.CLASSES["base"]


def _with_a_new_module(folder, text):
    (folder / "mine.py").write_text(text)
    return subprocess.run([sys.executable, "-c", SCRIPT, folder], capture_output=True, text=True)


def test_a_new_module_is_found_and_torch_is_not_imported_before(tmp_path):
    found = _with_a_new_module(tmp_path, NEW)
    assert found.stdout == f"{(*names.NAMES, 'mine')} (2, 0.5, 1.0)\n", found.stderr


def test_a_module_without_a_class_of_its_name_is_refused(tmp_path):
    found = _with_a_new_module(tmp_path, NEW.replace('name = "mine"', 'name = "yours"'))
    assert "mine.py must define a class whose name is 'mine'; give one that name" in found.stderr
