"""Accountants of the subsampled shuffle; one module a paper or a kind of bound."""
