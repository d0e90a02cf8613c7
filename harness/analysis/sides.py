"""Sides: what one run says of each of its cells, as comparing needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.analysis.change import Processes
from harness.record import Status

if TYPE_CHECKING:
    import pandas as pd

    from harness.store import Run

NAMES = ["cell", "status", "reason", "time_median_s", "peak_bytes", "replica_medians_s"]


@dataclass(frozen=True)
class Side:
    """Hold one cell of one run: outcome, median (s), peak (B), seconds [process][sample]."""

    status: str | None = None
    reason: str | None = None
    median_s: float | None = None
    peak_bytes: int | None = None
    processes: Processes = ()

    @property
    def outcome(self) -> str:
        """The status with its reason, or that there is no such cell."""
        if self.status is None:
            return "not in the run"
        return f"{self.status}: {self.reason}" if self.reason else self.status


def sides(run: Run) -> dict[str, Side]:
    """Return every cell of a run by name."""
    table = run.table[NAMES].astype(object)
    rows = table.where(table.notna(), None).to_dict("records")
    samples = {str(name): part for name, part in run.samples.groupby("cell", sort=False)}
    return {str(row["cell"]): _side(row, samples.get(str(row["cell"]))) for row in rows}


def _side(row: dict[Any, Any], samples: pd.DataFrame | None) -> Side:
    if row["status"] != Status.OK:
        return Side(row["status"], row["reason"])
    peak = None if row["peak_bytes"] is None else int(row["peak_bytes"])
    return Side(row["status"], row["reason"], row["time_median_s"], peak, _processes(row, samples))


def _processes(row: dict[Any, Any], samples: pd.DataFrame | None) -> Processes:
    """Return seconds [process][sample], of a run without samples its processes' medians."""
    if samples is not None and len(samples):
        return [part["seconds"].to_numpy(float) for _, part in samples.groupby("replica")]
    if row["replica_medians_s"] is not None:
        return [[float(median)] for median in row["replica_medians_s"]]
    return [] if row["time_median_s"] is None else [[float(row["time_median_s"])]]
