"""Renyi DP of the plain shuffle (girgis2021ccs) amplified by subsampling (wang2019)."""

from __future__ import annotations

from shuffledp.accountants import via_rdp
from shuffledp.accountants.registry import Columns
from shuffledp.accountants.subsampled_shuffle.system import register
from shuffledp.checks import FloatArray
from shuffledp.rdp.curve import remembered
from shuffledp.rdp.girgis2021ccs import girgis2021ccs_shuffle
from shuffledp.rdp.wang2019 import wang2019_subsampled


def _columns(n: int, k: int, eps0: float, rounds: FloatArray, delta: float, loose: bool) -> Columns:
    shuffle = remembered(lambda order: girgis2021ccs_shuffle(order, n=k, eps0=eps0))

    def rdp(order: FloatArray) -> float | FloatArray:
        return wang2019_subsampled(order, gamma=k / n, rdp=shuffle, eps_inf=eps0, loose=loose)

    return via_rdp.columns(rdp, rounds=rounds, delta=delta)


@register(
    name="girgis2021ccs-wang2019",
    citation="girgis2021ccs, wang2019",
    theorem="Theorem 9 of wang2019",
    kind="upper",
    label="girgis2021ccs + wang2019",
    needs=("eps0-LDP",),
    note="The theorem as stated, with its minimum over the two forms of the second-order term.",
)
def _tight(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return _columns(n, k, eps0, rounds, delta, loose=False)


@register(
    name="girgis2021ccs-wang2019-loose",
    citation="girgis2021ccs, wang2019",
    theorem="Theorem 9 of wang2019, second-order term at its larger form",
    kind="upper",
    label="girgis2021ccs + wang2019, larger form",
    needs=("eps0-LDP",),
    note="The form that reproduces the black curves of girgis2021.",
)
def _loose(*, n: int, k: int, eps0: float, rounds: FloatArray, delta: float) -> Columns:
    return _columns(n, k, eps0, rounds, delta, loose=True)
