"""Replay: the samples of a cell handed to pytest-benchmark as its rounds, and its JSON file."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pytest


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


def replay(benchmark: Any, clock: ReplayClock, durations: list[float]) -> None:
    """Make pytest-benchmark record these durations in seconds as its rounds."""
    clock.load(durations)
    benchmark.pedantic(_nothing, rounds=len(durations), iterations=1)


def _nothing() -> None:
    """Take no time: the clock says how long it was."""


class DeferredJson(os.PathLike[str]):
    """A path that makes pytest-benchmark put its file together, which the run writes itself.

    Pytest-benchmark would not survive a full disk.
    """

    has_times = False

    def __bool__(self) -> bool:
        """Whether there is something to write: an empty file would only be warned about."""
        return self.has_times

    def __fspath__(self) -> str:
        """Return a path that takes everything."""
        return os.devnull


JSON = pytest.StashKey[DeferredJson]()


def keep_benchmark_quiet(config: pytest.Config) -> None:
    """Let pytest-benchmark make its file, for the run to write, without printing its table."""
    # A cell without a time has no rounds to replay; pytest-benchmark warns of each.
    config.addinivalue_line("filterwarnings", "ignore:Benchmark fixture was not used at all")
    if config.getoption("benchmark_only", False):
        config.option.benchmark_quiet = True
        if not config.getoption("benchmark_json"):
            config.stash[JSON] = config.option.benchmark_json = DeferredJson()


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write pytest-benchmark's file; OSError or CannotWrite if the disk is full."""
    from pytest_benchmark.utils import safe_dumps

    from harness.records.writer import write_text

    text = safe_dumps(content, indent=1)  # type: ignore[no-untyped-call]
    write_text(path, f"{text}\n")


def without_nan(value: Any) -> Any:
    """Replace every float that JSON has no word for by null, all the way down."""
    if isinstance(value, dict):
        return {name: without_nan(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
