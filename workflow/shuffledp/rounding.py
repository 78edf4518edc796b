"""Numbers for people to read, rounded so that a bound stays one."""

from __future__ import annotations

import decimal

DIGITS = 7

_OUTWARD = {"upper": decimal.ROUND_CEILING, "lower": decimal.ROUND_FLOOR}


def shown(value: float, kind: str) -> str:
    """Round for display in the direction in which a bound stays one.

    Args:
        value: the number.
        kind: "upper", which is rounded up, "lower", which is rounded down, or anything else: to the nearest.
    """
    context = decimal.Context(prec=DIGITS, rounding=_OUTWARD.get(kind, decimal.ROUND_HALF_EVEN))
    # from the shortest digits that mean this number, so that 0.1 is not rounded up for what a double lacks
    rounded = context.create_decimal(repr(value))
    return f"{float(rounded):.{DIGITS}g}"
