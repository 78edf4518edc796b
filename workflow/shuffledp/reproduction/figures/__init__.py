"""Figures from cached results, one module a kind: drawing reads tables and computes nothing."""
