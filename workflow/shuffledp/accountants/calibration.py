"""Accounting backwards: delta from epsilon, and the value of a variable that just stays within a budget.

An accountant computes epsilon from delta; the search here knows nothing of its formula. Every answer is a
whole number, or a number of ``DIGITS`` significant digits. The accountant was evaluated at the answer itself,
which is on the safe side, and at its neighbour, which is not. So the printed answer holds, even where an
accountant is not quite monotone in its last digits.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from shuffledp import checks, rounding
from shuffledp.accountants import blankets, named, registry, systems
from shuffledp.accountants.inversion import (
    SMALLEST_EXPONENT,
    UNIT,
    Height,
    decimal,
    delta_of,
    height_above,
    neighbours,
)
from shuffledp.accountants.registry import Accountant
from shuffledp.profiles import named_randomizers, worst_kinds
from shuffledp.rounding import DIGITS
from shuffledp.variables import VARIABLES

# The protocol that is meant where this variable is looked for.
_PROTOCOLS = {"k": "subsampled-shuffle", "rate": "shuffled-check-in"}


def of_randomizer(
    randomizer: str, given: Mapping[str, Any], *, protocol: str | None = None
) -> tuple[Accountant, dict[str, Any]]:
    """Return the upper bound of a named randomiser as an accountant, and the variables of its system.

    Args:
        randomizer: one of ``named_randomizers.NAMES``.
        given: the randomiser's parameters, and variables of a protocol, of which some may be missing: k means
            rounds of k clients, rate means clients who check in, and neither of them means rounds of all.
        protocol: the protocol, to be given if k or rate is the variable that is missing.

    Raises:
        ValueError: there is no such randomiser, a parameter is missing or out of range, or the protocol is
            none of those that account for what is known of a randomiser.
    """
    takes = named_randomizers.parameters(randomizer)
    own = {name: value for name, value in given.items() if name in takes}
    setting = {name: value for name, value in given.items() if name not in takes}
    if protocol is None:
        protocol = next(
            (base.protocol for base in blankets.BASES if {"k", "rate"} & set(base.variables) & set(setting)),
            "shuffle",
        )
    return named.accountant(randomizer, randomizer=randomizer, protocol=protocol, **own), setting


def _asked(
    accountant: str | None, randomizer: str | None, setting: dict[str, Any], unknown: str = ""
) -> tuple[Accountant, dict[str, Any]]:
    """Return the accountant and the variables of its system, of which one may be unknown.

    Raises:
        ValueError: neither an accountant nor a randomiser is named, or both are.
    """
    if accountant is not None and randomizer is None:
        return registry.get(accountant), setting
    if randomizer is not None and accountant is None:
        return of_randomizer(randomizer, setting, protocol=_PROTOCOLS.get(unknown))
    given = "neither" if accountant is None else "both"
    raise ValueError(f"name one of accountant and randomizer, got {given}")


def delta_at(
    accountant: str | None = None,
    *,
    eps: float,
    rounds: int,
    randomizer: str | None = None,
    **setting: Any,
) -> float:
    """Return delta at which an accountant's epsilon is ``eps``.

    Delta is found by bisection on its logarithm: first the decade, from 1e-8 outwards, then the digits.

    Args:
        accountant: its registered name.
        eps: the epsilon at which delta is asked for, >= 0.
        rounds: number of rounds, one number >= 0.
        randomizer: in place of an accountant, a randomiser whose upper bound is used; see ``of_randomizer``.
        setting: the variables of the accountant's system (for the subsampled shuffle n, k and eps0), and the
            parameters of a randomiser.

    Returns:
        For an upper bound or an estimate, the smallest delta of ``DIGITS`` significant digits, rounded up:
        the accountant's epsilon at the returned delta does not exceed ``eps``. It is 0 where pure DP gives
        ``eps``, otherwise at least 1e-300, and 1, which holds for every mechanism, where no smaller delta is
        certified. For a lower bound, the largest delta, rounded down, at which its epsilon exceeds ``eps``,
        so that delta is a lower bound in the accountant's scope; 0 where there is none.

    Raises:
        ValueError: there is no such accountant or randomiser, or an argument is out of range.
    """
    eps = checks.real("eps", eps, at_least=0.0)
    entry, setting = _asked(accountant, randomizer, setting)
    setting["rounds"] = int(systems.checked("rounds", rounds))
    return delta_of(entry, eps=eps, **setting)


def _upper(
    accountant: str | None, randomizer: str | None, setting: dict[str, Any], unknown: str = ""
) -> tuple[Accountant, dict[str, Any]]:
    """Return what ``_asked`` returns, if the accountant is an upper bound.

    Raises:
        ValueError: it is not; or as for ``_asked``.
    """
    entry, setting = _asked(accountant, randomizer, setting, unknown)
    if entry.kind != "upper":
        raise ValueError(
            f"accountant must be an upper bound to keep a budget, got {entry.name!r} ({entry.kind}); "
            f"upper bounds are {', '.join(registry.names('upper', **_system(entry)))}"
        )
    return entry, setting


def _system(entry: Accountant) -> dict[str, str]:
    return {"protocol": entry.protocol, "mechanism": entry.mechanism}


def _target(value: float) -> float:
    """Return the budget, a finite number > 0."""
    target = checks.real("target_eps", value, at_least=0.0)
    if target == 0:
        raise ValueError(f"target_eps must be a finite number > 0, got {value!r}: no budget keeps eps0 = 0")
    return target


def solve(
    accountant: str | None = None,
    *,
    unknown: str,
    target_eps: float,
    randomizer: str | None = None,
    **setting: Any,
) -> float:
    """Return the largest or the least value of one variable whose epsilon stays within a budget.

    Args:
        accountant: the registered name of an upper bound.
        unknown: the variable that is looked for. If epsilon rises in it (k, eps0, rate, rounds), its largest
            value is found; if epsilon falls in it (n, sigma, delta), its least.
        target_eps: the budget, > 0.
        randomizer: as for ``delta_at``.
        setting: the other variables of the accountant's system, and rounds (>= 1) and delta, except for the
            unknown one.

    Returns:
        A whole number, or a number of ``DIGITS`` significant digits. The accountant's epsilon at it does not
        exceed ``target_eps``. At the next such number towards a larger epsilon it does, unless the variable
        cannot take that: a k above n, an n below k, no clients or reports, a delta below 0.

    Raises:
        ValueError: the accountant is unknown or no upper bound; an argument is out of range, or is none of
            the system; no value stays within the budget, and the message has the range of epsilon; or every
            value does, and the variable has no largest or no least one.
    """
    target = _target(target_eps)
    entry, setting = _upper(accountant, randomizer, setting, unknown)
    asked = [
        name for name in (*entry.system.variables, "rounds", "delta") if VARIABLES[name].rises is not None
    ]
    if unknown not in asked:
        raise ValueError(f"unknown must be one of {', '.join(asked)} for {entry.system}, got {unknown!r}")
    if unknown in setting:
        raise ValueError(
            f"{unknown} is the unknown, got {unknown}={setting[unknown]!r} too; leave one of them out"
        )
    if unknown != "rounds":
        setting["rounds"] = checks.count("rounds", setting.get("rounds"))
    if unknown == "delta":
        return _least_delta(entry, target, setting)
    domain = _domain(unknown, setting)

    @functools.cache
    def epsilon(place: int) -> float:
        return float(entry.epsilon(**setting, **{unknown: domain.value(place)}))

    def certified(place: int) -> float:
        try:
            return epsilon(place)
        except ValueError:
            # the rest of the setting was fine at the start; the accountant has limits, as for little noise
            if place == domain.start:
                raise
            return math.inf

    def height(place: int) -> float:
        return height_above(certified(place), target)

    rises = VARIABLES[unknown].rises
    dearest = domain.most if rises else domain.least
    found = _nearest(height, domain.start, *(domain.walks() if rises else domain.walks()[::-1]))
    if found is None:
        costs = sorted(map(certified, (domain.least, domain.most)))
        raise ValueError(
            f"target_eps={target:g} is too small: for {unknown} from {domain.value(domain.least):.7g} to "
            f"{domain.value(domain.most):.7g} epsilon goes from {rounding.shown(costs[0], 'upper')} to "
            f"{rounding.shown(costs[1], 'upper')} by {entry.name}{domain.reason}; raise target_eps or change "
            "another variable"
        )
    if found == dearest and domain.open:
        raise ValueError(
            f"target_eps={target:g} is met by every value of {unknown} {'up' if rises else 'down'} to "
            f"{domain.value(dearest):.7g}, where epsilon is {rounding.shown(epsilon(dearest), 'upper')} by "
            f"{entry.name}, so there is no {'largest' if rises else 'least'}; "
            "lower target_eps or change another variable"
        )
    return domain.value(found)


def _least_delta(entry: Accountant, target: float, setting: dict[str, Any]) -> float:
    found = delta_of(entry, eps=target, **setting)
    if found < 1:
        return found
    most = decimal(10 * UNIT - 1, -DIGITS)
    costs = rounding.shown(float(entry.epsilon(**setting, delta=most)), "upper")
    raise ValueError(
        f"target_eps={target:g} is too small: no delta below 1 keeps it by {entry.name}, whose epsilon at "
        f"delta={most:.7g} is {costs}; raise target_eps or change another variable"
    )


class _Domain(NamedTuple):
    """The values of a variable by their places in order: whole numbers, or decimals of ``DIGITS`` digits.

    Attributes:
        least: first place.
        most: last place.
        start: place at which a search begins.
        whole: whether places are the values.
        open: whether the variable may take values beyond the last place, with larger epsilons.
        reason: why the values begin where they do, for messages; "" where the variable's range says it.
    """

    least: int
    most: int
    start: int
    whole: bool
    open: bool
    reason: str = ""

    def value(self, place: int) -> float:
        """Return the value at a place."""
        if self.whole:
            return place
        exponent, mantissa = divmod(place, 9 * UNIT)
        return decimal(mantissa + UNIT, exponent + 1 - DIGITS)

    def walks(self) -> tuple[Iterator[int], Iterator[int]]:
        """Return the places from the start to the last and those to the first, in steps of decades."""
        return self._walk(self.most), self._walk(self.least)

    def _walk(self, end: int) -> Iterator[int]:
        place = self.start
        while place != end:
            if self.whole:
                place = min(10 * place, end) if end > place else max(place // 10, end)
            else:
                place = min(place + 9 * UNIT, end) if end > place else max(place - 9 * UNIT, end)
            yield place


def _domain(name: str, setting: Mapping[str, Any]) -> _Domain:
    """Return the values that a variable may take, given the others."""
    variable = VARIABLES[name]
    if variable.whole:
        least, most = max(int(variable.range.smallest), 1), int(min(variable.range.largest, variable.most))
        for fewer, more in itertools.pairwise(("arriving", "k", "n")):
            if name == more and fewer in setting:
                least = int(systems.checked(fewer, setting[fewer]))
            if name == fewer and more in setting:
                most = int(systems.checked(more, setting[more]))
        return _Domain(least, most, least, whole=True, open=name == "rounds")
    smallest = max(variable.least, decimal(1, SMALLEST_EXPONENT))
    first, last = (round(math.log10(end)) * 9 * UNIT for end in (smallest, variable.most))
    last -= variable.range.without_most
    reason = ""
    if name == "eps0" and (tv := setting.get("tv")):
        # no randomiser has this total variation at a smaller eps0
        share = worst_kinds.checked_share(setting.get("share", 0.5))
        tv = checks.probability("tv", tv)
        bottom = math.log1p(tv / (1 - tv) / share)
        told = " and ".join(f"{key}={setting[key]:g}" for key in ("share", "tv") if key in setting)
        first, reason = _place_above(bottom), f", since no randomiser with {told} has a smaller eps0"
    return _Domain(first, last, max(first, min(0, last - 9 * UNIT)), whole=False, open=True, reason=reason)


def _place_above(value: float) -> int:
    """Return the place of the first decimal above a number."""
    mantissa, exponent = f"{value:.{DIGITS - 1}e}".split("e")
    place = int(exponent) * 9 * UNIT + int(mantissa.replace(".", "")) - UNIT
    return place + (float(f"{mantissa}e{exponent}") <= value)


def _nearest(height: Height, start: int, dearer: Iterator[int], cheaper: Iterator[int]) -> int | None:
    """Return the dearest place within the target; None if no place is within it."""
    before = start
    if height(start) <= 0:
        for place in dearer:
            if height(place) > 0:
                return neighbours(height, before, place)[0]
            before = place
        return before
    for place in cheaper:
        if height(place) <= 0:
            return neighbours(height, place, before)[0]
        before = place
    return None


def largest_eps0(
    accountant: str | None = None,
    *,
    target_eps: float,
    rounds: int,
    delta: float,
    randomizer: str | None = None,
    **setting: Any,
) -> float:
    """Return the largest local privacy parameter whose epsilon stays within a budget: ``solve`` for eps0.

    Args:
        accountant: the registered name of an upper bound.
        target_eps: the budget, > 0.
        rounds: number of rounds, one number >= 1.
        delta: target, in [0, 1).
        randomizer: as for ``delta_at``.
        setting: the other variables of the accountant's system (for the subsampled shuffle n and k).

    Returns:
        eps0, rounded down to ``DIGITS`` significant digits: the accountant's epsilon at the returned eps0
        does not exceed ``target_eps``, and at the next larger number of as many digits it does.

    Raises:
        ValueError: as for ``solve``.
    """
    by_name: dict[str, Any] = {"accountant": accountant, "randomizer": randomizer}
    asked: dict[str, Any] = {"target_eps": target_eps, "rounds": rounds, "delta": delta}
    return solve(**by_name, unknown="eps0", **asked, **setting)


def most_rounds(
    accountant: str | None = None,
    *,
    target_eps: float,
    delta: float,
    randomizer: str | None = None,
    **setting: Any,
) -> int:
    """Return the largest number of rounds whose epsilon stays within a budget: ``solve`` for rounds.

    Args:
        accountant: the registered name of an upper bound.
        target_eps: the budget, > 0.
        delta: target, in [0, 1).
        randomizer: as for ``delta_at``.
        setting: the variables of the accountant's system (for the subsampled shuffle n, k and eps0).

    Returns:
        A whole number T >= 1: the accountant's epsilon after T rounds does not exceed ``target_eps``, and
        after T + 1 it does.

    Raises:
        ValueError: as for ``solve``.
    """
    by_name: dict[str, Any] = {"accountant": accountant, "randomizer": randomizer}
    return int(solve(**by_name, unknown="rounds", target_eps=target_eps, delta=delta, **setting))
