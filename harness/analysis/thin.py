"""Thin: a history of fewer than 10 runs, where times are reported and nothing is alarmed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from harness.analysis.change import change_of
from harness.analysis.columns import Array
from harness.analysis.finding import Finding
from harness.analysis.gate import ENOUGH
from harness.archive import Archive


def thin_findings(archive: Archive, floors: Mapping[str, float]) -> Iterator[Finding]:
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
