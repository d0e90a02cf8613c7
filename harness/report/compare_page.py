"""Compare page: two runs compared, for the terminal, as Markdown and as JSON."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from harness.analysis.tracking.change import CHANGE_LEAST, FLOOR_TIMES
from harness.analysis.tracking.changes import fingerprint_differences
from harness.analysis.tracking.compare import QUIET, Comparison, Row
from harness.analysis.tracking.events import MEMORY_CHANGE
from harness.report.words import units
from harness.report.words.listing import (
    change,
    counted,
    counts_in_words,
    fitted_table,
    frame_of,
    markdown_head,
    page_head,
    size,
    text_table,
)
from harness.report.words.markup import code_block

if TYPE_CHECKING:
    import pandas as pd

MARKDOWN_MOST = 60_000  # bytes; a comment on a pull request holds 65,536 characters
DETAIL = "peak or reason"
BAD = ("broken", "gone", "slower", "bigger")
THRESHOLDS = (
    f"slower, faster: the 95 % interval of new / old lies wholly beyond {CHANGE_LEAST:.0%} or "
    f"{FLOOR_TIMES:.0f} noise floors, whichever is more; same: wholly within; else unclear. "
    f"bigger, smaller: peak memory by {MEMORY_CHANGE:.0%} or more."
)


def sentence(comparison: Comparison) -> str:
    """Say in one sentence what came out."""
    counts, total = comparison.counts(), counted(len(comparison.rows), "cell")
    if not comparison.rows:
        return "Nothing to compare: the runs share no cell that was measured."
    every = counts_in_words(counts)
    if not comparison.same_machine:
        return f"Two machines, so no difference is a regression. Of {total}: {every}."
    if bad := counts_in_words({word: n for word, n in counts.items() if word in BAD}):
        rest = counts_in_words({word: n for word, n in counts.items() if word not in BAD})
        return f"Worse: {bad} of {total}" + (f"; {rest}." if rest else ".")
    if 2 * counts.get("unclear", 0) > len(comparison.rows):
        return f"Nothing is clearly worse, but noise hides most of {total}: {every}."
    return f"No regression in {total}: {every}."


def notes(comparison: Comparison) -> list[str]:
    """Return the lines under the sentence: which runs, what differs, thresholds."""
    lines = [f"old {comparison.old.name}", f"new {comparison.new.name}", *_machines(comparison)]
    ratios = [math.log(row.ratio) for row in comparison.rows if row.ratio]
    if ratios:
        typical = math.exp(statistics.median(ratios))
        lines.append(f"time new / old over {counted(len(ratios), 'cell')}: median {typical:.3f}")
    if comparison.unasked:
        cells = counted(len(comparison.unasked), "cell")
        lines.append(f"{cells} in one run only: the other was not asked for the same, no verdict")
    return [*lines, THRESHOLDS]


def _machines(comparison: Comparison) -> list[str]:
    """Return the machine, or both and what is different about them."""
    pair = (comparison.old.facts, comparison.new.facts)
    prints = list(dict.fromkeys(str(facts.get("fingerprint") or "unknown") for facts in pair))
    lines = [f"machine {' and '.join(prints)}"]
    if comparison.same_machine:
        return lines
    return [*lines, f"differs: {', '.join(fingerprint_differences(*pair)) or 'not known'}"]


def frame(comparison: Comparison, *, every: bool) -> pd.DataFrame:
    """Make the table, worst first: changed cells, or every one."""
    rows = [row for row in comparison.rows if every or not row.words <= set(QUIET)]
    return frame_of(
        rows,
        {
            "verdict": lambda row: row.verdict,
            "cell": lambda row: row.cell,
            "old": lambda row: units.seconds(row.old_s),
            "new": lambda row: units.seconds(row.new_s),
            "new / old": lambda row: units.interval(row.ratio, row.low, row.high),
            "beyond": _beyond,
            DETAIL: _detail,
        },
    )


def listing(comparison: Comparison, *, every: bool) -> Group:
    """Show the comparison on a terminal."""
    lines = page_head(sentence(comparison), notes(comparison))
    rows = frame(comparison, every=every)
    if not len(rows):
        return Group(*lines)
    return Group(*lines, Text(""), text_table(rows, below=DETAIL))


def markdown(comparison: Comparison, *, every: bool) -> str:
    """Write the comparison for a pull request, under 60,000 bytes."""
    head = markdown_head(sentence(comparison), notes(comparison))
    command = code_block(f"attnbench compare {comparison.old.name} {comparison.new.name} --all")
    room = MARKDOWN_MOST - size(head) - size(command) - 11
    table = fitted_table(frame(comparison, every=every), room, rest=f"all of them:\n\n{command}")
    return f"{head}\n\n{table}\n"


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison for a machine: every cell."""
    return {
        "old": comparison.old.name,
        "new": comparison.new.name,
        "same_machine": comparison.same_machine,
        "sentence": sentence(comparison),
        "counts": comparison.counts(),
        "unasked": list(comparison.unasked),
        "cells": [row.as_dict() for row in comparison.rows],
    }


def _beyond(row: Row) -> str:
    return units.ABSENT if row.threshold is None else units.percent(row.threshold - 1)


def _detail(row: Row) -> str:
    if row.memory and row.old_bytes is not None and row.new_bytes is not None:
        share = row.new_bytes / row.old_bytes - 1 if row.old_bytes else None
        sizes = f"{units.size(row.old_bytes)} to {units.size(row.new_bytes)}"
        return f"{row.memory}: {sizes} ({change(share)})"
    return row.reason or units.ABSENT
