"""Tracking: two runs held against each other, and the newest against its past."""
