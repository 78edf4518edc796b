"""Scores of reports: two ways to add them up, and the errors of either."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from shuffledp.profiles import attacks


@pytest.mark.parametrize(
    ("law", "count"),
    [
        ([0.1, 0.8, 0.1], 200_000),
        ([0.2, 0, 0, 0.3, 0, 0, 0, 0.5], 30_000),
        ([0.001, 0, 0, 0, 0, 0.99, 0, 0.009], 1_000_000),
    ],
)
def test_both_ways_to_add_up_scores_agree(law, count, monkeypatch):
    law = np.array(law) / sum(law)
    monkeypatch.setattr(attacks, "_DIRECT", 10**6)
    direct = attacks._sum([(law, count)], 60.0)
    monkeypatch.setattr(attacks, "_DIRECT", 1)
    transformed = attacks._sum([(law, count)], 60.0)
    peaks = [int(one.mass.argmax()) for one in (direct, transformed)]
    below = min(peaks)
    above = min(one.mass.size - peak for one, peak in zip((direct, transformed), peaks, strict=True))
    (one, wrong), (two, also) = (
        (each.mass[peak - below : peak + above], each.error[peak - below : peak + above])
        for each, peak in zip((direct, transformed), peaks, strict=True)
    )
    large = one > 1e-24 * one.max()
    assert two[large] == pytest.approx(one[large], rel=1e-8)
    assert large.sum() > 1000
    # which they say of themselves, and not much too loudly
    assert (np.abs(two - one)[large] <= (wrong * one + also * two)[large]).all()
    assert also[large].max() < 1e-6


@pytest.mark.parametrize("way", ["direct", "transformed"])
def test_errors_of_added_scores_are_bounded(way, monkeypatch):
    """Against the binomial law at 50 digits; the law is of doubles, whose sum is not quite 1."""
    monkeypatch.setattr(attacks, "_DIRECT", 10**6 if way == "direct" else 1)
    law, count = np.array([0.3, 0.7]), 40_000
    found = attacks._sum([(law, count)], 60.0)
    with mp.workdps(50):
        low, high = (mp.mpf(float(one)) for one in law)
        start = round(0.7 * count) - int(found.mass.argmax())
        for index in range(0, found.mass.size, 97):
            place = start + index
            truth = mp.binomial(count, place) * high**place * low ** (count - place)
            wrong = abs(found.mass[index] / truth - 1)
            assert wrong <= found.error[index] + 2 * count * 2.0**-53
            assert wrong > found.error[index] * 1e-8
