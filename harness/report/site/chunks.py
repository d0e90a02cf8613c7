"""Chunks: the matrices cut into script files, by device and backend, so that a page loads few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.report.site.pack import packed
from harness.report.site.stack import Stack

# 100,000 points are 2.8 MB of text, which a browser reads and decodes in about 0.1 s.
POINTS = 100_000
# Times as float32 keep seven digits, more than any interval; bytes are exact as float64.
TYPES = {
    "time_median_s": np.float32,
    "time_low_s": np.float32,
    "time_high_s": np.float32,
    "peak_bytes": np.float64,
}


@dataclass(frozen=True)
class Chunk:
    """Name some cells of one device and backend, and the runs that hold any of them."""

    cells: list[int]
    runs: list[int]


def chunks(stack: Stack) -> list[Chunk]:
    """Cut the cells into chunks of at most POINTS points, one cell at the least."""
    groups: dict[tuple[str, str], list[int]] = {}
    for cell, shape in enumerate(stack.shapes):
        groups.setdefault((shape["device"], shape["backend"]), []).append(cell)
    return [chunk for cells in groups.values() for chunk in _cut(stack, cells)]


def _cut(stack: Stack, cells: list[int]) -> Iterator[Chunk]:
    runs = np.flatnonzero(stack.status[cells].any(axis=0)).tolist()
    size = max(1, POINTS // max(1, len(runs)))
    for start in range(0, len(cells), size):
        yield Chunk(cells[start : start + size], runs)


def contents(stack: Stack, chunk: Chunk) -> dict[str, Any]:
    """Return a chunk as plain values: run numbers, and per number a matrix of cells by runs."""
    place = np.ix_(chunk.cells, chunk.runs)
    numbers = {
        name: packed(stack.numbers[name][place].astype(kind)) for name, kind in TYPES.items()
    }
    runs = packed(np.asarray(chunk.runs, dtype=np.uint32))
    return {"runs": runs, "status": packed(stack.status[place]), **numbers}
