"""The registry of accountants: who bounds epsilon, by which theorem, and on which side.

This module knows no accountant and no system; each module of ``shuffledp.accountants`` registers its own.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from shuffledp import checks, numerics
from shuffledp.accountants import systems
from shuffledp.checks import FloatArray
from shuffledp.variables import check_limit

Kind = Literal["upper", "lower", "estimate"]
Scope = Literal["epsilon", "renyi", "clones"]
Columns = dict[str, FloatArray]

_BASIC_ROUNDING = 16 * numerics.EPSILON  # of what ``System.basic`` says, and of its products with rounds


@dataclass(frozen=True)
class Description:
    """What is said of an accountant, in legends, captions, tables and records.

    Attributes:
        name: the registry's key.
        citation: citation keys of the papers behind it.
        theorem: the theorems used.
        kind: ``upper``: epsilon is certified; ``lower``: no accountant in ``scope`` can report less;
            ``estimate``: neither.
        label: what a legend says.
        needs: what the randomiser must satisfy.
        scope: what a lower bound bounds: ``epsilon`` itself, or only what ``renyi`` accounting, or accounting
            by way of the ``clones`` pair, can report.
        protocol: who takes part in a round.
        mechanism: what they send.
        variant_of: the accountant whose bound this one evaluates in another way, for a paper's figure or as a
            reference; "" for those that ``names`` lists.
        note: what a reader must know before quoting the number.
    """

    name: str
    citation: str
    theorem: str
    kind: Kind
    label: str
    needs: tuple[str, ...]
    scope: Scope
    protocol: str
    mechanism: str
    variant_of: str
    note: str

    @property
    def system(self) -> systems.System:
        """The system that it accounts for."""
        return systems.get(self.protocol, self.mechanism)


@dataclass(frozen=True)
class Accountant(Description):
    """One way to account for T rounds of a system.

    Attributes:
        compute: keyword-only variables of the system, rounds (array) and delta (in (0, 1)) to columns of the
            length of ``rounds``; "epsilon" is one of them, the theorem's own value.
    """

    compute: Callable[..., Columns]

    @property
    def description(self) -> Description:
        """What is said of it, without what computes."""
        return Description(**{field.name: getattr(self, field.name) for field in fields(Description)})

    def details(self, *, rounds: ArrayLike, delta: float, **setting: float) -> dict[str, float | FloatArray]:
        """Return epsilon and what the accountant found on the way (best order, split of delta, ...).

        Args:
            rounds: number of rounds T, whole numbers >= 0, any shape.
            delta: target, in [0, 1); 0 asks for pure DP.
            setting: the variables of the accountant's system. Of the subsampled shuffle: n, the number of
                clients; k, those drawn afresh for a round, 1 <= k <= n; eps0, the local privacy parameter,
                >= 0.

        Returns:
            Columns of the shape of ``rounds``. "theorem_epsilon" is the theorem's own value (inf at
            delta = 0). "epsilon" is that or, if smaller, what the guarantees of single rounds add up to
            (``System.basic``), which bounds epsilon from above for every randomiser: for the subsampled
            shuffle rounds * log(1 + gamma (e^eps0 - 1)); for (eps0, delta0)-LDP reports rounds * eps0, where
            delta is at least rounds times the probability of taking part times delta0. Two-symbol randomised
            response attains the first at delta = 0, so it caps lower bounds as well. A delta below 1e-300
            counts as 0, and as 1e-300 for a lower bound.

        Raises:
            ValueError: an argument is out of range, or the setting is one of another system.
        """
        checked = self.system.checked(setting, f"accountant {self.name!r}")
        counts = checked_rounds(rounds)
        delta = systems.checked("delta", delta)
        flat = counts.ravel()
        if delta < numerics.SMALLEST_DELTA:
            delta = 0.0 if self.kind != "lower" or delta == 0 else numerics.SMALLEST_DELTA
        if delta == 0:
            columns: Columns = {"epsilon": np.full(flat.shape, np.inf)}
        else:
            columns = dict(self.compute(**checked, rounds=flat, delta=delta))
        own = columns.pop("epsilon")
        added_up = self._added_up(checked, flat, delta)
        if self.kind == "lower":
            cap = added_up * (1 - _BASIC_ROUNDING)
        else:
            cap = added_up * (1 + _BASIC_ROUNDING)
            # what ends at the cap may have been rounded to the nearest
            own = np.where((own >= added_up * (1 - _BASIC_ROUNDING)) & (own < cap), cap, own)
        columns = {"epsilon": np.minimum(own, cap), "theorem_epsilon": own, **columns}
        return {key: checks.like_input(column.reshape(counts.shape)) for key, column in columns.items()}

    def _added_up(self, setting: systems.Setting, rounds: FloatArray, delta: float) -> FloatArray:
        """Return epsilon by basic composition, to be rounded; inf where delta does not pay for all rounds."""
        eps, each = self.system.basic(setting)
        paid = rounds * each * (1 + _BASIC_ROUNDING) <= delta
        # no rounds cost nothing, even where nothing bounds a round
        found = np.where(rounds > 0, np.inf, 0.0)
        np.multiply(rounds, eps, out=found, where=paid & (rounds > 0))
        return found

    def epsilon(self, *, rounds: ArrayLike, delta: float, **setting: float) -> float | FloatArray:
        """Return epsilon after ``rounds`` rounds; arguments, direction and errors as for ``details``."""
        return self.details(rounds=rounds, delta=delta, **setting)["epsilon"]


def checked_rounds(value: ArrayLike) -> FloatArray:
    """Return numbers of rounds, whole and within their limits.

    Args:
        value: numbers of rounds, whole numbers >= 0, any shape.

    Raises:
        ValueError: one is out of range.
    """
    if isinstance(value, int):  # one that no array of numbers holds would be refused as no number
        check_limit("rounds", value)
    counts = checks.counts("rounds", value)
    if counts.size:
        check_limit("rounds", float(counts.max()))
    return counts


_REGISTRY: dict[str, Accountant] = {}


def register(
    *,
    name: str,
    citation: str,
    theorem: str,
    kind: Kind,
    label: str,
    needs: tuple[str, ...],
    note: str,
    scope: Scope = "epsilon",
    protocol: str = systems.SUBSAMPLED_SHUFFLE[0],
    mechanism: str = systems.SUBSAMPLED_SHUFFLE[1],
    variant_of: str = "",
) -> Callable[[Callable[..., Columns]], Callable[..., Columns]]:
    """Enter the decorated function in the registry; the fields are those of ``Description``.

    Raises:
        ValueError: the name is taken, the kind is none of upper, lower and estimate, or there is no such
            system.
    """
    checks.choice("kind", kind, get_args(Kind))
    checks.choice("scope", scope, get_args(Scope))
    systems.get(protocol, mechanism)

    def enter(compute: Callable[..., Columns]) -> Callable[..., Columns]:
        if name in _REGISTRY:
            raise ValueError(f"an accountant named {name!r} is registered already; choose another name")
        _REGISTRY[name] = Accountant(
            name, citation, theorem, kind, label, needs, scope, protocol, mechanism, variant_of, note, compute
        )
        return compute

    return enter


def names(
    kind: Kind | None = None,
    *,
    protocol: str = systems.SUBSAMPLED_SHUFFLE[0],
    mechanism: str = systems.SUBSAMPLED_SHUFFLE[1],
) -> list[str]:
    """Return the names of a system's accountants, or of those of one kind, in the order of registration.

    Variants, which evaluate the bound of another accountant, are left out.

    Args:
        kind: "upper", "lower" or "estimate"; None for all.
        protocol: who takes part in a round.
        mechanism: what they send.

    Raises:
        ValueError: there is no such system.
    """
    system = systems.get(protocol, mechanism)
    return [
        name
        for name, entry in _REGISTRY.items()
        if entry.system == system and kind in (None, entry.kind) and not entry.variant_of
    ]


def known(name: str) -> bool:
    """Return whether there is an accountant of that name."""
    return name in _REGISTRY


def get(name: str) -> Accountant:
    """Return the accountant of that name.

    Raises:
        ValueError: there is none; the message lists the names and the closest.
    """
    if name in _REGISTRY:
        return _REGISTRY[name]
    close = difflib.get_close_matches(str(name), _REGISTRY, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(
        f"accountant must be a registered one, got {name!r}: {hint}known are {', '.join(_REGISTRY)}"
    )


def epsilon(name: str, *, rounds: ArrayLike, delta: float, **setting: float) -> float | FloatArray:
    """Return epsilon by the accountant of that name; see ``Accountant.epsilon``."""
    return get(name).epsilon(rounds=rounds, delta=delta, **setting)


def bounds(kind: Kind, *, protocol: str, mechanism: str) -> list[Accountant]:
    """Return the accountants of a system that bound epsilon itself from one side, which make a bracket.

    Args:
        kind: "upper" or "lower".
        protocol: who takes part in a round.
        mechanism: what they send.

    Raises:
        ValueError: there is no such system.
    """
    entries = map(get, names(kind, protocol=protocol, mechanism=mechanism))
    return [entry for entry in entries if entry.scope == "epsilon"]
