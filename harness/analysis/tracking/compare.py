"""Compare: two runs cell by cell: one word for each, of its outcome, time and memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from harness.analysis.tracking.change import Change, Processes, change_of
from harness.analysis.tracking.events import memory_change, outcome_change
from harness.records.archive import ArchivedRun
from harness.records.record import Status

if TYPE_CHECKING:
    import pandas as pd

    from harness.records.store import Run

NAMES = ["cell", "status", "reason", "time_median_s", "peak_bytes", "replica_medians_s"]
# Worst first; a cell that is both slower and bigger is called slower and counts as both.
WORDS = ("broken", "gone", "slower", "bigger", "fixed", "new", "faster", "smaller",
         "unclear", "same")  # fmt: skip
QUIET = ("unclear", "same")


@dataclass(frozen=True)
class RunCell:
    """Hold one cell of one run: outcome, median (s), peak (B), seconds [process][sample]."""

    status: str | None = None
    reason: str | None = None
    median_s: float | None = None
    peak_bytes: int | None = None
    processes: Processes = ()

    @property
    def outcome(self) -> str:
        """The status with its reason, or that there is no such cell."""
        if self.status is None:
            return "not in the run"
        return f"{self.status}: {self.reason}" if self.reason else self.status


def run_cells(run: Run) -> dict[str, RunCell]:
    """Return every cell of a run by name."""
    table = run.table[NAMES].astype(object)
    rows = table.where(table.notna(), None).to_dict("records")
    samples = {str(name): part for name, part in run.samples.groupby("cell", sort=False)}
    return {str(row["cell"]): _run_cell(row, samples.get(str(row["cell"]))) for row in rows}


def _run_cell(row: dict[Any, Any], samples: pd.DataFrame | None) -> RunCell:
    if row["status"] != Status.OK:
        return RunCell(row["status"], row["reason"])
    peak = None if row["peak_bytes"] is None else int(row["peak_bytes"])
    return RunCell(
        row["status"], row["reason"], row["time_median_s"], peak, _processes(row, samples)
    )


def _processes(row: dict[Any, Any], samples: pd.DataFrame | None) -> Processes:
    """Return seconds [process][sample], of a run without samples its processes' medians."""
    if samples is not None and len(samples):
        return [part["seconds"].to_numpy(float) for _, part in samples.groupby("replica")]
    if row["replica_medians_s"] is not None:
        return [[float(median)] for median in row["replica_medians_s"]]
    return [] if row["time_median_s"] is None else [[float(row["time_median_s"])]]


@dataclass(frozen=True, kw_only=True)
class Row:
    """Hold one cell: its word, times (s) with the ratio's interval, peaks (B), and a reason."""

    cell: str
    verdict: str
    time: str | None = None
    memory: str | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    threshold: float | None = None
    old_s: float | None = None
    new_s: float | None = None
    old_bytes: int | None = None
    new_bytes: int | None = None
    reason: str | None = None

    @property
    def words(self) -> set[str]:
        """Every word that holds for the cell."""
        return {word for word in (self.verdict, self.time, self.memory) if word}

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Comparison:
    """Hold two runs compared: rows worst first, and the cells that only one of them was asked."""

    old: Run
    new: Run
    rows: tuple[Row, ...]
    unasked: tuple[str, ...]

    @property
    def same_machine(self) -> bool:
        """Whether both runs have the same, known fingerprint."""
        prints = [run.facts.get("fingerprint") for run in (self.old, self.new)]
        return prints[0] is not None and prints[0] == prints[1]

    def counts(self) -> dict[str, int]:
        """Return how many cells each word holds for, worst first."""
        counts = {word: sum(word in row.words for row in self.rows) for word in WORDS}
        return {word: count for word, count in counts.items() if count}


def compare(old: Run, new: Run, *, floors: Mapping[str, float] | None = None) -> Comparison:
    """Compare two runs cell by cell; `floors` are shares of 1 from runs of the same code.

    A cell that one run was not asked for (another grid, a choice of cells, a run cut short) is
    neither gone nor new: it is listed in `unasked`.
    """
    before, now, alike = run_cells(old), run_cells(new), asked_alike(old, new)
    names = dict.fromkeys([*before, *now])
    unasked = [name for name in names if not alike and (name in before) != (name in now)]
    rows = [
        row_of(
            name,
            before.get(name, RunCell()),
            now.get(name, RunCell()),
            floor=(floors or {}).get(name),
        )
        for name in names
        if name not in unasked
    ]
    kept = [row for row in rows if row is not None]
    return Comparison(old, new, tuple(sorted(kept, key=_worst)), tuple(unasked))


def asked_alike(old: Run, new: Run) -> bool:
    """Whether both runs were asked for the same cells and got to their end."""
    runs = [ArchivedRun(run.folder, run.facts) for run in (old, new)]
    grids = [run.kind[2] for run in runs]
    whole = all(run.facts.get("complete", True) for run in runs)
    return whole and grids[0] == grids[1] and runs[0].choice == runs[1].choice


def row_of(name: str, old: RunCell, new: RunCell, *, floor: float | None = None) -> Row | None:
    """Judge one cell; None if neither run measured it."""
    fields: dict[str, Any] = {"old_s": old.median_s, "new_s": new.median_s}
    fields |= {"old_bytes": old.peak_bytes, "new_bytes": new.peak_bytes}
    word = outcome_change(old.status, new.status)
    if word:
        seen = new if word in ("broken", "gone") else old
        reason = seen.outcome if seen is new else f"before: {seen.outcome}"
        return Row(cell=name, verdict=word, reason=reason, **fields)
    if new.status != Status.OK:
        return None
    known = old.peak_bytes is not None and new.peak_bytes is not None
    memory = memory_change(old.peak_bytes or 0, new.peak_bytes or 0) if known else None
    timed = bool(old.processes and new.processes)
    change = change_of([old.processes], new.processes, floor=floor) if timed else None
    return _row(name, memory, change, fields)


def _row(name: str, memory: str | None, change: Change | None, fields: dict[str, Any]) -> Row:
    """Put a time and a memory together: the worse word is the cell's."""
    words = [word for word in (change.verdict if change else None, memory) if word]
    verdict = min(words, key=WORDS.index, default="same")
    if change is None:
        return Row(cell=name, verdict=verdict, memory=memory, **fields)
    return Row(
        cell=name, verdict=verdict, time=change.verdict, memory=memory, ratio=change.ratio,
        low=change.low, high=change.high, threshold=change.threshold, reason=change.caveat,
        **fields,
    )  # fmt: skip


def _worst(row: Row) -> tuple[int, float, str]:
    size = row.ratio or 1.0
    if "bigger" in row.words and row.verdict == "bigger" and row.old_bytes and row.new_bytes:
        size = row.new_bytes / row.old_bytes
    return WORDS.index(row.verdict), size if row.verdict == "faster" else -size, row.cell
