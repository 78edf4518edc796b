"""A package of modules that tests may edit."""

import importlib
import itertools
import sys

import pytest

from shuffledp.records import digest

_NAMES = (f"scratch{number}" for number in itertools.count())


class Package:
    """A package that stands in for this one and can be edited."""

    def __init__(self, folder, name):
        self.folder, self.name = folder / name, name
        self.write("__init__", "")

    def path(self, module):
        return self.folder / f"{module.replace('.', '/')}.py"

    def write(self, module, source):
        self.path(module).parent.mkdir(parents=True, exist_ok=True)
        self.path(module).write_text(source.replace("PACKAGE", self.name), newline="")
        importlib.invalidate_caches()
        digest.forget()

    def digest(self, *modules):
        return digest.code_digest(tuple(f"{self.name}.{module}" for module in modules))

    def behind(self, *modules):
        found = digest.modules_behind(f"{self.name}.{module}" for module in modules)
        return {name.removeprefix(f"{self.name}.") for name in found}


@pytest.fixture
def package(tmp_path, monkeypatch):
    name = next(_NAMES)
    monkeypatch.setattr(digest, "PACKAGE", name)
    monkeypatch.syspath_prepend(tmp_path / "source")
    yield Package(tmp_path / "source", name)
    digest.forget()
    for module in [module for module in sys.modules if module.partition(".")[0] == name]:
        del sys.modules[module]
