"""What the theorems on random check-ins say besides epsilon, and what drawn check-ins show, by name.

A quantity is a function of one setting. Adding one takes a function and an entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from shuffledp import checks, convergence, protocols
from shuffledp.checkin import balle2020
from shuffledp.checks import FloatArray

Kind = Literal["exact", "upper", "estimate"]

Point = Mapping[str, float]


@dataclass(frozen=True)
class Quantity:
    """One quantity.

    Attributes:
        name: by which the configuration and the results know it.
        label: for legends.
        theorem: where it is from.
        kind: "exact", "upper" or, where it is drawn at random, "estimate".
        variables: what sets it.
        compute: from those, by name, to its value and, for an estimate, ``error``: one standard error.
    """

    name: str
    label: str
    theorem: str
    kind: Kind
    variables: tuple[str, ...]
    compute: Callable[..., Point]


_REGISTRY: dict[str, Quantity] = {}


def register(
    name: str, *, label: str, theorem: str, kind: Kind, variables: Iterable[str]
) -> Callable[[Callable[..., Point]], Callable[..., Point]]:
    """Enter the decorated function; the fields are those of ``Quantity``.

    Raises:
        ValueError: the name is taken, or the kind unknown.
    """
    checks.choice("kind", kind, get_args(Kind))
    if name in _REGISTRY:
        raise ValueError(f"quantity {name!r} is registered already; choose another name")

    def enter(compute: Callable[..., Point]) -> Callable[..., Point]:
        _REGISTRY[name] = Quantity(name, label, theorem, kind, tuple(variables), compute)
        return compute

    return enter


def get(name: str) -> Quantity:
    """Return the quantity of that name.

    Raises:
        ValueError: there is none.
    """
    return _REGISTRY[checks.choice("quantity", name, tuple(_REGISTRY))]


def names() -> list[str]:
    """Return the names of all quantities."""
    return list(_REGISTRY)


def evaluate(quantity: Quantity, *, variable: str, values: Iterable[float], fixed: Point) -> dict[str, Any]:
    """Evaluate a quantity along one of its variables.

    Args:
        quantity: the registry entry.
        variable: what varies.
        values: the points.
        fixed: the others, by name.

    Returns:
        Columns of one length: the variables, then value and what else the quantity returns.

    Raises:
        ValueError: a variable is missing, unknown or given twice, or a value is out of range.
    """
    if {variable, *fixed} != set(quantity.variables) or variable in fixed:
        raise ValueError(
            f"variable and fixed must name each of {', '.join(quantity.variables)} once, "
            f"got variable={variable!r} and fixed={sorted(fixed)}"
        )
    rows = []
    for value in values:
        setting = {**fixed, variable: value}
        given = {name: setting[name] for name in quantity.variables}
        rows.append({**given, **quantity.compute(**given)})
    return {column: [row[column] for row in rows] for column in rows[0]}


def _window(protocol: str, **setting: Any) -> protocols.Window:
    found = protocols.create(protocol, **setting)
    assert isinstance(found, protocols.Window)  # as of every protocol that quantities name
    return found


# Empty slots, which the server answers with dummy updates


def _empty_slots(*, n: int, slots: int, participation: float = 1.0) -> tuple[float, float]:
    return balle2020.empty_slots(n=n, slots=slots, participation=participation)


def _sliding_empty_slots(*, n: int, slots: int) -> tuple[float, float]:
    return balle2020.sliding_window_empty_slots(n=n, slots=slots)


_WINDOWS = {
    "fixed-window": ("Proposition 3.4", _empty_slots, ("n", "slots", "participation")),
    "sliding-window": ("Proposition 4.4", _sliding_empty_slots, ("n", "slots")),
}


def _dummies(formula: Callable[..., tuple[float, float]], place: int, **setting: float) -> Point:
    return {"value": formula(**setting)[place]}


def _drawn_dummies(protocol: str, *, runs: int, seed: int, n: int, **setting: Any) -> Point:
    """Return the mean number of slots that nobody picks, over runs of a protocol."""
    count = checks.count("runs", runs, at_least=2)
    drawn = _window(protocol, n=n, seed=int(seed), **setting)
    empty = np.array([float((drawn.loads(run) == 0).sum()) for run in range(count)])
    return {"value": float(empty.mean()), "error": float(empty.std(ddof=1)) / math.sqrt(count)}


for _protocol, (_theorem, _formula, _variables) in _WINDOWS.items():
    register(
        f"{_protocol}-dummies",
        label="expected dummy updates",
        theorem=f"{_theorem} of balle2020",
        kind="exact",
        variables=_variables,
    )(partial(_dummies, _formula, 0))
    register(
        f"{_protocol}-dummies-bound",
        label="bound",
        theorem=f"{_theorem} of balle2020",
        kind="upper",
        variables=_variables,
    )(partial(_dummies, _formula, 1))
    register(
        f"{_protocol}-dummies-drawn",
        label="drawn, two standard errors",
        theorem="the protocol, drawn",
        kind="estimate",
        variables=(*_variables, "runs", "seed"),
    )(partial(_drawn_dummies, _protocol))


# Loads of the slots of an averaged window


@register(
    "load-norm-bound",
    label="bound, at probability delta",
    theorem="Lemma A.6 of balle2020",
    kind="upper",
    variables=("n", "slots", "delta"),
)
def _load_norm(*, n: int, slots: int, delta: float) -> Point:
    return {"value": balle2020.load_norm(n=n, slots=slots, delta=delta)}


def _drawn_norms(*, n: int, slots: int, runs: int, seed: int) -> FloatArray:
    """Return the l_2 norm of the loads in so many runs."""
    drawn = _window("averaged-window", n=n, seed=int(seed), slots=slots)
    return np.array([float(np.linalg.norm(drawn.loads(run))) for run in range(runs)])


@register(
    "load-norm-quantile",
    label="drawn, quantile at 1 - delta, two standard errors",
    theorem="the protocol, drawn",
    kind="estimate",
    variables=("n", "slots", "delta", "runs", "seed"),
)
def _load_norm_quantile(*, n: int, slots: int, delta: float, runs: int, seed: int) -> Point:
    """Return the norm that a share delta of so many runs exceeds, which is what Lemma A.6 bounds.

    The standard error is that of how many runs lie below it, in norms.
    """
    count = checks.count("runs", runs, at_least=2)
    beyond = checks.probability("delta", delta)
    norms = np.sort(_drawn_norms(n=n, slots=slots, runs=count, seed=seed))
    place, spread = count * (1 - beyond), math.sqrt(count * beyond * (1 - beyond))
    places = np.clip(np.ceil([place, place - spread, place + spread]).astype(int) - 1, 0, count - 1)
    value, low, high = norms[places].tolist()
    return {"value": value, "error": (high - low) / 2}


@register(
    "load-norm-drawn",
    label="largest drawn",
    theorem="the protocol, drawn",
    kind="estimate",
    variables=("n", "slots", "delta", "runs", "seed"),
)
def _drawn_load_norm(*, n: int, slots: int, delta: float, runs: int, seed: int) -> Point:
    """Return the largest l_2 norm of the loads in so many runs, and the share beyond Lemma A.6's bound."""
    norms = _drawn_norms(n=n, slots=slots, runs=checks.count("runs", runs), seed=seed)
    beyond = norms > balle2020.load_norm(n=n, slots=slots, delta=delta)
    return {"value": float(norms.max()), "beyond": float(beyond.mean())}


