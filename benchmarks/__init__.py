"""Measurements of the measuring itself: scripts for a checkout, no part of what is installed."""
