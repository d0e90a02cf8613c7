"""What history says in sentences: how a run did, against what, since when, what to do next."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from harness.analysis.changepoints import MOST_AFTER
from harness.analysis.fate import MEMORY_CHANGE
from harness.analysis.finding import Finding
from harness.analysis.gate import ENOUGH, LEAST_CHANGE, SPREADS, UNTRACKED, WINDOW
from harness.report import units
from harness.report.change_words import counted

if TYPE_CHECKING:
    from harness.tracking import Tracked

LEAST, MOST = math.expm1(LEAST_CHANGE), math.expm1(UNTRACKED)
THRESHOLDS = (
    f"slower: beyond {LEAST:.0%} and {SPREADS:.0f} spreads of the last {WINDOW} runs; creeping: a "
    f"lasting rise by {LEAST:.0%} in the last {MOST_AFTER}; bigger: memory by {MEMORY_CHANGE:.0%} "
    f"or more; not tracked: {SPREADS:.0f} spreads above {MOST:.0%}."
)
THIN = f"That is fewer than {ENOUGH}: times wholly beyond noise are reported, and alarm nobody."
QUIET = {
    "unconfirmed": "unconfirmed", "environment": "with the environment",
    "not confirmed": "not confirmed", "reported": "reported",
}  # fmt: skip
STATUSES = {
    "tracked": "tracked", "untracked": "not tracked", "young": f"with fewer than {ENOUGH} runs",
    "absent": "without a time",
}  # fmt: skip


def sentence(tracked: Tracked) -> str:
    """Say in one sentence how the run did."""
    judged = tracked.judgement
    told = [_told([one for one in judged.findings if one.alarms]) or "no alarm"]
    for state, label in QUIET.items():
        quiet = _told([one for one in judged.findings if one.state == state])
        told += [f"{quiet} {label}"] if quiet else []
    return f"{judged.run.name}: {'; '.join(told)}."


def notes(tracked: Tracked) -> list[str]:
    """Return the lines under the sentence: against what, eras, second look, thresholds."""
    judged = tracked.judgement
    fingerprint, _, grid = judged.run.kind
    lines = [f"Held against {counted(len(judged.past), 'earlier run')} of {fingerprint}, {grid}."]
    lines += [THIN] if judged.thin else []
    lines += _era_lines(tracked)
    if tracked.packages:
        lines.append(f"Since the run before: {', '.join(tracked.packages)}.")
    if tracked.others:
        lines.append(f"Left out: {counted(tracked.others, 'run')} of other grids.")
    if tracked.confirmation:
        lines.append(f"Candidates were measured again in {tracked.confirmation}.")
    return [*lines, THRESHOLDS, *(f"Problem: {line}" for line in tracked.problems)]


def _era_lines(tracked: Tracked) -> list[str]:
    """Say when this machine began to be what it is, if it has not always been."""
    if len(tracked.eras) < 2:
        return []
    era, before = tracked.eras[-1], tracked.eras[-2]
    fresh = "New era" if era.runs == 1 else f"Era since {era.first} ({counted(era.runs, 'run')})"
    what = counted(before.runs, "run")
    return [f"{fresh}: {era.reason}. The {what} before it are not compared."]


def command(tracked: Tracked) -> str | None:
    """Return the command that measures candidates and controls again, None if none waits."""
    if not any(one.state == "unconfirmed" for one in tracked.judgement.findings):
        return None
    return f"pytest suites --benchmark-only --attn-confirm {tracked.judgement.run.name}"


def floor_line(tracked: Tracked) -> str:
    """Say how small a change of a tracked cell can be found, and how many are not tracked."""
    judged = tracked.judgement
    counts = Counter(judged.cells["status"])
    told = ", ".join(f"{counts[name]} {label}" for name, label in STATUSES.items() if counts[name])
    floors = judged.named("tracked")["floor"]
    if not len(floors):
        return f"Cells: {told or 'none'}."
    middle, most = (units.percent(floors.quantile(share)) for share in (0.5, 0.9))
    return f"Cells: {told}. Noise floor of the tracked: median {middle}, 9 of 10 below {most}."


def _told(findings: list[Finding]) -> str:
    counts = Counter(finding.word for finding in findings)
    return ", ".join(f"{count} {word}" for word, count in counts.items())
