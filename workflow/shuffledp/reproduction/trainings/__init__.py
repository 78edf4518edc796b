"""Recorded training runs: made, tuned, shown while they run, and proved again."""
