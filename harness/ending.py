"""Ending: how a run ends early: by a signal, or on a disk that is full; what it has stays."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

from harness.writer import CannotWrite


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
