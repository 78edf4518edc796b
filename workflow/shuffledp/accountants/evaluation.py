"""Values of one accountant along one variable: the points of a curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks
from shuffledp.accountants.inversion import delta_of
from shuffledp.accountants.registry import Accountant
from shuffledp.checks import FloatArray


def evaluate(
    accountant: Accountant, *, variable: str, values: ArrayLike, fixed: dict[str, float]
) -> dict[str, FloatArray]:
    """Evaluate an accountant along one variable.

    Args:
        accountant: the registry entry.
        variable: what varies. A variable of the accountant's system, rounds or delta gives epsilon; epsilon
            gives delta.
        values: the points, one-dimensional.
        fixed: the other variables by name, with delta unless epsilon varies.

    Returns:
        Columns of one length: the variables of the system, rounds, and delta (or epsilon), then the columns
        of ``Accountant.details``, which err to the side of the accountant's kind. Where epsilon varies, delta
        is as of ``calibration.delta_at``, and the details are those at that delta.

    Raises:
        ValueError: a variable is missing, unknown or given twice, or a value is out of range.
    """
    wanted = accountant.system.curve_variables(variable)
    if variable not in wanted or {variable, *fixed} != set(wanted) or variable in fixed:
        raise ValueError(
            f"variable and fixed must name each of {', '.join(wanted)} once, "
            f"got variable={variable!r} and fixed={sorted(fixed)}"
        )
    points = checks.reals("values", values)
    if points.ndim != 1:
        raise ValueError(f"values must be one-dimensional, got an array of shape {points.shape}")
    if variable == "epsilon":
        found = [_at_epsilon(accountant, eps, fixed) for eps in points.tolist()]
    elif variable == "rounds":
        found = [accountant.details(**fixed, rounds=points)]
    else:
        found = [accountant.details(**fixed, **{variable: point}) for point in points.tolist()]
    given = {name: np.broadcast_to(np.float64(fixed.get(name, np.nan)), points.shape) for name in wanted}
    given[variable] = points
    # at delta = 0 an accountant has no details besides epsilon, so columns may be missing from a row
    columns = dict.fromkeys(name for row in found for name in row)
    results = {
        name: np.concatenate([np.atleast_1d(row.get(name, np.nan)) for row in found]) for name in columns
    }
    return {**given, **results}


def _at_epsilon(accountant: Accountant, eps: float, fixed: dict[str, float]) -> dict[str, float | FloatArray]:
    delta = delta_of(accountant, eps=eps, **fixed)
    # every mechanism is (eps, 1)-DP, and accountants take no delta of 1
    details = accountant.details(**fixed, delta=min(delta, 1 - 1e-15))
    return {"delta": delta, **{name: value for name, value in details.items() if "epsilon" not in name}}
