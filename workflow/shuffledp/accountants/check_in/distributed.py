"""Distributed check-in with Gaussian noise: liew2022, and numerical accounting of the same protocol."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from shuffledp.accountants import systems, via_pld, via_rdp
from shuffledp.accountants.registry import Columns, register
from shuffledp.approximate_dp.composition import kairouz2015
from shuffledp.checkin import liew2022_distributed
from shuffledp.checkin.distributed import Pair, check_in_losses
from shuffledp.checkin.secret_number import secret_number_losses
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import (
    Outcomes,
    connect_the_dots,
    lattice_step,
    merge_to_lattice,
    renyi_divergences,
)
from shuffledp.profiles.inversion import outcomes_epsilon
from shuffledp.rdp.curve import RenyiCurve, evaluate

_STEP = 10.0  # nats are multiples of it
_PAPER_SLACK, _PAPER_CUT = (
    0.5,
    200 / 60,
)  # of figure 4: Delta, and the cut-off over the mean number of reports


SYSTEM = systems.enter(
    systems.System(
        "distributed-check-in",
        "gaussian",
        "rounds in which each of n clients takes part with probability rate, and reports with Gaussian noise "
        "of deviation sigma are averaged",
        ("n", "rate", "sigma"),
        "distributed-check-in-pld",
        systems.Neighbours.REMOVAL,
        systems.unbounded,
    )
)
_register = functools.partial(register, protocol=SYSTEM.protocol, mechanism=SYSTEM.mechanism)
_NEEDS = ("Gaussian noise",)
_SCALARS = (
    "An upper bound for scalar records if the number of reports is secret; with vectors the noise gives that "
    "number away."
)


def _pair(n: int, rate: float, sigma: float, rounds: FloatArray, delta: float, bound: str) -> Pair:
    nats = via_pld.needed_nats(rounds, delta, step=_STEP)
    return check_in_losses(n=n, rate=rate, sigma=sigma, bound=bound, nats=nats)


@_register(
    name="distributed-check-in-pld",
    citation="liew2022, doroshenko2022, this project",
    theorem="exact losses given the public number of reports, mixed over it",
    kind="upper",
    label="distributed check-in, numerical",
    needs=_NEEDS,
    note="For a public or secret number of reports; sigma is over the largest distance of two records.",
)
def _pld(*, n: int, rate: float, sigma: float, rounds: FloatArray, delta: float) -> Columns:
    pair = _pair(n, rate, sigma, rounds, delta, "upper")
    return via_pld.columns(pair, rounded=connect_the_dots, rounds=rounds, delta=delta, bound="upper")


@_register(
    name="distributed-check-in-rdp",
    citation="liew2022, girgis2021, this project",
    theorem="the same losses, through their Renyi divergences; Lemma 1 of girgis2021",
    kind="upper",
    label="distributed check-in, Renyi",
    needs=_NEEDS,
    note="Rare numbers of reports and rare noise are left out, and count in delta.",
)
def _renyi(*, n: int, rate: float, sigma: float, rounds: FloatArray, delta: float) -> Columns:
    pair = _pair(n, rate, sigma, rounds, delta, "upper")
    rest = delta - float(rounds.max(initial=0.0)) * max(outcomes.infinite for outcomes in pair)
    if rest <= 0 or not rounds.any():
        return {"epsilon": np.where(rounds > 0, np.inf, 0.0)}
    curves = [_divergences(outcomes) for outcomes in pair]

    def rdp(order: FloatArray) -> FloatArray:
        return np.max([evaluate(curve, order) for curve in curves], axis=0)

    return via_rdp.columns(rdp, rounds=rounds, delta=rest)


def _divergences(outcomes: Outcomes) -> RenyiCurve:
    known = replace(outcomes, infinite=0.0)
    lattice = connect_the_dots(known, step=lattice_step(known))
    return functools.partial(renyi_divergences, lattice, largest=float(np.abs(lattice.loss).max()))


@_register(
    name="distributed-check-in-strong",
    citation="liew2022, kairouz2015, this project",
    theorem="the same losses of one round; Theorem 3.4 of kairouz2015",
    kind="upper",
    label="distributed check-in, strong composition",
    needs=_NEEDS,
    note="Epsilon of one round is composed, at the best of six splits of delta, which is reported.",
)
def _strong(*, n: int, rate: float, sigma: float, rounds: FloatArray, delta: float) -> Columns:
    def one(count: float) -> tuple[float, float]:
        pair, found = _pair(n, rate, sigma, np.array([count]), delta, "upper"), []
        for share in via_pld.SHARES:
            each = share * delta / max(count, 1.0)
            eps = max(outcomes_epsilon(outcomes, delta=each, bound="upper") for outcomes in pair)
            if math.isfinite(eps):
                composed = kairouz2015(eps=eps, delta=each, rounds=count, total_delta=delta)
                found.append((float(composed), each))
        return min(found, default=(math.inf, 0.0))

    table = np.array([one(count) for count in rounds.tolist()]).reshape(-1, 2)
    return {"epsilon": table[:, 0], "round_delta": table[:, 1]}


@_register(
    name="distributed-check-in-lower",
    citation="liew2022, this project",
    theorem="the same losses, all other records being one",
    kind="lower",
    label="distributed check-in, lower bound",
    needs=_NEEDS,
    note="For a public number of reports: epsilon of one data set and one client.",
)
def _lower(*, n: int, rate: float, sigma: float, rounds: FloatArray, delta: float) -> Columns:
    pair = _pair(n, rate, sigma, rounds, delta, "lower")
    return via_pld.columns(pair, rounded=merge_to_lattice, rounds=rounds, delta=delta, bound="lower")


@_register(
    name="distributed-check-in-secret-lower",
    citation="liew2022, this project",
    theorem="losses of the average alone, for scalars, all other records being equal",
    kind="lower",
    label="distributed check-in, secret number of reports, lower bound",
    needs=_NEEDS,
    note="From the average alone, as in Theorem 5 of liew2022, whose number of reports is secret; it holds "
    "for a public number too, of which more is disclosed.",
)
def _secret(*, n: int, rate: float, sigma: float, rounds: FloatArray, delta: float) -> Columns:
    nats = via_pld.needed_nats(rounds, delta, step=_STEP)
    pair = secret_number_losses(n=n, rate=rate, sigma=sigma, nats=nats)
    return via_pld.columns(pair, rounded=merge_to_lattice, rounds=rounds, delta=delta, bound="lower")


def _cut(n: int, rate: float) -> int:
    return max(1, math.ceil(_PAPER_CUT * (n - 1) * rate))


def _theorem_5(name: str, theorem: str, label: str, note: str, rdp_of: Callable[..., RenyiCurve]) -> None:
    """Register one way to evaluate Theorem 5."""

    @_register(
        name=name,
        citation="liew2022, girgis2021",
        theorem=f"{theorem}; Lemma 1 of girgis2021",
        kind="estimate",
        label=label,
        needs=(*_NEEDS, "scalars"),
        note=note,
    )
    def _compute(*, n: int, rate: float, sigma: float, rounds: FloatArray, delta: float) -> Columns:
        return via_rdp.columns(rdp_of(n=n, rate=rate, sigma=sigma), rounds=rounds, delta=delta)


def _mixed(**setting: Any) -> RenyiCurve:
    return functools.partial(liew2022_distributed.theorem_5, **setting)


def _by_lemma_4(*, as_printed: bool = False, **setting: Any) -> RenyiCurve:
    given = {**setting, "slack": _PAPER_SLACK, "as_printed": as_printed}
    return functools.partial(liew2022_distributed.theorem_5_by_lemma_4, **given)


def _by_lemma_5(*, as_printed: bool = False, **setting: Any) -> RenyiCurve:
    given = {**setting, "cut": _cut(setting["n"], setting["rate"]), "as_printed": as_printed}
    return functools.partial(liew2022_distributed.theorem_5_by_lemma_5, **given)


_PRINTED = "With the printed moments and exponents, which the proof does not give."
_theorem_5("liew2022-theorem5", "Theorem 5, re-derived, summed", "Theorem 5", _SCALARS, _mixed)
_theorem_5(
    "liew2022-lemma4",
    "Theorem 5, re-derived, by Lemma 4 with Delta = 0.5",
    "Theorem 5 by Lemma 4",
    _SCALARS,
    _by_lemma_4,
)
_theorem_5(
    "liew2022-lemma5",
    "Theorem 5, re-derived, by Lemma 5 cut at 10/3 of the mean",
    "Theorem 5 by Lemma 5",
    _SCALARS,
    _by_lemma_5,
)
_theorem_5(
    "liew2022-lemma4-printed",
    "Theorem 5 (equations 14 and 15) as printed",
    "Theorem 5 by Lemma 4, as printed",
    _PRINTED,
    functools.partial(_by_lemma_4, as_printed=True),
)
_theorem_5(
    "liew2022-lemma5-printed",
    "Theorem 5 (equations 12 and 13) as printed, by Lemma 5",
    "Theorem 5 by Lemma 5, as printed",
    _PRINTED,
    functools.partial(_by_lemma_5, as_printed=True),
)
