"""Packages that only some commands need, and how to get them."""

from __future__ import annotations

import importlib.util


def need(*modules: str, extra: str) -> None:
    """Make sure that modules of an extra of this package are installed.

    Args:
        modules: their names.
        extra: the extra that installs them.

    Raises:
        ValueError: one is missing; the message names it and how to install it.
    """
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(
            f"{extra} needs {' and '.join(missing)}, which is not installed; run: "
            f"pip install 'shuffledp[{extra}]'"
        )
