"""Listing: plain tables of backends, cases, checks and cells for the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from harness.case import Case
from harness.faults import printable
from harness.grid import Grid
from harness.report import units
from harness.store import Run


def plain_table(*columns: str) -> Table:
    """Make a table without box lines; text is never cut, it wraps."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def texts(*lines: str) -> list[Text]:
    """Return texts that hold no markup and no control characters, whoever wrote them."""
    return [Text(printable(line)) for line in lines]


def backend_table(rows: list[dict[str, Any]]) -> Table:
    """Show which backends work, and why the others do not."""
    table = plain_table("backend", "device", "status")
    for row in rows:
        table.add_row(*texts(row["backend"], row["device"], row["reason"] or "works"))
    return table


def case_table(grid: Grid, cases: Iterable[tuple[str, Case]]) -> Group:
    """Show the cases of a grid by suite."""
    table = plain_table("suite", "case", "FLOP", "inputs", "scores")
    pairs = list(cases)
    for suite, case in pairs:
        sizes = (units.size(case.input_bytes()), units.size(case.score_bytes()))
        table.add_row(*texts(suite, case.id, f"{case.flops():.3g}", *sizes))
    counts = ", ".join(f"{suite} {n}" for suite, n in Counter(s for s, _ in pairs).items())
    distinct = len({case for _, case in pairs})
    return Group(
        *texts(f"{grid.name}: {grid.description}", f"{distinct} different cases ({counts})"),
        table,
    )


def check_table(checks: Iterable[Any]) -> Table:
    """Show what the doctor found, with advice."""
    table = plain_table("", "check", "observed", "advice")
    for check in checks:
        table.add_row(*texts(check.level, check.name, check.observed, check.advice or ""))
    return table


def cell_table(run: Run) -> Group:
    """Show one line per cell: status, time with interval, peak memory, or the reason."""
    table = plain_table("cell", "status", "time", "95 % interval or reason", "peak")
    for row in run.table.to_dict("records"):
        table.add_row(*texts(row["cell"], row["status"], *_figures(row)))
    return Group(*texts(f"{run.name}, {len(run.table)} cells"), table)


def _figures(row: dict[Any, Any]) -> tuple[str, str, str]:
    interval = f"{units.seconds(row['time_low_s'])} .. {units.seconds(row['time_high_s'])}"
    if units.number(row["time_median_s"]) is None:
        interval = str(row["reason"] or "-")
    return units.seconds(row["time_median_s"]), interval, units.size(row["peak_bytes"])
