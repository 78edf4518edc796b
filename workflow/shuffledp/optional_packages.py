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
        *others, last = missing
        names = f"{', '.join(others)} and {last}" if others else last
        raise ValueError(
            f"{extra} needs {names}, which {'are' if others else 'is'} not installed; in a clone of the "
            f"repository, run: pip install '.[{extra}]'"
        )
