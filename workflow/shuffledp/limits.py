"""The largest values of variables that are accounted for, each with the reason why it ends there.

The command line and the schema of the configuration name the same limits. Nothing heavy is imported here, so
that a refusal need not wait for numpy.
"""

from __future__ import annotations

from typing import NamedTuple


class Limit(NamedTuple):
    """The ends of a variable's range.

    Attributes:
        least: smallest value, where it is more than what the variable means that ends the range; 0 if not.
        most: largest value.
        why: why it ends there, after "since".
    """

    least: float
    most: float
    why: str


_EXACT = Limit(0, 1e15, "whole numbers far beyond it are not exact in double precision")
_SQUARES = Limit(1e-100, 1e100, "its square must be exact in double precision")
LIMITS = {
    "n": _EXACT,
    "k": _EXACT,
    "slots": _EXACT,
    "rounds": _EXACT,
    "categories": _EXACT,
    "eps0": Limit(0, 1e5, "reports with a larger one hide nothing"),
    "sigma": _SQUARES,
    "threads": Limit(0, 1024, "no machine of today computes faster with more"),
}


def beyond(variable: str, value: float) -> str | None:
    """Return what a message says after the variable's name if its value is out of the limits, else None."""
    if variable not in LIMITS:
        return None
    least, most, why = LIMITS[variable]
    if 0 < value < least:  # what is smaller is no value at all, which others say
        return f"must be at least {least:g}, since {why}, got {value!r}"
    if value > most:
        return f"must be at most {most:g}, since {why}, got {value!r}"
    return None


def check(variable: str, value: float) -> None:
    """Make sure that a variable's value lies in its limits.

    Raises:
        ValueError: it does not; the message has the limit and its reason.
    """
    words = beyond(variable, value)
    if words:
        raise ValueError(f"{variable} {words}")
