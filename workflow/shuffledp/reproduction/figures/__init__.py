"""Figures from cached results, a kind a module: drawing reads tables and computes nothing."""
