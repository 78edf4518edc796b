"""Figures from cached results. Drawing reads tables and computes nothing."""
