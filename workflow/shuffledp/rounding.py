"""Numbers as text, for tables and for people, rounded such that a bound remains a bound."""

from __future__ import annotations

import decimal

# Significant digits, as many as the answers of ``accountants.calibration`` have: none is rounded when shown.
DIGITS = 7

_OUTWARD = {"upper": decimal.ROUND_CEILING, "lower": decimal.ROUND_FLOOR}
_LONGEST = 310  # digits before the point of the largest double, and one more


def shown(value: float, kind: str, *, digits: int | None = DIGITS, places: int | None = None) -> str:
    """Write a number, rounded in the direction in which a bound stays one.

    Args:
        value: the number.
        kind: "upper", which is rounded up, "lower", which is rounded down, or anything else: to the nearest.
        digits: number of significant digits, without zeros at the end, from 1 to 15: every double holds as
            many, and with more the last one might end on the wrong side. None for the fewest digits that
            read back as the same double, which are not rounded for any kind.
        places: number of digits after the point, in place of ``digits``; zeros at the end are written.
    """
    number = float(value)
    # the shortest digits of this double, so that 0.1 is not rounded up for the error of the double
    exact = repr(number)
    if number - number != 0 or (digits is None and places is None):
        return exact.removesuffix(".0")
    rounding = _OUTWARD.get(kind, decimal.ROUND_HALF_EVEN)
    if places is not None:
        context = decimal.Context(prec=_LONGEST + places, rounding=rounding)
        return f"{decimal.Decimal(exact).quantize(decimal.Decimal(1).scaleb(-places), context=context):f}"
    rounded = decimal.Context(prec=digits, rounding=rounding).create_decimal(exact)
    return f"{float(rounded):.{digits}g}"
