"""Modules that are loaded when something of theirs is first used, and not before."""

from __future__ import annotations

import importlib
import importlib.util
import sys


def defer(package: str, *names: str) -> None:
    """Let imports of submodules bind them unloaded; the first use of an attribute loads them.

    Planning and drawing import the accountants, to know what there is, and compute nothing with them: to load
    what only computing needs would take a quarter of the start of a run.

    Args:
        package: a package; it is imported if it is there.
        names: submodules of its own; those that are loaded already stay.
    """
    if importlib.util.find_spec(package) is None:
        return
    parent = importlib.import_module(package)
    for name in names:
        full = f"{package}.{name}"
        # to look for one that is there would load it
        spec = None if full in sys.modules else importlib.util.find_spec(full)
        if spec is None or spec.loader is None:
            continue
        spec.loader = importlib.util.LazyLoader(spec.loader)
        module = importlib.util.module_from_spec(spec)
        sys.modules[full] = module
        spec.loader.exec_module(module)
        # without it, an import by name from the package would look into the module, and so load it
        setattr(parent, name, module)


def defer_computing() -> None:
    """Load the parts of scipy that the accountants compute with only once they do."""
    defer("scipy", "special", "optimize", "fft")
