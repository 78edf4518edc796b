"""The randomisers by name: each is one module of this folder, which is found without being listed.

No run of training depends on this module, so that a new randomiser makes none stale: a run names the module
of its randomiser itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping

from shuffledp import randomizers

# The modules of the folder that are no randomisers.
_SHARED = ("base", "clt", "constants", "names", "precision", "registry")

NAMES = tuple(one.name for one in pkgutil.iter_modules(randomizers.__path__) if one.name not in _SHARED)
"""The randomisers by name. Nothing here needs torch until one is made."""


class _Classes(Mapping[str, str]):
    """The name of the class of each randomiser, for which its module is imported when it is asked for."""

    def __getitem__(self, name: str) -> str:
        if name not in NAMES:
            raise KeyError(name)
        module = importlib.import_module(f"{randomizers.__name__}.{name}")
        for attribute, value in vars(module).items():
            if isinstance(value, type) and getattr(value, "name", None) == name:
                return attribute
        raise LookupError(f"{module.__file__} must define a class whose name is {name!r}; give one that name")

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


CLASSES: Mapping[str, str] = _Classes()
