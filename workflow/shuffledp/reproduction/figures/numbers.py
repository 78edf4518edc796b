"""Numbers as text for captions and formulas."""

from __future__ import annotations


def short(value: float) -> str:
    """Return a number as people write it: 0.5, 100, 1e5, 1e-8."""
    if value != 0 and not 1e-3 < abs(value) < 1e4:
        mantissa, exponent = f"{value:.6e}".split("e")
        return f"{float(mantissa):g}e{int(exponent)}"
    return f"{value:.6g}"


def power_of_ten(value: float) -> str:
    """Return a number for use inside mathtext: in powers of ten if it is 1000 or more, or below 0.001."""
    value = float(f"{value:.3g}")
    if 1e-3 < abs(value) < 1e3 or value == 0:
        return f"{value:g}"
    mantissa, exponent = f"{value:.2e}".split("e")
    factor = "" if float(mantissa) == 1 else rf"{float(mantissa):g} \cdot "
    return f"{factor}10^{{{int(exponent)}}}"
