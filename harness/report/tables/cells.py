"""What one place of a pivot says: the figure, or how the cell ended instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.record import Status
from harness.report import units

ENDINGS = {
    Status.OUT_OF_MEMORY: "out of memory",
    Status.TIMED_OUT: "timed out",
    Status.UNAVAILABLE: "unavailable",
    Status.UNSUPPORTED: "unsupported",
    Status.DISAGREES: "disagrees",
    Status.CRASHED: "crashed",
    Status.ERROR: "error",
}
SHORT_ENDINGS = ENDINGS | {
    Status.OUT_OF_MEMORY: "no memory",
    Status.UNAVAILABLE: units.ABSENT,
    Status.UNSUPPORTED: units.ABSENT,
}
# A backend that did nothing else has no row in a pivot.
NOTHING = (Status.UNAVAILABLE, Status.UNSUPPORTED)
Write = Callable[[Any], str]


def ending(status: Any, *, short: bool = False) -> str:
    """Name how a cell ended that has no figure."""
    try:
        return (SHORT_ENDINGS if short else ENDINGS).get(Status(status), units.ABSENT)
    except ValueError:
        return str(status)


def figure(row: Any, column: str, write: Write, *, short: bool = False) -> str:
    """Write one figure of a row that is ok, or how it ended; `-` for a row that does not exist."""
    if row is None:
        return units.ABSENT
    if row.status != Status.OK:
        return ending(row.status, short=short)
    return write(getattr(row, column))
