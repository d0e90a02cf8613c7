"""Injection: hand measured samples to pytest-benchmark through its public interface."""

from __future__ import annotations

import math
import os
from typing import Any


class ReplayClock:
    """A timer that replays durations: pytest-benchmark reads it twice a round."""

    def __init__(self) -> None:
        self.times = iter((0.0,))

    def load(self, durations: list[float]) -> None:
        """Queue the readings that give these durations in seconds."""
        self.times = iter([time for duration in durations for time in (0.0, duration)])

    def __call__(self) -> float:
        """Return the next reading."""
        return next(self.times, 0.0)


class Wanted(os.PathLike[str]):
    """A path that makes pytest-benchmark put its file together, which is written by the run.

    Pytest-benchmark would not survive a full disk.
    """

    something = False

    def __bool__(self) -> bool:
        """Whether there is something to write: an empty file would only be warned about."""
        return self.something

    def __fspath__(self) -> str:
        """Return a path that takes everything."""
        return os.devnull


def without_nan(value: Any) -> Any:
    """Replace every float that JSON has no word for by null, all the way down."""
    if isinstance(value, dict):
        return {name: without_nan(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def replay(benchmark: Any, clock: ReplayClock, durations: list[float]) -> None:
    """Make pytest-benchmark record these durations in seconds as its rounds."""
    clock.load(durations)
    benchmark.pedantic(_nothing, rounds=len(durations), iterations=1)


def _nothing() -> None:
    """Take no time: the clock says how long it was."""
