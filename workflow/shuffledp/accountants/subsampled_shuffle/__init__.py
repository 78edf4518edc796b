"""Accountants of the subsampled shuffle, a paper or a kind of bound a module."""
