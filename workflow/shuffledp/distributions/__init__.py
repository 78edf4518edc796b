"""Laws of probability with certified errors: log-normal terms and their sums, tilted binomials, two symbols.

Nothing in here knows about privacy.
"""
