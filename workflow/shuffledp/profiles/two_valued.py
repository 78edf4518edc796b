"""What is known of a randomiser: two numbers that decide what shuffled reports cost, and laws to attack.

Most named randomisers are two-valued: the density of R_x is e mu on a set S_x of reports and mu off it, with
e = exp(eps0), where the blanket mu is the infimum of all R_x, or a product or uniform measure below it. Let b
be the mass of mu, and omega = mu/b. Every S_x has the same share f = omega(S_x), and R_x has mass 1, so
b = 1/(1 + (e - 1) f), which is f = (1/b - 1)/(e - 1). The total variation between the reports of two records
is tv = (e - 1) b omega(S_x0 \\ S_x1), which is 1 - b where the sets are disjoint.

A two-valued randomiser is described by how omega is spread over the sets of three records: the two records
of the client who differs, chosen as far apart as possible, and a record of another client. From that follow
f, tv and the laws of the reports, in which reports that no likelihood ratio tells apart are one class.

The numbers may be given to ``worst_kinds.kinds``: f and tv are rounded up, and so b is rounded down. The laws
are for lower bounds, and come with a bound on the relative error of their probabilities;
``attacks.loss_error`` says what that costs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shuffledp import numerics
from shuffledp.checks import FloatArray

UNKNOWN = 0.999  # a relative error so large that a probability says nothing
_UP = 1 + 2.0**-40  # by which a number is rounded up

# Probability under omega by whether a report lies in the sets of the first, the second and a third record.
Overlaps = Mapping[tuple[int, ...], float]


@dataclass(frozen=True)
class Known:
    """What is known of a randomiser at one eps0.

    Attributes:
        share: upper bound on f, in (0, 1/2]; None where f is above 1/2, so that only tv is of use.
        tv: upper bound on the total variation between the reports of any two records.
        first: law of the reports of one record, over classes in which reports are merged.
        second: law of the reports of another record, as far from the first as possible.
        third: law of the reports of a third record; None if there are only two records.
        error: bound on the relative errors of the probabilities of the first two laws, where classes in which
            the two agree count as one.
        third_error: the same for the third law.
    """

    share: float | None
    tv: float
    first: FloatArray
    second: FloatArray
    third: FloatArray | None
    error: float
    third_error: float


def bounded(eps0: float, share: float, tv: float, laws: list[FloatArray], third_error: float = 0.0) -> Known:
    """Return what is known of a randomiser, its numbers rounded up and within what eps0 allows.

    Args:
        eps0: local privacy parameter.
        share: f, before rounding.
        tv: total variation between the reports of the first two records, before rounding.
        laws: of the reports of two or three records, over the same classes.
        third_error: bound on the relative errors of the third law, without those of rounding.
    """
    third = laws[2] if len(laws) == 3 else None
    rounded = None if share > 0.5 * _UP else min(share * _UP, 0.5)
    rounding = numerics.EPSILON * (64 + 4 * eps0)
    agree = laws[0] == laws[1]
    rest = min(float(law[agree].sum()) for law in laws)
    if rest > 0:
        # the probability of these classes together is 1 less that of the others, which cancels
        rounding = min(rounding + 8 * numerics.EPSILON / rest, UNKNOWN)
    return Known(
        rounded,
        min(tv * _UP, math.tanh(eps0 / 2)),
        laws[0],
        laws[1],
        third,
        rounding,
        min(rounding + third_error, UNKNOWN),
    )


def two_valued(
    eps0: float, overlaps: Overlaps, *, share: float, apart: float, third_error: float = 0.0
) -> Known:
    """Return what is known of a two-valued randomiser.

    Args:
        eps0: local privacy parameter.
        overlaps: how omega is spread over the sets of the records.
        share: f, omega of the set of any record.
        apart: the largest omega(S_x0 \\ S_x1) of two records.
        third_error: as for ``bounded``.
    """
    masses = np.array(list(overlaps.values()))
    high = 1 / (math.exp(-eps0) - math.expm1(-eps0) * share)  # b e
    laws = []
    for inside in np.array(list(overlaps)).T:
        law = masses * np.where(inside == 1, high, high * math.exp(-eps0))
        laws.append(law / law.sum())
    return bounded(eps0, share, -math.expm1(-eps0) * high * apart, laws, third_error)


def independent(q: float) -> Overlaps:
    """Return the overlaps of three sets of measure q that are independent under omega."""
    sides = (1 - q, q)
    return {(i, j, k): sides[i] * sides[j] * sides[k] for i in range(2) for j in range(2) for k in range(2)}


def disjoint(share: float, overlap: float) -> Overlaps:
    """Return the overlaps of two disjoint sets and of a third, all of measure ``share``; the part ``overlap``
    of each of the two lies in the third."""
    both, alone = share * overlap, share * (1 - overlap)
    third = max(share - 2 * both, 0.0)
    return {
        (1, 0, 1): both,
        (1, 0, 0): alone,
        (0, 1, 1): both,
        (0, 1, 0): alone,
        (0, 0, 1): third,
        (0, 0, 0): max(1 - 2 * share - third, 0.0),
    }
