"""Outcomes: which cells of a run broke, vanished, came back or changed their memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from harness.analysis.fate import MEMORY_CHANGE, memory_change, outcome_change
from harness.analysis.finding import Finding
from harness.analysis.gate import WINDOW
from harness.archive import Archive
from harness.figures import ABSENT, STATUSES
from harness.record import Status

# Runs for which a cell that is gone or broken stays a finding; then it counts as meant.
REMEMBER = 5
OK = STATUSES.index(Status.OK)


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
    """Return why a cell has no figures, None if it has."""
    name = _name(code)
    if name == Status.OK:
        return None
    return "not in the run" if name is None else f"{name}: {reason}" if reason else name
