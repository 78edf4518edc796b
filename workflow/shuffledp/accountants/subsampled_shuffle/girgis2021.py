"""Theorems 1 and 2 of girgis2021, converted by its Lemma 1."""

from __future__ import annotations

from shuffledp.accountants import via_rdp
from shuffledp.accountants.registry import Columns
from shuffledp.accountants.subsampled_shuffle.system import register
from shuffledp.checks import FloatArray
from shuffledp.rdp.girgis2021 import girgis2021_lower, girgis2021_upper


@register(
    name="girgis2021-upper",
    citation="girgis2021",
    theorem="Theorem 1, Lemma 1",
    kind="upper",
    label="Theorem 1, upper bound",
    needs=("eps0-LDP",),
    note="Renyi DP of the subsampled shuffle, composed over rounds.",
)
def _upper(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    def rdp(order: FloatArray) -> float | FloatArray:
        return girgis2021_upper(order, n=n, k=k, eps0=eps0)

    return via_rdp.columns(rdp, rounds=rounds, delta=delta)


@register(
    name="girgis2021-lower",
    citation="girgis2021",
    theorem="Theorem 2, Lemma 1",
    kind="lower",
    scope="renyi",
    label="Theorem 2, lower bound",
    needs=("eps0-LDP", "discrete"),
    note=(
        "A lower bound on what accounting by Renyi DP (at whole orders, by Lemma 1) can report, "
        "not on epsilon itself."
    ),
)
def _lower(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    def rdp(order: FloatArray) -> float | FloatArray:
        return girgis2021_lower(order, n=n, k=k, eps0=eps0)

    return via_rdp.columns(rdp, rounds=rounds, delta=delta, bound="lower")
