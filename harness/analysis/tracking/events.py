"""Events: what became of a cell between runs: outcome, memory, too little history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from harness.analysis.tracking.change import change_of
from harness.analysis.tracking.gate import ENOUGH, WINDOW, Array
from harness.records.archive import ABSENT, STATUSES, Archive
from harness.records.record import FAILURES, Status

# Worst first. Times need a second look, except where they are only reported; the rest is exact.
TIMED = ("slower", "creeping")
EXACT = ("broken", "gone", "bigger")
GOOD = ("fixed", "new", "faster", "smaller")
WORDS = (*EXACT[:2], *TIMED, EXACT[2], *GOOD)
STATES = ("confirmed", "unconfirmed", "environment", "not confirmed", "reported")
MEMORY_CHANGE = 0.01  # a peak is exact; what rounds it (512 B on a GPU) is below this
# Runs for which a cell that is gone or broken stays a finding; then it counts as meant.
REMEMBER = 5
OK = STATUSES.index(Status.OK)


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


def outcome_findings(archive: Archive, reasons: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what became of each cell in the last run of the archive, against those before it.

    A cell that the run was not asked for, or did not come to, has not vanished.
    """
    *past, now = archive.runs
    whole = bool(now.facts.get("complete", True))
    alike = [row for row, run in enumerate(past) if run.choice == now.choice]
    for place, cell in enumerate(archive.cells):
        code = int(archive.statuses[-1, place])
        if code == ABSENT and not whole:
            continue
        rows = alike if code == ABSENT else list(range(len(past)))
        before = status_before([int(archive.statuses[row, place]) for row in rows], code)
        word = outcome_change(before, _name(code))
        if word and not (word == "new" and not past):
            yield Finding(cell=cell, word=word, reason=_why(code, reasons.get(cell)))


def status_before(codes: list[int], now: int) -> str | None:
    """Return the status to hold a cell against: its last, but `ok` if it was so of late."""
    if now != OK:
        return str(Status.OK) if OK in codes[-REMEMBER:] else _name(codes[-1]) if codes else None
    known = [code for code in codes if code != ABSENT]
    return _name(known[-1]) if known else None


def memory_findings(archive: Archive) -> Iterator[Finding]:
    """Yield the cells whose peak (B) changed by 1 % or more.

    It is held against the run before and against the middle of the last 30, so that growth which
    was overlooked one night is seen the next.
    """
    past, now = archive.peaks[:-1][-WINDOW:], archive.peaks[-1]
    for place in np.flatnonzero(np.isfinite(now) & np.isfinite(past).any(axis=0)):
        known = past[np.isfinite(past[:, place]), place]
        usual = float(np.sort(known)[(known.size - 1) // 2])
        words = {
            memory_change(before, float(now[place])): before
            for before in (float(known[-1]), usual)
        }
        word = "bigger" if "bigger" in words else "smaller" if "smaller" in words else None
        if word:
            yield _grown(archive.cells[place], word, before=words[word], now=float(now[place]))


def _grown(cell: str, word: str, *, before: float, now: float) -> Finding:
    share = now / before - 1 if before else None
    return Finding(
        cell=cell, word=word, before=before, now=now, change=share, threshold=MEMORY_CHANGE
    )


def _name(code: int) -> str | None:
    return None if code == ABSENT else STATUSES[code]


def _why(code: int, reason: str | None) -> str | None:
    """Return why a cell was not measured, None if it was."""
    name = _name(code)
    if name == Status.OK:
        return None
    return "not in the run" if name is None else f"{name}: {reason}" if reason else name


def findings_of_few_runs(archive: Archive, floors: Mapping[str, float]) -> Iterator[Finding]:
    """Yield the cells whose interval of the ratio, last run to those before, is beyond noise.

    That is wholly beyond max(5 %, 3 noise floors): a spread of so few runs is not to be trusted.
    """
    for place, cell in enumerate(archive.cells):
        *past, new = [processes(run[:, place]) for run in archive.replicas[-ENOUGH:]]
        old = [run for run in past if run]
        if not (old and new):
            continue
        change = change_of(old, new, floor=floors.get(cell))
        if change.verdict in ("slower", "faster"):
            before = float(np.median([np.median(run) for run in old]))
            yield Finding(
                cell=cell, word=change.verdict, state="reported", before=before,
                now=before * change.ratio, change=change.ratio - 1, low=change.low - 1,
                high=change.high - 1, threshold=change.threshold - 1,
            )  # fmt: skip


def processes(logs: Array) -> list[list[float]]:
    """Return seconds [process][1] of one cell's log medians, NaN left out."""
    return [[float(np.exp(log))] for log in logs if np.isfinite(log)]
