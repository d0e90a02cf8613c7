"""History page: a run against its past, for the terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from harness.analysis.tracking.changes import MOST_AFTER
from harness.analysis.tracking.events import MEMORY_CHANGE, Finding
from harness.analysis.tracking.gate import ENOUGH, LEAST_CHANGE, SPREADS, UNTRACKED, WINDOW
from harness.analysis.tracking.judge import to_confirm
from harness.report import history_tables as tables
from harness.report.words import units
from harness.report.words.listing import (
    counted,
    counts_in_words,
    fitted_table,
    markdown_head,
    page_head,
    size,
    text_table,
)
from harness.report.words.markup import code_block, details, escape

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.tracking.track import History

LEAST, MOST = math.expm1(LEAST_CHANGE), math.expm1(UNTRACKED)
THRESHOLDS = (
    f"slower: beyond {LEAST:.0%} and {SPREADS:.0f} spreads of the last {WINDOW} runs; creeping: a "
    f"lasting rise by {LEAST:.0%} in the last {MOST_AFTER}; bigger: memory by {MEMORY_CHANGE:.0%} "
    f"or more; not tracked: {SPREADS:.0f} spreads above {MOST:.0%}."
)
TOO_FEW = f"That is fewer than {ENOUGH}: times wholly beyond noise are reported, and alarm nobody."
QUIET = {
    "unconfirmed": "unconfirmed", "environment": "with the environment",
    "not confirmed": "not confirmed", "reported": "reported",
}  # fmt: skip
STATUSES = {
    "tracked": "tracked", "untracked": "not tracked", "young": f"with fewer than {ENOUGH} runs",
    "absent": "without a time",
}  # fmt: skip
MARKDOWN_MOST = 900_000  # bytes; a job's summary page holds 1 MiB
UNTRACKED_SHOWN = 20
CONFIRM = "To confirm, measure the candidates again in fresh processes:"


def sentence(history: History) -> str:
    """Say in one sentence how the run did."""
    judged = history.judgement
    parts = [_counted_by_word(one for one in judged.findings if one.alarms) or "no alarm"]
    for state, label in QUIET.items():
        quiet = _counted_by_word(one for one in judged.findings if one.state == state)
        parts += [f"{quiet} {label}"] if quiet else []
    return f"{judged.run.name}: {'; '.join(parts)}."


def _counted_by_word(findings: Iterable[Finding]) -> str:
    return counts_in_words(Counter(finding.word for finding in findings))


def notes(history: History) -> list[str]:
    """Return the lines under the sentence: against what, eras, second look, thresholds."""
    judged = history.judgement
    fingerprint, _, grid = judged.run.kind
    lines = [f"Held against {counted(len(judged.past), 'earlier run')} of {fingerprint}, {grid}."]
    lines += [TOO_FEW] if judged.too_few_runs else []
    lines += _era_lines(history)
    if history.packages:
        lines.append(f"Since the run before: {', '.join(history.packages)}.")
    if history.others:
        lines.append(f"Left out: {counted(history.others, 'run')} of other grids.")
    if history.confirmation:
        lines.append(f"Candidates were measured again in {history.confirmation}.")
    return [*lines, THRESHOLDS, *(f"Problem: {line}" for line in history.problems)]


def _era_lines(history: History) -> list[str]:
    """Say when this machine began to be what it is, if it has not always been."""
    if len(history.eras) < 2:
        return []
    era, before = history.eras[-1], history.eras[-2]
    fresh = "New era" if era.runs == 1 else f"Era since {era.first} ({counted(era.runs, 'run')})"
    what = counted(before.runs, "run")
    return [f"{fresh}: {era.reason}. The {what} before it are not compared."]


def command(history: History) -> str | None:
    """Return the command that measures candidates and controls again, None if none waits."""
    if not any(one.state == "unconfirmed" for one in history.judgement.findings):
        return None
    return f"pytest suites --benchmark-only --attn-confirm {history.judgement.run.name}"


def floor_line(history: History) -> str:
    """Say how small a change of a tracked cell can be found, and how many are not tracked."""
    judged = history.judgement
    counts = Counter(judged.cells["status"])
    cells = counts_in_words(
        {label: counts[name] for name, label in STATUSES.items() if counts[name]}
    )
    floors = judged.named("tracked")["floor"]
    if not len(floors):
        return f"Cells: {cells or 'none'}."
    middle, most = (units.percent(floors.quantile(share)) for share in (0.5, 0.9))
    return f"Cells: {cells}. Noise floor of the tracked: median {middle}, 9 of 10 below {most}."


def listing(history: History, *, every: bool) -> Group:
    """Show the history on a terminal; `every` adds each cell with its noise floor."""
    lines: list[RenderableType] = [*page_head(sentence(history), notes(history))]
    lines += _titled("Findings, worst first", tables.finding_frame(history), below=tables.KNOWN)
    if again := command(history):
        lines += [Text(f"\n{CONFIRM}"), Text(again)]
    lines += [Text(""), Text(floor_line(history)), *_noisy(history)]
    if every:
        lines += _titled("Every cell", tables.all_cells_frame(history))
    if len(history.eras) > 1:
        lines += _titled("Eras", tables.era_frame(history.eras))
    return Group(*lines)


def _noisy(history: History) -> list[RenderableType]:
    """Return the cells that are not tracked, the noisiest first, 20 at most."""
    noisy = tables.untracked_frame(history)
    lines = _titled("Not tracked: too noisy", noisy.head(UNTRACKED_SHOWN))
    left = len(noisy) - UNTRACKED_SHOWN
    return [*lines, Text(f"and {left} more: --all lists every cell")] if left > 0 else lines


def markdown(history: History) -> str:
    """Write the history as a page: findings, then floors folded away, under 900,000 bytes."""
    run = history.judgement.run.name
    rest = f"see `attnbench history --run {run} --all`"
    blocks = [markdown_head(sentence(history), notes(history))]
    room = MARKDOWN_MOST // 2
    blocks.append(fitted_table(tables.finding_frame(history), room, rest=rest))
    if again := command(history):
        blocks += [CONFIRM, code_block(again, "sh")]
    blocks.append(escape(floor_line(history)))
    for title, frame in _folded(history):
        left = MARKDOWN_MOST - size("\n\n".join(blocks)) - 1000
        blocks.append(details(title, fitted_table(frame, left, rest=rest)))
    return "\n\n".join(block for block in blocks if block) + "\n"


def as_json(history: History) -> dict[str, Any]:
    """Return the history for a machine; shares of 1, seconds, bytes."""
    judged = history.judgement
    candidates, controls = to_confirm(judged)
    cells = judged.cells.to_json(orient="records", double_precision=15)
    return {
        "run": judged.run.name, "sentence": sentence(history),
        "fingerprint": judged.run.kind[0], "device": judged.run.kind[1],
        "grid": judged.run.kind[2], "runs": [run.name for run in judged.past],
        "thin": judged.too_few_runs,
        "findings": [finding.as_dict() for finding in judged.findings],
        "candidates": candidates, "controls": controls, "confirmation": history.confirmation,
        "command": command(history),
        "eras": [vars(era) | {"changed": list(era.changed)} for era in history.eras],
        "packages": list(history.packages), "problems": list(history.problems),
        "cells": json.loads(cells),
    }  # fmt: skip


def _folded(history: History) -> list[tuple[str, pd.DataFrame]]:
    """Return what a page folds away, with its titles."""
    noisy = tables.untracked_frame(history)
    folded = [(f"{counted(len(noisy), 'cell')} not tracked: too noisy", noisy)]
    folded.append(("Eras", tables.era_frame(history.eras)))
    folded.append(("Every cell with its noise floor", tables.all_cells_frame(history)))
    return [(title, frame) for title, frame in folded if len(frame)]


def _titled(title: str, frame: pd.DataFrame, *, below: str | None = None) -> list[RenderableType]:
    """Return a table under its title, nothing for a table without rows."""
    table = text_table(frame, below=below)
    return [Text(f"\n{title}", style="bold"), table] if len(frame) else []
