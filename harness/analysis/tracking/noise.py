"""Noise of an A/A run: what unchanged code shows as a change, and which change is told from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.fits.intervals import REPLICAS_LEAST
from harness.analysis.fits.ratio import Rounds, rounds_by_cell, time_ratio
from harness.analysis.fits.series import is_ok
from harness.analysis.tracking.change import between_floor, smallest_change
from harness.records.noise import COLUMNS, Noise, every_row, twin_of
from harness.records.record import Record
from harness.records.tables import records_of

if TYPE_CHECKING:
    import pandas as pd

# Three medians that agree by luck do not make a machine quieter than this between two processes.
SPREAD_LEAST = 0.003
# Two unchanged runs that may differ by more than this tell nothing from night to night.
NOISY = 0.10


def noise_table(table: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell of an A/A run that was timed under both labels."""
    import pandas as pd

    found = noises(records_of(table), rounds_by_cell(samples))
    rows = [asdict(noise) for noise in found]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def noises(records: Iterable[Record], rounds: Mapping[str, Rounds] | None = None) -> list[Noise]:
    """Return the noise of each cell that both labels timed, in three or more processes.

    `rounds` are the raw samples by cell, in seconds: labels that took turns pair round by round.
    """
    timed = {record.cell: record for record in records if is_ok(record)}
    found = []
    for cell, record in timed.items():
        twin = timed.get(twin_of(record.backend) + cell.removeprefix(record.backend))
        if twin is not None and _comparable(record, twin):
            found.append(noise_of(record, twin, rounds=rounds))
    return found


def noise_of(record: Record, twin: Record, *, rounds: Mapping[str, Rounds] | None = None) -> Noise:
    """Return the noise of one cell that was measured under two labels."""
    ratio = time_ratio(twin, record, rounds=rounds)
    own, other = record.replica_medians_s or (), twin.replica_medians_s or ()
    spread = process_spread(own, other)
    floor = between_floor(spread, len(own))
    return Noise(
        cell=record.cell,
        ratio=ratio.value,
        low=ratio.low,
        high=ratio.high,
        floor_within=max((ratio.high - ratio.low) / 2 / ratio.value, abs(ratio.value - 1)),
        floor_between=floor,
        smallest_change=smallest_change(spread, len(own)),
        spread=spread,
        replicas=len(own),
        samples=(record.samples or 0) + (twin.samples or 0),
        noisy=floor > NOISY,
    )


def process_spread(own: Sequence[float], other: Sequence[float]) -> float:
    """Return the relative standard deviation of a process's median, at least 0.3 %.

    Label A of one process is set against label B of every other one: half the mean square of
    their log ratios is the variance of one median, what is the process's own included, as it is
    between two runs. Both arguments are the medians [processes] of the same processes.
    """
    logs, others = np.log(own), np.log(other)
    gaps = (logs[:, None] - others[None, :])[~np.eye(logs.size, dtype=bool)]
    return max(math.sqrt(fmean(gaps**2) / 2), SPREAD_LEAST)


def _comparable(record: Record, twin: Record) -> bool:
    own, other = record.replica_medians_s or (), twin.replica_medians_s or ()
    return len(own) == len(other) >= REPLICAS_LEAST


def noise_floors(
    results: Path, fingerprint: str, *, replicas: int | None = None
) -> dict[str, float]:
    """Return {cell: floor}, relative, for comparing two runs; a cell's newest A/A run counts.

    It is the 95 % half-width of the ratio of two unchanged runs with `replicas` processes each
    (as many as the A/A run had). Cells never seen in an A/A run on this machine are absent.
    """
    floors: dict[str, float] = {}
    for row in every_row(results, fingerprint):
        floors[row.cell] = between_floor(row.spread, replicas or row.replicas)
    return floors
