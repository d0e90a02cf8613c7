"""Rows: a run's cells and their outcomes as plain values; JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from harness.records.record import REFUSES, Finding, Record, Status
from harness.records.store import Run, finite
from harness.records.tables import findings_of, records_of

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
class Timed:
    """Hold one cell that was measured: its record, its median in seconds, all its samples.

    `samples_s` are the medians of the replicas where a run was read without its raw samples.
    """

    record: Record
    median_s: float
    samples_s: tuple[float, ...]

    @property
    def half_width_s(self) -> float | None:
        """Distance in seconds from the median to the farther end of its 95 % interval."""
        low, high = finite(self.record.time_low_s), finite(self.record.time_high_s)
        if low is None or high is None:
            return None
        return max(high - self.median_s, self.median_s - low, 0.0)


def records(run: Run) -> Iterator[Record]:
    """Yield the cells of a run in their order; what is absent or not finite is None."""
    for record in records_of(run.table):
        yield Record.from_dict({name: _plain(value) for name, value in record.as_dict().items()})


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold: a table that was made by hand may hold inf."""
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, tuple):
        return tuple(one for one in value if finite(one) is not None)
    return value


def timed(run: Run) -> list[Timed]:
    """Return the cells that have a time to hand on; ValueError if no cell has one.

    A cell that is not ok has none: a time of a wrong answer is not to be plotted. Other tools
    refuse an empty list, or take it for a fault of theirs, so it is refused here by name.
    """
    samples = run.samples.groupby("cell", sort=False)["seconds"].agg(tuple).to_dict()
    found = []
    for record in records(run):
        median_s = finite(record.time_median_s)
        if record.status != Status.OK or median_s is None or median_s <= 0:
            continue
        raw = samples.get(record.cell) or record.replica_medians_s or (median_s,)
        found.append(Timed(record=record, median_s=median_s, samples_s=tuple(raw)))
    if not found:
        raise ValueError(f"run {run.name} has no cell with a time: nothing to export")
    return found


def as_json(run: Run) -> str:
    """Return every cell of a run as JSON, also those without a time: a list of our own rows."""
    rows = [record.as_dict() for record in records(run)]
    return json.dumps(rows, indent=1, allow_nan=False) + "\n"


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
    found = findings_of(run.conformance)
    return [*map(_of_cell, records(run)), *map(_of_finding, found)]


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
