"""A benchmark of attention: agreement first, then time, memory and verdicts on claims."""

__version__ = "0.1.0"
