"""Recorded training runs: making, tuning, showing their progress, and reproducing them."""
