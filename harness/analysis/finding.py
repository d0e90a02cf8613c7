"""Finding: one thing that history says of one cell, and whether a second look bears it out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

# Worst first. Times need a second look, except where they are only reported; the rest is exact.
TIMED = ("slower", "creeping")
EXACT = ("broken", "gone", "bigger")
GOOD = ("fixed", "new", "faster", "smaller")
WORDS = (*EXACT[:2], *TIMED, EXACT[2], *GOOD)
STATES = ("confirmed", "unconfirmed", "environment", "not confirmed", "reported")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Hold one finding; times in seconds, peaks in bytes, `change` and `threshold` shares of 1.

    `state` is empty where nothing is to be confirmed. `again` is the time of the second look.
    """

    cell: str
    word: str
    state: str = ""
    before: float | None = None
    now: float | None = None
    again: float | None = None
    change: float | None = None
    threshold: float | None = None
    low: float | None = None
    high: float | None = None
    since: str | None = None
    reason: str | None = None

    @property
    def alarms(self) -> bool:
        """Whether it makes a night red without being asked to."""
        return self.word in EXACT or self.state == "confirmed"

    @property
    def key(self) -> str:
        """What `--fail-on` calls it: its word, or `unconfirmed`; empty if it never alarms."""
        if self.alarms:
            return self.word
        return "unconfirmed" if self.state == "unconfirmed" else ""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return asdict(self)


def worst_first(finding: Finding) -> tuple[int, int, float, str]:
    """Return what findings are sorted by: word, state, size of the change, cell."""
    state = STATES.index(finding.state) if finding.state else 0
    return WORDS.index(finding.word), state, -abs(finding.change or 0.0), finding.cell
