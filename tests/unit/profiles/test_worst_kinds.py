"""Probabilities of the kinds of reports."""

from __future__ import annotations

import math

import pytest

from shuffledp.profiles import worst_kinds


def test_kinds_add_up():
    for eps0 in (1e-3, 1.0, 5.0):
        for numbers in ({}, {"share": 0.2}, {"tv": 0.4 * math.tanh(eps0 / 2)}, {"share": 0.3, "tv": 1e-4}):
            kinds = worst_kinds.kinds(eps0=eps0, **numbers)
            e = math.exp(eps0)
            total = kinds.plain + e * kinds.heavy + (e + 1) * kinds.tilted
            assert total == pytest.approx(1, rel=1e-12)
            assert 2 * kinds.tilted + kinds.plain + kinds.heavy + kinds.revealed == pytest.approx(
                1, rel=1e-12
            )
            assert min(kinds.tilted, kinds.plain, kinds.heavy, kinds.revealed) >= 0
