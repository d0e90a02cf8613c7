"""Judge: the newest run against its past, and what a second look makes of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.analysis.tracking.changes import Steps, newest_steps
from harness.analysis.tracking.events import (
    TIMED,
    Finding,
    findings_of_few_runs,
    memory_findings,
    outcome_findings,
    worst_first,
)
from harness.analysis.tracking.gate import (
    ENOUGH,
    LEAST_CHANGE,
    Array,
    Flags,
    Gate,
    followed_series,
    gate,
)

if TYPE_CHECKING:
    import pandas as pd

    from harness.records.archive import Archive, ArchivedRun

PROCESS = {False: "median process", True: "fastest process"}
CONTROLS, CONTROLS_LEAST = 5, 3
# More candidates than this are a matter of the machine, and measuring them all would take a night.
CANDIDATES_MOST = 40
QUIET_SPREADS = 1.5
# Controls moved if their middle did by this, and by half of what the candidate did.
MOVED = 0.015
Again = Mapping[str, tuple[float, float]]  # seconds of the median and of the fastest process


@dataclass(frozen=True)
class Judgement:
    """Hold what history says of one run: findings worst first and a row per cell.

    `cells`: cell, status `tracked`, `untracked`, `young` (fewer than 10 runs) or `absent`; runs,
    followed (which process), level_s, now_s, change, floor (the smallest change that can be a
    finding, a share of 1), quiet (spreads away from the level), backend.
    """

    run: ArchivedRun
    past: tuple[ArchivedRun, ...]
    findings: tuple[Finding, ...]
    cells: pd.DataFrame

    @property
    def too_few_runs(self) -> bool:
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
    why cells of the last run were not measured. No candidate is confirmed yet.
    """
    series, fast = followed_series(archive.medians, archive.replicas)
    floor = np.array([(floors or {}).get(cell, np.nan) for cell in archive.cells])
    gated = gate(series[:-1], series[-1], floors=floor)
    found = [*outcome_findings(archive, reasons or {}), *memory_findings(archive)]
    if len(archive.runs) <= ENOUGH:
        found += findings_of_few_runs(archive, floors or {})
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


def to_confirm(judgement: Judgement) -> tuple[list[str], list[str]]:
    """Return (candidates, controls): the cells to measure again in fresh processes.

    Candidates are the slower and creeping cells, worst first, at most 40. Controls are up to 5
    tracked cells that lie quietly on their level, of times like the candidates', from as many
    backends as there are, those of the candidates last: what slows a backend as a whole must not
    pass for the machine's mood.
    """
    waiting = [one for one in judgement.findings if one.word in TIMED and one.state != "reported"]
    candidates = [finding.cell for finding in waiting][:CANDIDATES_MOST]
    if not candidates:
        return [], []
    flagged = {finding.cell for finding in judgement.findings}
    times = [math.log(finding.now) for finding in waiting if finding.now]
    return candidates, _controls(
        judgement, candidates, flagged=flagged, time=float(np.median(times))
    )


def _controls(
    judgement: Judgement, candidates: list[str], *, flagged: set[str], time: float
) -> list[str]:
    """Return the controls, one backend after the other."""
    calm = calm_cells(judgement, flagged)
    near = calm.assign(away=(np.log(calm["level_s"]) - time).abs()).sort_values(["away", "cell"])
    turn = near.groupby("backend").cumcount()
    own = near["backend"].isin({backend_of(cell) for cell in candidates})
    order = near.assign(own=own, turn=turn).sort_values(["own", "turn", "away", "cell"])
    return [str(cell) for cell in order["cell"].head(CONTROLS)]


def calm_cells(judgement: Judgement, flagged: set[str]) -> pd.DataFrame:
    """Return the tracked cells that lie on their level, or the calmest where hardly one does.

    When cells of every backend move at once, the ones that moved least are measured again: if
    they stay where they are, it was the machine. One backend alone cannot tell.
    """
    table = judgement.named("tracked")
    table = table.assign(backend=table["cell"].map(backend_of))
    calm = table[(table["quiet"] < QUIET_SPREADS) & ~table["cell"].isin(flagged)]
    if len(calm) >= CONTROLS_LEAST or table["backend"].nunique() < 2:
        return calm
    return table.nsmallest(CONTROLS, "quiet")


def backend_of(cell: str) -> str:
    """Return the backend of a cell's name: what comes before the first dot."""
    return cell.partition(".")[0]


def with_second_look(judgement: Judgement, again: Again) -> Judgement:
    """Return the judgement with the state of each candidate that was measured again.

    Confirmed is what lies beyond its threshold a second time; where the controls moved too, it
    is the machine's environment and no alarm.
    """
    _, controls = to_confirm(judgement)
    moved = control_shift(judgement, again, controls)
    followed = dict(zip(judgement.cells["cell"], judgement.cells["followed"], strict=True))
    findings = [
        _looked_at(finding, again, followed=str(followed.get(finding.cell)), moved=moved)
        for finding in judgement.findings
    ]
    return replace(judgement, findings=tuple(sorted(findings, key=worst_first)))


def control_shift(judgement: Judgement, again: Again, controls: Iterable[str]) -> float:
    """Return the middle log shift of the controls against their level, 0 if there is none."""
    names = judgement.cells["cell"]
    levels = dict(zip(names, judgement.cells["level_s"].astype(float), strict=True))
    followed = dict(zip(names, judgement.cells["followed"].astype(str), strict=True))
    shifts = [
        math.log(_seconds(again, cell, followed[cell]) / levels[cell])
        for cell in controls
        if cell in again
    ]
    return float(np.median(shifts)) if shifts else 0.0


def _looked_at(finding: Finding, again: Again, *, followed: str, moved: float) -> Finding:
    if finding.state != "unconfirmed":
        return finding
    assert finding.change is not None
    if moved > max(MOVED, math.log1p(finding.change) / 2):
        return replace(finding, state="environment", reason=f"controls moved by {moved:+.1%}")
    if finding.cell not in again or not finding.before:
        return finding
    seconds = _seconds(again, finding.cell, followed)
    beyond = seconds / finding.before - 1 > (finding.threshold or 0.0)
    return replace(finding, state="confirmed" if beyond else "not confirmed", again=seconds)


def _seconds(again: Again, cell: str, followed: str) -> float:
    median, fastest = again[cell]
    return fastest if followed == PROCESS[True] else median
