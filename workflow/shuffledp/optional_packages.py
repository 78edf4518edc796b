"""Packages that only some commands need, and how to get them."""

from __future__ import annotations

import importlib.util


def need(*modules: str, extra: str) -> None:
    """Refuse to go on without modules that an extra of this package brings.

    Raises:
        ValueError: naming what is missing and how to install it.
    """
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(
            f"{extra} needs {' and '.join(missing)}, which is not installed; run: "
            f"pip install 'shuffledp[{extra}]'"
        )
