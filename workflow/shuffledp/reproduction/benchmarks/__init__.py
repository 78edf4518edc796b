"""Timings of the accountants and of the paths of training; no figure of a paper shows them."""
