"""Timings of the accountants and of the paths of training; they go into no figure of a paper."""
