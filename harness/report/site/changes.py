"""Changes: where a cell's time, memory or outcome came to differ from one run to the next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from harness.analysis.tracking.changes import all_steps
from harness.records.record import FAILURES
from harness.report.site.stack import STATUSES, Matrix, Stack

# The pages list so many, the newest first: a cell that comes and goes must not drown the rest.
MOST = 2000
# Change points are looked for in a year of nights of an era: 500 cells take 10 s of a processor.
LOOKED_AT = 365
# Memory has no noise: any change above 1 % is one.
LEAST_MEMORY = 0.01
OK = STATUSES.index("ok")
FAILED = [STATUSES.index(status.value) for status in FAILURES]


@dataclass(frozen=True)
class Change:
    """Say what became of a cell in a run: `before` and `after` in s, B, or words of outcome."""

    kind: str
    cell: int
    run: int
    before: float | str | None
    after: float | str | None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)


def changes(stack: Stack, eras: list[list[int]]) -> list[Change]:
    """List the changes inside each era (the runs of one fingerprint), the newest first."""
    found = [
        change
        for runs in eras
        for change in (*_times(stack, runs), *_memory(stack, runs), *_outcomes(stack, runs))
    ]
    return sorted(found, key=lambda change: -change.run)[:MOST]


def _times(stack: Stack, runs: list[int]) -> Iterator[Change]:
    """Yield the change points of each cell's times in the newest runs of an era.

    `before` and `after` are the medians of the stretches on the two sides.
    """
    newest = runs[-LOOKED_AT:]
    for cell, seconds in enumerate(stack.numbers["time_median_s"][:, newest]):
        there = np.flatnonzero(seconds > 0)
        if len(there) == 0:
            continue
        places = [0, *all_steps(np.log(seconds[there])), len(there)]
        levels = [float(np.median(seconds[there[a:b]])) for a, b in pairwise(places)]
        for place, (before, after) in zip(places[1:-1], pairwise(levels), strict=True):
            kind = "slower" if after > before else "faster"
            yield Change(kind, cell, newest[int(there[place])], before, after)


def _memory(stack: Stack, runs: list[int]) -> Iterator[Change]:
    """Yield where peak memory moved by more than 1 % between two runs that measured it."""
    peaks = stack.numbers["peak_bytes"][:, runs]
    for cell in np.flatnonzero(_moves(peaks)):
        there = np.flatnonzero(np.isfinite(peaks[cell]))
        for old, new in pairwise(there):
            before, after = float(peaks[cell, old]), float(peaks[cell, new])
            if abs(after - before) > LEAST_MEMORY * before:
                kind = "bigger" if after > before else "smaller"
                yield Change(kind, int(cell), runs[new], before, after)


def _moves(values: Matrix) -> Matrix:
    """Say which rows hold more than one value, NaN left out."""
    low = np.where(np.isfinite(values), values, np.inf).min(axis=1, initial=np.inf)
    high = np.where(np.isfinite(values), values, -np.inf).max(axis=1, initial=-np.inf)
    return np.asarray(high > low)


def _outcomes(stack: Stack, runs: list[int]) -> Iterator[Change]:
    """Yield where a cell was lost, broke, came back or came anew between neighbouring runs."""
    status = stack.status[:, runs]
    cells, places = np.nonzero(status[:, 1:] != status[:, :-1])
    for cell, place in zip(cells.tolist(), places.tolist(), strict=True):
        before, after = int(status[cell, place]), int(status[cell, place + 1])
        kind = outcome_kind(before, after)
        if kind:
            words = [STATUSES[word] or "absent" for word in (before, after)]
            yield Change(kind, cell, runs[place + 1], *words)


def outcome_kind(before: int, after: int) -> str:
    """Name a change of outcome: broken, fixed, gone, new, or "" if neither side was ok."""
    if OK not in (before, after):
        return ""
    if after == OK:
        return "fixed" if before in FAILED else "new"
    return "broken" if after in FAILED else "gone"


def eras(fingerprints: Iterable[str]) -> list[list[int]]:
    """Group runs by fingerprint, in the order of each one's first run: numbers across eras differ
    for reasons that are no change of the code."""
    found: dict[str, list[int]] = {}
    for run, fingerprint in enumerate(fingerprints):
        found.setdefault(fingerprint, []).append(run)
    return list(found.values())
