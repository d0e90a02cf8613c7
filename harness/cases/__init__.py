"""What to measure: the case, its masks and costs, grids of cases; without torch."""
