"""How far a value may lie from the exact one, and on which side. All tolerances are relative."""

from .exact import mp, number

# Bounds are rounded outward by 2^-37 = 7e-12; the rounding of sums of hundreds of terms adds up to 5e-11.
CLOSE = 1e-10

# The rounding allowed for grows with the size of the logarithms that are summed: orders in the thousands,
# e^(order eps0) at eps0 = 30, and 16 ulp sqrt(k) for Theorem 2 (1e-10 at k = 1e9).
CLOSE_AT_EXTREMES = 1e-9

# ... and to orders up to 1e6, where the logarithms are of size 1e7: 4 ulp of that.
CLOSE_AT_MILLION = 1e-8

# Closed forms in a few operations: some tens of ulp.
CLOSED_FORM = 2e-14

# Optimal composition raises a probability by 1e-11 of itself, which is an absolute error in epsilon.
OPTIMAL_ABSOLUTE = 5e-11

# Oracles are printed to 15 or more digits.
ORACLE = 1e-9

# Lemma 1 in float64: its terms cancel where epsilon is small, so errors are relative to the largest term.
LEMMA1 = 1e-12


def assert_upper(value, exact, tolerance=CLOSE):
    """``value`` is an upper bound on ``exact``, and hardly above it."""
    assert isinstance(value, float)
    assert number(value) >= exact, f"not an upper bound: {value!r} < {mp.nstr(exact, 20)}"
    assert number(value) <= exact * (1 + number(tolerance)), f"too loose: {value!r} > {mp.nstr(exact, 20)}"


def assert_lower(value, exact, tolerance=CLOSE):
    """``value`` is a lower bound on ``exact``, and hardly below it."""
    assert isinstance(value, float)
    assert number(value) <= exact, f"not a lower bound: {value!r} > {mp.nstr(exact, 20)}"
    assert number(value) >= exact * (1 - number(tolerance)), f"too loose: {value!r} < {mp.nstr(exact, 20)}"


def assert_close(value, exact, tolerance):
    """``value`` lies within ``tolerance`` of ``exact``, on either side."""
    assert abs(number(value) - exact) <= number(tolerance) * abs(number(exact)), (
        f"{value!r} is not close to {mp.nstr(number(exact), 20)}"
    )
