"""Fits: what the times or the peaks of one series say, with intervals."""
