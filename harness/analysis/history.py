"""History: the newest run held against its own past: gate, change points, outcomes, memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.analysis.changepoints import Steps, newest_steps
from harness.analysis.columns import Array, Flags
from harness.analysis.finding import Finding, worst_first
from harness.analysis.gate import ENOUGH, LEAST_CHANGE, Gate, gate
from harness.analysis.outcomes import memory_findings, outcome_findings
from harness.analysis.thin import thin_findings
from harness.analysis.watched import watched

if TYPE_CHECKING:
    import pandas as pd

    from harness.archive import Archive, Past

PROCESS = {False: "median process", True: "fastest process"}


@dataclass(frozen=True)
class Judgement:
    """Hold what history says of one run: findings worst first and a row of figures per cell.

    `cells`: cell, status `tracked`, `untracked`, `young` (fewer than 10 runs) or `absent`; runs,
    followed (which process), level_s, now_s, change, floor (the smallest change that can be a
    finding, a share of 1), quiet (spreads away from the level), backend.
    """

    run: Past
    past: tuple[Past, ...]
    findings: tuple[Finding, ...]
    cells: pd.DataFrame

    @property
    def thin(self) -> bool:
        """Whether there are too few runs for the gate: times are then only reported."""
        return len(self.past) < ENOUGH

    def named(self, status: str) -> pd.DataFrame:
        """Return the cells of one status."""
        return self.cells[self.cells["status"] == status]


def judge_last(
    archive: Archive,
    *,
    floors: Mapping[str, float] | None = None,
    reasons: Mapping[str, str] | None = None,
) -> Judgement:
    """Judge the last run of an archive whose runs are of one kind, oldest first.

    `floors` are the cells' differences between runs of the same code, as shares of 1; `reasons`
    why cells of the last run have no figures. No candidate is confirmed yet.
    """
    series, fast = watched(archive.medians, archive.replicas)
    floor = np.array([(floors or {}).get(cell, np.nan) for cell in archive.cells])
    gated = gate(series[:-1], series[-1], floors=floor)
    found = [*outcome_findings(archive, reasons or {}), *memory_findings(archive)]
    if len(archive.runs) <= ENOUGH:
        found += thin_findings(archive, floors or {})
    else:
        found += gate_findings(archive, series, gated)
        flagged = {one.cell for one in found if one.word == "slower"}
        creeping = creep_findings(archive, series, newest_steps(series))
        found += [one for one in creeping if one.cell not in flagged]
    cells = cell_table(archive, gated, series=series, fast=fast)
    findings = tuple(sorted(found, key=worst_first))
    return Judgement(archive.runs[-1], archive.runs[:-1], findings, cells)


def gate_findings(archive: Archive, series: Array, gated: Gate) -> Iterator[Finding]:
    """Yield the cells that are slower or faster than the gate lets through."""
    for place in np.flatnonzero(gated.candidate | gated.faster):
        slower = bool(gated.candidate[place])
        yield Finding(
            cell=archive.cells[place], word="slower" if slower else "faster",
            state="unconfirmed" if slower else "", before=float(np.exp(gated.level[place])),
            now=float(np.exp(series[-1, place])), change=float(np.expm1(gated.shift[place])),
            threshold=float(np.expm1(gated.threshold[place])),
        )  # fmt: skip


def creep_findings(archive: Archive, series: Array, steps: Steps) -> Iterator[Finding]:
    """Yield the cells whose level rose for good within the last 15 runs."""
    for place in np.flatnonzero(steps.found & np.isfinite(series[-1])):
        since = archive.runs[len(archive.runs) - int(steps.after[place])]
        yield Finding(
            cell=archive.cells[place], word="creeping", state="unconfirmed",
            before=float(np.exp(steps.before[place])), now=float(np.exp(series[-1, place])),
            change=float(np.expm1(steps.shift[place])), threshold=float(np.expm1(LEAST_CHANGE)),
            since=since.name,
        )  # fmt: skip


def cell_table(archive: Archive, gated: Gate, *, series: Array, fast: Flags) -> pd.DataFrame:
    """Make the table of cells: what is known of each and how small a change can be found."""
    import pandas as pd

    present = np.isfinite(series[-1])
    young = np.where(gated.runs < ENOUGH, "young", "untracked")
    status = np.where(present, np.where(gated.tracked, "tracked", young), "absent")
    columns: dict[str, Any] = {
        "cell": archive.cells, "status": status, "runs": gated.runs,
        "followed": [PROCESS[bool(chosen)] for chosen in fast],
        "level_s": np.exp(gated.level), "now_s": np.exp(series[-1]),
        "change": np.expm1(gated.shift), "floor": np.expm1(gated.threshold),
        "quiet": np.abs(gated.shift) / gated.spread,
    }  # fmt: skip
    table = pd.DataFrame(columns)
    unknown = table["runs"] < ENOUGH
    return table.mask(unknown, table.assign(level_s=np.nan, floor=np.nan, change=np.nan))