# Simple closed forms of epsilon, and what they bound

_OF_WINDOW = ("slots", "participation", "eps0", "delta")
_OF_WINDOWS = ("n", "slots", "eps0", "delta")


@register(
    "window-epsilon",
    label="what it bounds",
    theorem="Theorem 3.2 (A.4) of balle2020, the closed form as printed",
    kind="upper",
    variables=_OF_WINDOW,
)
def _window_epsilon(*, slots: int, participation: float, eps0: float, delta: float) -> Point:
    return {"value": balle2020.fixed_window(slots=slots, eps0=eps0, delta=delta, participation=participation)}


@register(
    "window-epsilon-simple",
    label="simple closed form",
    theorem="Theorem 3.2 of balle2020, 7 p0 eps0 sqrt(log(1/delta)/m) for eps0 <= 1",
    kind="upper",
    variables=_OF_WINDOW,
)
def _simple_window_epsilon(*, slots: int, participation: float, eps0: float, delta: float) -> Point:
    return {
        "value": balle2020.simple_fixed_window(
            slots=slots, eps0=eps0, delta=delta, participation=participation
        )
    }


@register(
    "windows-epsilon",
    label="what it bounds",
    theorem="equation (7) of balle2020, of n/m windows by Theorem 3.2 with p0 = m/n, each at delta",
    kind="upper",
    variables=_OF_WINDOWS,
)
def _windows_epsilon(*, n: int, slots: int, eps0: float, delta: float) -> Point:
    one = balle2020.fixed_window(slots=slots, eps0=eps0, delta=delta, participation=slots / n)
    return {"value": balle2020.composed_windows(eps=one, windows=int(n // slots), delta=delta)}


@register(
    "windows-epsilon-simple",
    label="simple closed form",
    theorem="Corollary 3.3 of balle2020, beta = delta",
    kind="upper",
    variables=_OF_WINDOWS,
)
def _simple_windows_epsilon(*, n: int, slots: int, eps0: float, delta: float) -> Point:
    return {"value": balle2020.corollary_3_3(n=n, slots=slots, eps0=eps0, beta=delta, delta=delta)}


# Utility

_OF_UTILITY = ("n", "slots", "dimension", "sigma", "lipschitz", "radius")


@register(
    "fixed-window-utility",
    label="fixed window",
    theorem="Theorem 3.5 of balle2020",
    kind="upper",
    variables=(*_OF_UTILITY, "participation"),
)
def _fixed_window_utility(**setting: Any) -> Point:
    return {"value": convergence.fixed_window_utility(**setting)}


@register(
    "averaged-window-utility",
    label="averaging",
    theorem="Theorem 4.2 of balle2020, convex loss",
    kind="upper",
    variables=_OF_UTILITY,
)
def _averaged_utility(**setting: Any) -> Point:
    return {"value": convergence.averaging_utility(**setting)}


@register(
    "averaged-window-utility-smooth",
    label="averaging, smooth loss",
    theorem="Theorem 4.2 of balle2020, convex and smooth loss",
    kind="upper",
    variables=(*_OF_UTILITY, "smoothness"),
)
def _smooth_utility(**setting: Any) -> Point:
    return {"value": convergence.averaging_utility(**setting)}
