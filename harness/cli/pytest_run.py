"""A run inside pytest: samples handed to pytest-benchmark, and how it ends early."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

from harness.records.writer import CannotWrite


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


def end_as_after_ctrl_c() -> dict[int, Any]:
    """Let SIGTERM and a closed terminal end the run as Ctrl-C does; return the old handlers."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    wanted = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    before: dict[int, Any] = {}
    for number in filter(None, wanted):
        # Under nohup a closed terminal is to be ignored. A thread cannot set handlers.
        if signal.getsignal(number) is not signal.SIG_IGN:
            with suppress(ValueError):
                before[number] = signal.signal(number, interrupt)
    return before


@contextmanager
def end_on_full_disk() -> Iterator[None]:
    """End the run in one line when its results can no longer be written."""
    try:
        yield
    except CannotWrite as error:
        pytest.exit(str(error), returncode=pytest.ExitCode.INTERRUPTED)


@contextmanager
def said_once(say: Callable[[str], object], what: str) -> Iterator[None]:
    """Say in one line that a disk is full at the end of a run; what was written stays."""
    try:
        yield
    except CannotWrite as error:
        say(str(error))
    except OSError as error:
        say(f"{what} cannot be written: {error.strerror or error}")
