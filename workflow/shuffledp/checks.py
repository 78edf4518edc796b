"""Validation of arguments, shared by every public function.

Each check returns the argument in the type that the numerics want, or raises a ``ValueError`` that
names the argument, the value that came in and the values that would have been accepted.
"""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} must be a single real number, got {value!r}")
    number = float(value)
    if math.isnan(number):
        raise ValueError(f"{name} must not be nan")
    return number


def real(name: str, value: object, *, at_least: float = -math.inf, finite: bool = True) -> float:
    """Return ``value`` as a float that is at least ``at_least`` (and finite, unless told otherwise)."""
    number = _number(name, value)
    if number < at_least or (finite and math.isinf(number)):
        raise ValueError(f"{name} must be a {'finite ' * finite}number >= {at_least:g}, got {value!r}")
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
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or an array of numbers, got {value!r}") from None
    if np.isnan(array).any():
        raise ValueError(f"{name} must not be nan, got {value!r}")
    return array


def reals(name: str, value: ArrayLike, *, at_least: float = -math.inf) -> FloatArray:
    """Return an array (of any shape) of finite numbers >= ``at_least``."""
    array = _array(name, value)
    if np.isinf(array).any() or (array < at_least).any():
        raise ValueError(f"{name} must hold finite numbers >= {at_least:g}, got {value!r}")
    return array


def probabilities(name: str, value: ArrayLike, *, zero: bool = False, one: bool = False) -> FloatArray:
    """Return an array (of any shape) of numbers in (0, 1); ``zero`` and ``one`` as for ``probability``."""
    array = _array(name, value)
    below = array < 0 if zero else array <= 0
    above = array > 1 if one else array >= 1
    if (below | above).any():
        interval = f"{'[' if zero else '('}0, 1{']' if one else ')'}"
        raise ValueError(f"{name} must lie in {interval}, got {value!r}")
    return array


def counts(name: str, value: ArrayLike, *, at_least: int = 0) -> FloatArray:
    """Return an array (of any shape) of whole numbers >= ``at_least``, as float64."""
    array = reals(name, value)
    if (array != np.floor(array)).any() or (array < at_least).any():
        raise ValueError(f"{name} must hold whole numbers >= {at_least}, got {value!r}")
    return array


def integer_orders(value: ArrayLike) -> FloatArray:
    """Return Renyi orders for a theorem that holds at whole orders >= 2 only."""
    array = _array("order", value)
    if np.isinf(array).any() or (array != np.floor(array)).any() or (array < 2).any():
        raise ValueError(
            f"order must hold whole numbers >= 2 for this bound, got {value!r}; between two whole orders "
            "interpolate (order - 1) * rdp linearly, as shuffledp.rdp.to_epsilon does"
        )
    return array


def real_orders(value: ArrayLike) -> FloatArray:
    """Return Renyi orders for a bound that holds at every finite order > 1."""
    array = _array("order", value)
    if np.isinf(array).any() or (array <= 1).any():
        raise ValueError(f"order must hold finite numbers > 1, got {value!r}")
    return array


def like_input(result: FloatArray) -> float | FloatArray:
    """Return a zero-dimensional result as a Python float and any other as it is."""
    return float(result) if np.ndim(result) == 0 else result


def choice(name: str, value: object, accepted: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``accepted``."""
    if value not in accepted:
        raise ValueError(f"{name} must be one of {', '.join(accepted)}, got {value!r}")
    return str(value)
