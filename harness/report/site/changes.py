"""Changes: where a cell's time, memory or outcome came to differ from one run to the next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from harness.analysis.tracking.changes import all_steps
from harness.analysis.tracking.events import memory_change, outcome_change
from harness.report.site.matrix import STATUSES, Array, RunMatrix

# The pages list so many, the newest first: a cell that comes and goes must not drown the rest.
MOST = 2000
# Change points are looked for in a year of nights of an era: 500 cells take 10 s of a processor.
LOOKED_AT = 365


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


def changes(matrix: RunMatrix, eras: list[list[int]]) -> list[Change]:
    """List the changes inside each era (the runs of one fingerprint), the newest first."""
    found = [
        change
        for runs in eras
        for change in (*_times(matrix, runs), *_memory(matrix, runs), *_outcomes(matrix, runs))
    ]
    return sorted(found, key=lambda change: -change.run)[:MOST]


def _times(matrix: RunMatrix, runs: list[int]) -> Iterator[Change]:
    """Yield the change points of each cell's times in the newest runs of an era.

    `before` and `after` are the medians of the stretches on the two sides.
    """
    newest = runs[-LOOKED_AT:]
    for cell, seconds in enumerate(matrix.numbers["time_median_s"][:, newest]):
        there = np.flatnonzero(seconds > 0)
        if len(there) == 0:
            continue
        places = [0, *all_steps(np.log(seconds[there])), len(there)]
        levels = [float(np.median(seconds[there[a:b]])) for a, b in pairwise(places)]
        for place, (before, after) in zip(places[1:-1], pairwise(levels), strict=True):
            kind = "slower" if after > before else "faster"
            yield Change(kind, cell, newest[int(there[place])], before, after)


def _memory(matrix: RunMatrix, runs: list[int]) -> Iterator[Change]:
    """Yield where peak memory moved by 1 % or more between two runs that measured it."""
    peaks = matrix.numbers["peak_bytes"][:, runs]
    for cell in np.flatnonzero(_moves(peaks)):
        there = np.flatnonzero(np.isfinite(peaks[cell]))
        for old, new in pairwise(there):
            before, after = float(peaks[cell, old]), float(peaks[cell, new])
            if kind := memory_change(before, after):
                yield Change(kind, int(cell), runs[new], before, after)


def _moves(values: Array) -> Array:
    """Say which rows hold more than one value, NaN left out."""
    low = np.where(np.isfinite(values), values, np.inf).min(axis=1, initial=np.inf)
    high = np.where(np.isfinite(values), values, -np.inf).max(axis=1, initial=-np.inf)
    return np.asarray(high > low)


def _outcomes(matrix: RunMatrix, runs: list[int]) -> Iterator[Change]:
    """Yield where a cell was lost, broke, came back or came anew between neighbouring runs."""
    status = matrix.status[:, runs]
    cells, places = np.nonzero(status[:, 1:] != status[:, :-1])
    for cell, place in zip(cells.tolist(), places.tolist(), strict=True):
        before, after = (STATUSES[code] for code in status[cell, place : place + 2])
        if kind := outcome_change(before or None, after or None):
            yield Change(kind, cell, runs[place + 1], before or "absent", after or "absent")
