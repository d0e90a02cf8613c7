"""History as a whole: for the terminal, for a page of Markdown, and for a machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from harness.analysis.confirm import to_confirm
from harness.report import history_notes as words
from harness.report import history_tables as tables
from harness.report.change_words import counted, fitted_table, size, text_table
from harness.report.markup import code_block, details, escape

if TYPE_CHECKING:
    import pandas as pd

    from harness.tracking import Tracked

MARKDOWN_MOST = 900_000  # bytes; a job's summary page holds 1 MiB
UNTRACKED_SHOWN = 20
CONFIRM = "To confirm, measure the candidates again in fresh processes:"


def listing(tracked: Tracked, *, every: bool) -> Group:
    """Show the history on a terminal; `every` adds each cell with its noise floor."""
    lines: list[RenderableType] = [Text(words.sentence(tracked), style="bold")]
    lines += [Text(line) for line in words.notes(tracked)]
    lines += _titled("Findings, worst first", tables.finding_frame(tracked), below=tables.KNOWN)
    if command := words.command(tracked):
        lines += [Text(f"\n{CONFIRM}"), Text(command)]
    lines += [Text(""), Text(words.floor_line(tracked)), *_noisy(tracked)]
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
    blocks = [f"**{escape(words.sentence(tracked))}**"]
    blocks.append("\n".join(f"- {escape(line)}" for line in words.notes(tracked)))
    room = MARKDOWN_MOST // 2
    blocks.append(fitted_table(tables.finding_frame(tracked), room, rest=rest))
    if command := words.command(tracked):
        blocks += [CONFIRM, code_block(command, "sh")]
    blocks.append(escape(words.floor_line(tracked)))
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
        "run": judged.run.name, "sentence": words.sentence(tracked),
        "fingerprint": judged.run.kind[0], "device": judged.run.kind[1],
        "grid": judged.run.kind[2], "runs": [run.name for run in judged.past],
        "thin": judged.thin, "findings": [finding.as_dict() for finding in judged.findings],
        "candidates": candidates, "controls": controls, "confirmation": tracked.confirmation,
        "command": words.command(tracked),
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
