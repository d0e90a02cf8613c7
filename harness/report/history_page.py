"""History page: the newest run against its past, for the terminal and as Markdown."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from harness.analysis.tracking.changes import MOST_AFTER
from harness.analysis.tracking.events import MEMORY_CHANGE, Finding
from harness.analysis.tracking.gate import ENOUGH, LEAST_CHANGE, SPREADS, UNTRACKED, WINDOW
from harness.analysis.tracking.judge import to_confirm
from harness.report import history_tables as tables
from harness.report.words import units
from harness.report.words.listing import counted, fitted_table, size, text_table
from harness.report.words.markup import code_block, details, escape

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.tracking.track import Tracked

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


MARKDOWN_MOST = 900_000  # bytes; a job's summary page holds 1 MiB
UNTRACKED_SHOWN = 20
CONFIRM = "To confirm, measure the candidates again in fresh processes:"


def listing(tracked: Tracked, *, every: bool) -> Group:
    """Show the history on a terminal; `every` adds each cell with its noise floor."""
    lines: list[RenderableType] = [Text(sentence(tracked), style="bold")]
    lines += [Text(line) for line in notes(tracked)]
    lines += _titled("Findings, worst first", tables.finding_frame(tracked), below=tables.KNOWN)
    if again := command(tracked):
        lines += [Text(f"\n{CONFIRM}"), Text(again)]
    lines += [Text(""), Text(floor_line(tracked)), *_noisy(tracked)]
    if every:
        lines += _titled("Every cell", tables.all_cells_frame(tracked))
    if len(tracked.eras) > 1:
        lines += _titled("Eras", tables.era_frame(tracked.eras))
    return Group(*lines)


def _noisy(tracked: Tracked) -> list[RenderableType]:
    """Return the cells that are not tracked, the noisiest first, 20 at most."""
    noisy = tables.untracked_frame(tracked)
    lines = _titled("Not tracked: too noisy", noisy.head(UNTRACKED_SHOWN))
    left = len(noisy) - UNTRACKED_SHOWN
    return [*lines, Text(f"and {left} more: --all lists every cell")] if left > 0 else lines


def markdown(tracked: Tracked) -> str:
    """Write the history as a page: findings, then floors folded away, under 900,000 bytes."""
    run = tracked.judgement.run.name
    rest = f"see `attnbench history --run {run} --all`"
    blocks = [f"**{escape(sentence(tracked))}**"]
    blocks.append("\n".join(f"- {escape(line)}" for line in notes(tracked)))
    room = MARKDOWN_MOST // 2
    blocks.append(fitted_table(tables.finding_frame(tracked), room, rest=rest))
    if again := command(tracked):
        blocks += [CONFIRM, code_block(again, "sh")]
    blocks.append(escape(floor_line(tracked)))
    for title, frame in _folded(tracked):
        left = MARKDOWN_MOST - size("\n\n".join(blocks)) - 1000
        blocks.append(details(title, fitted_table(frame, left, rest=rest)))
    return "\n\n".join(block for block in blocks if block) + "\n"


def as_json(tracked: Tracked) -> dict[str, Any]:
    """Return the history for a machine; shares of 1, seconds, bytes."""
    judged = tracked.judgement
    candidates, controls = to_confirm(judged)
    cells = judged.cells.to_json(orient="records", double_precision=15)
    return {
        "run": judged.run.name, "sentence": sentence(tracked),
        "fingerprint": judged.run.kind[0], "device": judged.run.kind[1],
        "grid": judged.run.kind[2], "runs": [run.name for run in judged.past],
        "thin": judged.thin, "findings": [finding.as_dict() for finding in judged.findings],
        "candidates": candidates, "controls": controls, "confirmation": tracked.confirmation,
        "command": command(tracked),
        "eras": [vars(era) | {"changed": list(era.changed)} for era in tracked.eras],
        "packages": list(tracked.packages), "problems": list(tracked.problems),
        "cells": json.loads(cells),
    }  # fmt: skip


def _folded(tracked: Tracked) -> list[tuple[str, pd.DataFrame]]:
    """Return what a page folds away, with its titles."""
    noisy = tables.untracked_frame(tracked)
    folded = [(f"{counted(len(noisy), 'cell')} not tracked: too noisy", noisy)]
    folded.append(("Eras", tables.era_frame(tracked.eras)))
    folded.append(("Every cell with its noise floor", tables.all_cells_frame(tracked)))
    return [(title, frame) for title, frame in folded if len(frame)]


def _titled(title: str, frame: pd.DataFrame, *, below: str | None = None) -> list[RenderableType]:
    """Return a table under its title, nothing for a table without rows."""
    table = text_table(frame, below=below)
    return [Text(f"\n{title}", style="bold"), table] if len(frame) else []
