"""Curves: one accountant along one variable."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks
from shuffledp.accountants.registry import Accountant
from shuffledp.accountants.variables import VARIABLES
from shuffledp.checks import FloatArray


def sweep(
    accountant: Accountant, *, variable: str, values: ArrayLike, fixed: dict[str, float]
) -> dict[str, FloatArray]:
    """Evaluate an accountant along one variable.

    Args:
        accountant: the registry entry.
        variable: which of n, k, eps0, rounds, delta varies.
        values: the points, one-dimensional.
        fixed: the other four by name.

    Returns:
        Columns of one length: the five variables, then what ``Accountant.details`` returns, of the
        accountant's kind.

    Raises:
        ValueError: a variable is missing, unknown or given twice, or a value is out of range.
    """
    if variable not in VARIABLES or {variable, *fixed} != set(VARIABLES) or variable in fixed:
        raise ValueError(
            f"variable and fixed must name each of {', '.join(VARIABLES)} once, "
            f"got variable={variable!r} and fixed={sorted(fixed)}"
        )
    points = checks.reals("values", values)
    if points.ndim != 1:
        raise ValueError(f"values must be one-dimensional, got an array of shape {points.shape}")
    if variable == "rounds":
        found = [accountant.details(**fixed, rounds=points)]
    else:
        found = [accountant.details(**fixed, **{variable: point}) for point in points.tolist()]
    given = {name: np.broadcast_to(np.float64(fixed.get(name, np.nan)), points.shape) for name in VARIABLES}
    given[variable] = points
    results = {name: np.concatenate([np.atleast_1d(row[name]) for row in found]) for name in found[0]}
    return {**given, **results}
