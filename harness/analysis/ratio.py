"""Ratio: how many times longer one cell takes than another, paired by process and by round."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.analysis.paired import paired_ratio, round_ratio
from harness.analysis.statistics import REPLICAS_LEAST as REPLICAS_LEAST
from harness.analysis.statistics import student_interval
from harness.record import Record

if TYPE_CHECKING:
    import pandas as pd

# Seconds of one cell as [replica][round].
Rounds = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Ratio:
    """Hold the time of one cell over another's at one length, with a 95 % interval.

    `paired` is False where the interval is that of two unrelated medians: fewer than three
    replicas, or not the same processes in both cells.
    """

    length: int
    value: float
    low: float
    high: float
    paired: bool

    def __str__(self) -> str:
        return f"{self.value:.3g}x [{self.low:.3g}, {self.high:.3g}]"


def rounds_by_cell(samples: pd.DataFrame) -> dict[str, list[list[float]]]:
    """Return the seconds of each cell as [replica][round] from a table of raw samples."""
    ordered = samples.sort_values(["cell", "replica", "index"], kind="stable")
    found: dict[str, list[list[float]]] = {}
    for (cell, _), part in ordered.groupby(["cell", "replica"], sort=False)["seconds"]:
        found.setdefault(str(cell), []).append(part.tolist())
    return found


def time_ratio(
    top: Record, bottom: Record, *, rounds: Mapping[str, Rounds] | None = None
) -> Ratio:
    """Return the time of `top` over that of `bottom`, both measured on one device.

    Replica i of both cells is the same process, so what slows a process cancels. Backends of one
    case took turns in every round: with `rounds` (by cell, in seconds) what slows a round cancels
    too. The interval holds the bootstrap's and Student's: the first alone covered 75 % with three
    processes that differ and 87 % with seven (simulated). ValueError for cells of two devices: a
    time on one says nothing about the other.
    """
    if top.device != bottom.device:
        raise ValueError(
            f"{top.cell} on {top.device} and {bottom.cell} on {bottom.device}: "
            "times on two devices are never compared"
        )
    above, below = _shared_rounds(top, bottom, rounds or {})
    if len(above) != len(below) or len(above) < REPLICAS_LEAST:
        return unpaired(top, bottom)
    value, low, high = paired_ratio(above, below)
    narrow, wide = student_interval(
        [round_ratio(*both) for both in zip(above, below, strict=True)]
    )
    return Ratio(top.length_query, value, min(low, narrow), max(high, wide), paired=True)


def _shared_rounds(
    top: Record, bottom: Record, rounds: Mapping[str, Rounds]
) -> tuple[Rounds, Rounds]:
    """Return the rounds of two cells of one visit, else each process as one round: its median."""
    medians = [[[each] for each in cell.replica_medians_s or ()] for cell in (top, bottom)]
    known = [rounds.get(cell.cell, ()) for cell in (top, bottom)]
    whole = all(len(one) == len(two) for one, two in zip(known, medians, strict=True))
    cases = {cell.cell.removeprefix(f"{cell.backend}.") for cell in (top, bottom)}
    above, below = known if whole and len(cases) == 1 else medians
    return above, below


def unpaired(top: Record, bottom: Record) -> Ratio:
    """Return the ratio whose interval leaves out 1 only if the two intervals are apart."""
    assert top.time_median_s is not None
    assert bottom.time_median_s is not None
    value = top.time_median_s / bottom.time_median_s
    low = (top.time_low_s or 0.0) / (bottom.time_high_s or math.inf)
    high = (top.time_high_s or math.inf) / (bottom.time_low_s or 1e-30)
    return Ratio(top.length_query, value, min(low, value), max(high, value), paired=False)
