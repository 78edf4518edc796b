"""Shuffled check-in: liew2022, and numerical accounting of the same protocol."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from shuffledp import numerics
from shuffledp.accountants import systems, via_pld, via_rdp
from shuffledp.accountants.registry import Columns, register
from shuffledp.approximate_dp.composition import ApproximateDP, kairouz2015, subsample
from shuffledp.checkin import liew2022
from shuffledp.checks import FloatArray
from shuffledp.pld.outcomes import Outcomes, merge_to_lattice
from shuffledp.profiles.four_kinds import kinds_outcomes
from shuffledp.rdp.conversion import conversion_term
from shuffledp.rdp.mironov2017 import mironov2017_pure

SYSTEM = systems.enter(
    systems.System(
        "shuffled-check-in",
        "ldp",
        "rounds in which each of n clients takes part with probability rate, and eps0-LDP reports are "
        "shuffled",
        ("n", "rate", "eps0"),
        "check-in-joint-pld",
        systems.Neighbours.SUBSTITUTION,
        # at worst everybody checks in, and sampling hides nobody
        systems.of_one_report,
    )
)
_register = functools.partial(register, protocol=SYSTEM.protocol, mechanism=SYSTEM.mechanism)
_ORDERS = 1 + np.geomspace(1e-4, 1e4, 1601)  # the Renyi DP of pure DP is known at every order


@_register(
    name="liew2022-upper",
    citation="liew2022, girgis2021",
    theorem="Theorem 1 of girgis2021, mixed over check-ins; Lemma 1",
    kind="upper",
    label="check-in, Renyi",
    needs=("eps0-LDP",),
    note="The mixture that Theorem 2 of liew2022 bounds, evaluated, with the sampling rate k/n of k reports.",
)
def _upper(*, n: int, rate: float, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    rdp = functools.partial(liew2022.liew2022_upper, n=n, rate=rate, eps0=eps0)
    return via_rdp.columns(rdp, rounds=rounds, delta=delta)


@_register(
    name="liew2022-printed",
    citation="liew2022, girgis2021",
    theorem="Theorem 2 (equation 18) as printed; Lemma 1 of girgis2021",
    kind="estimate",
    label="check-in, Renyi, as printed",
    needs=("eps0-LDP",),
    note="The theorem keeps the sampling rate fixed whatever the number of reports, which its proof does not "
    "justify.",
)
def _printed(*, n: int, rate: float, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    rdp = functools.partial(liew2022.liew2022_printed, n=n, rate=rate, eps0=eps0)
    return via_rdp.columns(rdp, rounds=rounds, delta=delta)


@_register(
    name="liew2022-lower",
    citation="liew2022, girgis2021",
    theorem="Theorem 3 of liew2022, moments themselves; Lemma 1",
    kind="lower",
    scope="renyi",
    label="check-in, lower bound for Renyi accounting",
    needs=("eps0-LDP", "discrete"),
    note=(
        "A lower bound on what accounting by Renyi DP (at whole orders, by Lemma 1) can report, "
        "not on epsilon itself."
    ),
)
def _lower(*, n: int, rate: float, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    rdp = functools.partial(liew2022.liew2022_lower, n=n, rate=rate, eps0=eps0)
    return via_rdp.columns(rdp, rounds=rounds, delta=delta, bound="lower")


@_register(
    name="liew2022-baseline",
    citation="liew2022, ullman2017, kairouz2015",
    theorem="a round as in appendix D of liew2022; Theorem 3.4 of kairouz2015",
    kind="upper",
    label="check-in, strong composition",
    needs=("eps0-LDP",),
    note=(
        "A round counts as one with the most reports, except with a probability that is part of delta, and "
        "without amplification by shuffling; the best of six splits of delta is used and reported."
    ),
)
def _baseline(*, n: int, rate: float, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return baseline(n, rate, eps0, 0.0, rounds, delta)


@_register(
    name="liew2022-baseline-renyi",
    citation="liew2022, ullman2017, mironov2017, girgis2021",
    theorem="appendix D of liew2022: a round, its Renyi DP; Lemma 1 of girgis2021",
    kind="upper",
    label="check-in, no amplification by shuffling, Renyi",
    needs=("eps0-LDP",),
    note=(
        "As liew2022-baseline, but with the composition that appendix D itself names: a round without too "
        "many reports is pure DP, and has the Renyi DP of randomised response."
    ),
)
def _baseline_renyi(*, n: int, rate: float, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    def compose(one: ApproximateDP, count: float, failure: float) -> float:
        rest = delta - count * failure  # 0 if delta is 0
        if count == 0 or rest <= 0:
            return float(count * one.eps)
        above = count * np.asarray(mironov2017_pure(_ORDERS, eps=float(one.eps)))
        terms = conversion_term(_ORDERS, delta=rest)
        rounding = 8 * numerics.EPSILON * (above + (2 - math.log(rest)) / (_ORDERS - 1))
        return max(float(np.min(above + terms + rounding)), 0.0)

    return _composed(n, rate, eps0, 0.0, rounds, delta, compose)


def baseline(n: int, rate: float, eps0: float, delta0: float, rounds: FloatArray, delta: float) -> Columns:
    """Return an upper bound on epsilon of T rounds for every T: the bound of appendix D of liew2022 on one
    round, by strong composition."""

    def compose(one: ApproximateDP, count: float, failure: float) -> float:
        each = min(one.delta + failure, 1 - 1e-16)
        return float(kairouz2015(eps=one.eps, delta=each, rounds=count, total_delta=delta))

    return _composed(n, rate, eps0, delta0, rounds, delta, compose)


def _composed(
    n: int,
    rate: float,
    eps0: float,
    delta0: float,
    rounds: FloatArray,
    delta: float,
    compose: Callable[[ApproximateDP, float, float], float],
) -> Columns:
    """Return an upper bound on epsilon of T rounds of appendix D of liew2022 for every T.

    A round is (log(1 + gamma (e^eps0 - 1)), gamma delta0 + delta')-DP, if more than gamma n clients take part
    with probability at most delta'.

    Args:
        n: number of clients.
        rate: probability with which each checks in.
        eps0: local privacy parameter.
        delta0: local failure probability.
        rounds: numbers of rounds.
        delta: target.
        compose: function of the (eps, delta) of one round, the number of rounds and delta' that returns
            epsilon of all rounds.
    """
    rows = []
    for count in rounds.tolist():
        found = []
        for share in via_pld.SHARES:  # of delta, spent on rounds with more reports than are counted on
            failure = share * delta / max(count, 1.0)
            most = liew2022.most_check_ins(n=n, rate=rate, delta=failure)
            # nobody reports, except with probability delta'
            silent = ApproximateDP(0.0, 0.0)
            one = subsample(eps=eps0, delta=delta0, gamma=most / n) if most else silent
            found.append((compose(one, count, failure), failure, float(most)))
        rows.append(min(found))
    table = np.array(rows).reshape(-1, 3)
    return {"epsilon": table[:, 0], "failure_delta": table[:, 1], "most_reports": table[:, 2]}


@_register(
    name="check-in-joint-pld",
    citation="feldman2022, liew2022, doroshenko2022, this project",
    theorem="clones and sampling together, mixed over check-ins, for every randomiser (theory page)",
    kind="upper",
    label="check-in, clones and sampling together, numerical",
    needs=("eps0-LDP",),
    note="In the dominating pair, a client who does not check in counts as a report that says nothing.",
)
def _joint(*, n: int, rate: float, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return joint_columns(n, rate, eps0, rounds, delta)


def joint_columns(
    n: int, rate: float, eps0: float, rounds: FloatArray, delta: float, *, moved: float = 0.0
) -> Columns:
    """Return an upper bound on epsilon of T rounds for every T, by clones and check-ins together; ``moved``
    is as for ``via_pld.upper_columns``."""
    return via_pld.upper_columns(
        eps0,
        lambda: kinds_outcomes(n=n, k=n, eps0=eps0, rate=rate, nats=via_pld.nats(rounds, delta)),
        rounds=rounds,
        delta=delta,
        moved=moved,
    )


@_register(
    name="check-in-pld",
    citation="feldman2022, koskela2022, liew2022, doroshenko2022",
    theorem="Theorem 3.1 of feldman2022, for every randomiser; Lemma 7 of koskela2022, mixed over check-ins",
    kind="upper",
    label="check-in, numerical",
    needs=("eps0-LDP",),
    note="The dominating pair of k shuffled reports of n, mixed over k, which is public.",
)
def _pld(*, n: int, rate: float, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return by_clones(n, rate, eps0, rounds, delta, "feldman2022")


@_register(
    name="check-in-pld-feldman2021",
    citation="feldman2021, koskela2022, liew2022, doroshenko2022",
    theorem="Theorem 3.1 of feldman2021, Lemma 7 of koskela2022, mixed over check-ins",
    kind="upper",
    label="check-in, clones of feldman2021, numerical",
    needs=("eps0-LDP",),
    variant_of="check-in-pld",
    note="As check-in-pld, with the fewer clones of the earlier analysis; for comparison with the papers.",
)
def _pld_feldman2021(*, n: int, rate: float, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return by_clones(n, rate, eps0, rounds, delta, "feldman2021")


def by_clones(
    n: int,
    rate: float,
    eps0: float,
    rounds: FloatArray,
    delta: float,
    analysis: str,
    *,
    infinite: float = 0.0,
) -> Columns:
    """Return an upper bound on epsilon of T rounds for every T, by the clones of one analysis; ``infinite``
    is as for ``via_pld.upper_columns``."""
    return via_pld.upper_columns(
        eps0,
        lambda: liew2022.check_in_outcomes(n=n, rate=rate, eps0=eps0, analysis=analysis),
        rounds=rounds,
        delta=delta,
        infinite=infinite,
    )


def _lower_columns(
    pairs: Callable[..., list[Outcomes]], n: int, rate: float, eps0: float, rounds: FloatArray, delta: float
) -> Columns:
    trivial = via_pld.nothing_to_say(eps0, rounds, "lower")
    if trivial:
        return trivial
    found = pairs(n=n, rate=rate, eps0=eps0)
    return via_pld.columns(found, rounded=merge_to_lattice, rounds=rounds, delta=delta, bound="lower")


_register_lower = functools.partial(
    _register,
    kind="lower",
    needs=("eps0-LDP", "discrete"),
    note="Epsilon of one concrete mechanism, data set and neighbour: no valid accountant can report less.",
)


@_register_lower(
    name="check-in-krr3-lower",
    citation="liew2022, this project",
    theorem="three-symbol randomised response, mixed over check-ins",
    label="check-in, three-symbol randomised response, lower bound",
)
def _krr3(*, n: int, rate: float, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return _lower_columns(
        lambda **setting: [liew2022.check_in_lower_outcomes(**setting)], n, rate, eps0, rounds, delta
    )


@_register_lower(
    name="check-in-rr2-lower",
    citation="liew2022, girgis2021",
    theorem="two-symbol randomised response, mixed over check-ins",
    label="check-in, two-symbol randomised response, lower bound",
)
def _rr2(*, n: int, rate: float, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return _lower_columns(liew2022.check_in_two_symbols_outcomes, n, rate, eps0, rounds, delta)
