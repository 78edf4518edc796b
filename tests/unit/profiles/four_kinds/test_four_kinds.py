"""Four kinds of reports: where they are merged, the pair is an upper bound, and not much above."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp.profiles import four_kinds, worst_kinds
from shuffledp.profiles.inversion import outcomes_epsilon
from shuffledp.profiles.joint_clones import joint_clones

from ..test_joint_clones import scale


def test_many_clients_are_merged_on_the_safe_side(monkeypatch):
    """Where numbers of reports are too many they are merged more coarsely, which costs a thousandth."""
    setting = {"n": 10_000, "k": 3000, "eps0": 1.0, "share": 0.3, "tv": 0.25}
    monkeypatch.setattr(four_kinds.listed, "_LISTED", 0)
    fine = four_kinds.kinds_outcomes(**setting)
    monkeypatch.setattr(four_kinds.bound, "_COARSER", (32.0,))
    coarse = four_kinds.kinds_outcomes(**setting)
    for delta in (1e-3, 1e-8):
        one, other = (outcomes_epsilon(pair, delta=delta, bound="upper") for pair in (fine, coarse))
        assert one <= other <= one * 1.003
    assert coarse.loss.size != fine.loss.size


@pytest.mark.parametrize("given", [{"share": 0.3}, {"tv": 0.15}, {"share": 0.3, "tv": 0.15}], ids=str)
def test_numbers_that_all_count_as_one_cell_are_an_upper_bound(monkeypatch, given):
    """Of few clients, where every outcome can be listed; cells are so wide that each has all totals."""
    setting = {"n": 9, "k": 7, "eps0": 1.0, **given}
    exact = four_kinds.kinds_outcomes(**setting)
    monkeypatch.setattr(four_kinds.listed, "_LISTED", 0)
    monkeypatch.setattr(four_kinds.bound, "_COARSER", (2.0,))
    monkeypatch.setattr(four_kinds.merged, "_SPACING", (4.0, 4.0))
    merged = four_kinds.kinds_outcomes(**setting)
    eps = np.linspace(0.0, 1.0, 41)
    one, other = (
        pair.mass @ np.maximum(-np.expm1(eps - pair.loss[:, None]), 0.0) for pair in (exact, merged)
    )
    assert np.all(other >= one * (1 - 1e-12))
    assert np.any(other > one * 1.01)  # which no other cells would give


@pytest.mark.parametrize("given", [{"share": 0.3}, {"tv": 0.1}], ids=str)
def test_blocks_of_more_numbers_than_are_summed_one_by_one(monkeypatch, given):
    setting = {"n": 10**12, "k": 10**12, "eps0": 0.5, **given}
    monkeypatch.setattr(four_kinds.merged, "_DIFFERENCES", 2**8)
    monkeypatch.setattr(four_kinds.bound, "_COARSER", (2.0,))
    wide = four_kinds.kinds_outcomes(**setting)
    monkeypatch.setattr(four_kinds.merged, "_LONGEST", 2**12)
    narrow = four_kinds.kinds_outcomes(**setting)
    for delta in (1e-7, 1e-12):
        one, other = (outcomes_epsilon(pair, delta=delta, bound="upper") for pair in (narrow, wide))
        assert one * (1 - 1e-9) <= other <= one * 1.0005


@pytest.mark.slow
def test_more_totals_than_seconds_allow_are_refused():
    with pytest.raises(ValueError, match=r"n must be smaller .* got 100000000; leave tv out"):
        four_kinds.kinds_outcomes(n=10**8, k=10**8, eps0=10.0, share=0.2, tv=0.2, nats=600.0)


def divergence(outcomes, eps):
    return float(outcomes.mass @ np.maximum(-np.expm1(eps - outcomes.loss), 0.0)) + outcomes.infinite


@pytest.mark.parametrize("absent", [0, 10**5])
def test_four_kinds_are_rounded_outward(monkeypatch, absent):
    """Without plain and heavy reports they are the clones, of which the truth lists every number."""
    k = 10**4
    monkeypatch.setattr(four_kinds.merged, "_WIDTH", 0.02)
    monkeypatch.setattr(four_kinds.merged, "_FLAT", 1e9)
    outcomes = four_kinds.merged.MergedPair(absent, k, 1.0, worst_kinds.kinds(eps0=1.0), 60.0).outcomes()
    for eps in scale(k, absent) * np.array([0.5, 2.0, 5.0]):
        truth = joint_clones(eps, n=absent + k, k=k, eps0=1.0, bound="exact")
        assert truth * (1 + 1e-4) < divergence(outcomes, eps) < truth * 1.5


def test_what_four_kinds_leave_out_counts():
    outcomes = four_kinds.merged.MergedPair(
        0, 300, 2.0, worst_kinds.kinds(eps0=2.0, share=0.4), 8.0
    ).outcomes()
    whole = four_kinds.merged.MergedPair(0, 300, 2.0, worst_kinds.kinds(eps0=2.0, share=0.4), 60.0).outcomes()
    eps = 1.0
    assert divergence(outcomes, eps) - outcomes.infinite < divergence(whole, eps) < divergence(outcomes, eps)
    assert outcomes.infinite > 4 * math.exp(-8.0)
