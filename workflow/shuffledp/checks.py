"""Validation of arguments, shared by every public function.

Each check returns the argument in the type that the numerics want, or raises a ``ValueError`` that
names the argument, the value that came in and the values that would have been accepted.
"""

from __future__ import annotations

import math
import reprlib
from numbers import Real
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
Choice = TypeVar("Choice", bound=str)
_SHOWN = 100  # largest number of characters of a value that an error message repeats


def _number(name: str, value: object) -> float:
    """Return ``value`` as a float, infinite if it is too large for one; the range check refuses it then."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} must be a single real number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]  # Real promises no order


def _range(at_least: float) -> str:
    return "" if math.isinf(at_least) else f" >= {at_least:g}"


def real(name: str, value: object, *, at_least: float = -math.inf, finite: bool = True) -> float:
    """Return ``value`` as a float that is at least ``at_least`` (and finite, unless told otherwise)."""
    number = _number(name, value)
    if not number >= at_least or (finite and math.isinf(number)):
        kind = "finite number" if finite else "number"
        raise ValueError(f"{name} must be a {kind}{_range(at_least)}, got {value!r}")
    return number


def positive(name: str, value: object) -> float:
    """Return ``value`` as a finite float > 0."""
    number = _number(name, value)
    if not 0 < number < math.inf:
        raise ValueError(f"{name} must be a finite number > 0, got {value!r}")
    return number


def eps0(value: object) -> float:
    """Return the local privacy parameter, a finite number >= 0."""
    return real("eps0", value, at_least=0.0)


def count(name: str, value: object, *, at_least: int = 1) -> int:
    """Return ``value`` as a whole number; ``1e6`` counts as 1000000."""
    number = _number(name, value)
    if not number.is_integer() or number < at_least:
        raise ValueError(f"{name} must be a whole number >= {at_least}, got {value!r}")
    return int(value)  # type: ignore[call-overload]  # int() of the original keeps integers above 2**53


def clients(n: object, k: object) -> tuple[int, int]:
    """Return the number of clients and the number per round, 1 <= k <= n."""
    total, per_round = count("n", n), count("k", k)
    if per_round > total:
        raise ValueError(f"k must be at most n: a round cannot draw k={per_round} of n={total} clients")
    return total, per_round


def probability(name: str, value: object, *, zero: bool = False, one: bool = False) -> float:
    """Return a number in (0, 1); ``zero`` and ``one`` say which of the end points belong to the range."""
    return float(probabilities(name, _number(name, value), zero=zero, one=one))


def _array(name: str, value: ArrayLike) -> FloatArray:
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be a number or an array of numbers, got {reprlib.repr(value)}")
    return array.astype(np.float64)


def _got(value: object, array: FloatArray, accepted: BoolArray) -> str:
    """Return the given value as text; if it does not fit into a line, the first number that is refused."""
    shown = repr(value)
    if len(shown) <= _SHOWN and "\n" not in shown:
        return shown
    return f"{float(array[~accepted][0])!r} among {array.size} values"


def reals(name: str, value: ArrayLike, *, at_least: float = -math.inf) -> FloatArray:
    """Return an array (of any shape) of finite numbers >= ``at_least``."""
    array = _array(name, value)
    accepted = np.isfinite(array) & (array >= at_least)
    if not accepted.all():
        raise ValueError(
            f"{name} must hold finite numbers{_range(at_least)}, got {_got(value, array, accepted)}"
        )
    return array


def probabilities(name: str, value: ArrayLike, *, zero: bool = False, one: bool = False) -> FloatArray:
    """Return an array (of any shape) of numbers in (0, 1); ``zero`` and ``one`` as for ``probability``."""
    array = _array(name, value)
    above = array >= 0 if zero else array > 0
    below = array <= 1 if one else array < 1
    accepted = above & below
    if not accepted.all():
        interval = f"{'[' if zero else '('}0, 1{']' if one else ')'}"
        raise ValueError(f"{name} must lie in {interval}, got {_got(value, array, accepted)}")
    return array


def counts(name: str, value: ArrayLike, *, at_least: int = 0) -> FloatArray:
    """Return an array (of any shape) of whole numbers >= ``at_least``, as float64."""
    array = _array(name, value)
    accepted = np.isfinite(array) & (array == np.floor(array)) & (array >= at_least)
    if not accepted.all():
        raise ValueError(f"{name} must hold whole numbers >= {at_least}, got {_got(value, array, accepted)}")
    return array


def integer_orders(value: ArrayLike) -> FloatArray:
    """Return Renyi orders for a theorem that holds at whole orders >= 2 only."""
    array = _array("order", value)
    accepted = np.isfinite(array) & (array == np.floor(array)) & (array >= 2) & (array <= 2.0**53)
    if not accepted.all():
        raise ValueError(
            "order must hold whole numbers >= 2 (and <= 2^53) for this bound, got "
            f"{_got(value, array, accepted)}; between two of "
            "them interpolate (order - 1) * rdp linearly, as shuffledp.rdp.to_epsilon does"
        )
    return array


def real_orders(value: ArrayLike) -> FloatArray:
    """Return Renyi orders for a bound that holds at every finite order > 1."""
    array = _array("order", value)
    accepted = np.isfinite(array) & (array > 1)
    if not accepted.all():
        raise ValueError(f"order must hold finite numbers > 1, got {_got(value, array, accepted)}")
    return array


def like_input(result: FloatArray) -> float | FloatArray:
    """Return a zero-dimensional result as a Python float and any other as it is."""
    return float(result) if np.ndim(result) == 0 else result


def choice(name: str, value: object, accepted: tuple[Choice, ...]) -> Choice:
    """Return the one of ``accepted`` that ``value`` is."""
    for one in accepted:
        if value == one:
            return one
    raise ValueError(f"{name} must be one of {', '.join(accepted)}, got {value!r}")
