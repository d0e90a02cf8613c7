"""What the measurements mean: pure statistics, fits and verdicts, without torch."""
