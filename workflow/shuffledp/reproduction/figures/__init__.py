"""Figures from cached results, a module a kind and what they share: drawing reads tables alone."""
