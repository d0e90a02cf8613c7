"""Fate: what became of a cell between two runs, apart from its time: outcome and memory."""

from __future__ import annotations

from harness.record import FAILURES, Status

MEMORY_CHANGE = 0.01  # a peak is exact; what rounds it (512 B on a GPU) is below this
OUTCOMES = ("broken", "gone", "fixed", "new")


def outcome_change(before: str | None, now: str | None) -> str | None:
    """Return `broken`, `gone`, `fixed` or `new`, or None if the outcome is of the same sort.

    None as a status is a cell that the run does not have. Gone is also what became unsupported,
    unavailable or out of memory.
    """
    if before == Status.OK and now != Status.OK:
        return "broken" if now in FAILURES else "gone"
    if now == Status.OK and before != Status.OK:
        return "fixed" if before in FAILURES else "new"
    return None


def memory_change(before: float, now: float) -> str | None:
    """Return `bigger` or `smaller` if a peak (bytes) changed by 1 % or more, else None.

    A byte is let through, since 1 % of a peak need not be a whole number.
    """
    if now >= before * (1 + MEMORY_CHANGE) - 1 and now > before:
        return "bigger"
    if now <= before * (1 - MEMORY_CHANGE) + 1 and now < before:
        return "smaller"
    return None
