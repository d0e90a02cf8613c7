"""Outcomes: how each cell and each behaviour of a run ended, in the words of a test report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.conformance import REFUSES, Finding
from harness.export.rows import records
from harness.record import Record, Status
from harness.store import Run, finite

# Tags of an outcome; a cell that is ok has none. An error is a fault outside the answer itself.
OUTCOMES = {
    Status.DISAGREES: "failure",
    Status.CRASHED: "error",
    Status.TIMED_OUT: "error",
    Status.ERROR: "error",
    Status.OUT_OF_MEMORY: "skipped",
    Status.UNAVAILABLE: "skipped",
    Status.UNSUPPORTED: "skipped",
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """Hold one test case: where it belongs, how it ended (None: passed), seconds of one call."""

    suite: str
    backend: str
    name: str
    outcome: str | None = None
    kind: str = ""
    message: str = ""
    seconds: float | None = None


def outcomes(run: Run) -> list[Case]:
    """Return every cell of a run, then every behaviour that was asked, as test cases."""
    found = [Finding.from_dict(_known(row)) for row in run.conformance.to_dict("records")]
    return [*map(_of_cell, records(run)), *map(_of_finding, found)]


def _known(row: dict[Any, Any]) -> dict[str, Any]:
    """Return a row of the table of behaviours with None in the place of a missing text."""
    return {name: value if isinstance(value, str) else None for name, value in row.items()}


def _of_cell(record: Record) -> Case:
    reason = record.reason or record.status
    return Case(
        suite=record.suite or "cells",
        backend=record.backend,
        name=record.cell,
        outcome=OUTCOMES.get(Status(record.status)),
        kind=record.status,
        message=reason,
        seconds=finite(record.time_median_s) if record.status == Status.OK else None,
    )


def _of_finding(found: Finding) -> Case:
    """Return a behaviour as a test case: a known fault of a library fails nothing."""
    skipped = found.verdict == REFUSES or (found.wrong and found.known)
    seen = f"expected {found.expected}, observed {found.observed}"
    return Case(
        suite="behaviours",
        backend=found.backend,
        name=f"{found.backend}.{found.behaviour}.{found.dtype}",
        outcome="skipped" if skipped else "failure" if found.wrong else None,
        kind=found.verdict,
        message=found.reason or seen,
    )
