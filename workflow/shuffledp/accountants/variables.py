"""The variables of a subsampled shuffle, in the order of the columns of every curve."""

VARIABLES = ("n", "k", "eps0", "rounds", "delta")
