"""Confirm: which cells deserve a second look in fresh processes, and what it then says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.finding import TIMED, Finding, worst_first
from harness.analysis.history import PROCESS, Judgement

if TYPE_CHECKING:
    import pandas as pd

CONTROLS, CONTROLS_LEAST = 5, 3
# More candidates than this are a matter of the machine, and measuring them all would take a night.
CANDIDATES_MOST = 40
QUIET_SPREADS = 1.5
# Controls moved if their middle did by this, and by half of what the candidate did.
MOVED = 0.015
Again = Mapping[str, tuple[float, float]]  # seconds of the median and of the fastest process


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
