"""Archive: many runs of a results folder, read for a few columns only, as arrays [run, cell]."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from harness.cases.text import one_line
from harness.records.record import Status
from harness.records.store import FACTS, JOURNAL, TABLE, find_run, load_run, read_facts

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[np.float64]
STATUSES = tuple(status.value for status in Status)
CODES = {text: code for code, text in enumerate(STATUSES)}
ABSENT = -1  # stands for the status of a cell that a run does not have
COLUMNS = ("cell", "status", "time_median_s", "replica_medians_s", "peak_bytes")
# Words of a run's command that choose some of the cells: what they left out has not vanished.
SUITE_FILE = re.compile(r"(^|/)test_\w+\.py")
CHOOSING = ("-k", "-m", "--attn-backends", "--deselect", "--ignore", "--lf", "--last-failed")


@dataclass(frozen=True)
class RunColumns:
    """Hold what is read of one run: an entry per cell, log times, replicas [process, cell]."""

    cells: list[str]
    statuses: list[int]
    medians: Array
    replicas: Array
    peaks: Array


def read_columns(folder: Path) -> RunColumns:
    """Read one run: its table, or the journal of one that was cut short."""
    import pyarrow as pa

    if (folder / TABLE).is_file():
        try:
            return columns_of(read_table(folder / TABLE, COLUMNS, needed=("cell", "status")))
        except (pa.ArrowException, TypeError, KeyError) as error:
            raise ValueError(f"{TABLE} cannot be read: {error}") from None
    if not (folder / JOURNAL).is_file():
        raise ValueError(f"it has neither {TABLE} nor {JOURNAL}")
    table = load_run(folder).table[list(COLUMNS)]
    return columns_of(pa.Table.from_pandas(table, preserve_index=False))


def read_table(path: Path, names: Iterable[str], *, needed: Iterable[str]) -> pa.Table:
    """Read some columns of a run's table; those that came later than the file are absent.

    ValueError in one line if a column that is needed is absent.
    """
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    missing = set(needed) - set(file.schema_arrow.names)
    if missing:
        raise ValueError(f"{path.name} lacks the columns {sorted(missing)}")
    return file.read([name for name in names if name in file.schema_arrow.names])


def read_reasons(folder: Path) -> dict[str, str]:
    """Read why cells of a run were not measured."""
    import pyarrow.parquet as pq

    names = ["cell", "reason"]
    if (folder / TABLE).is_file():
        rows = pq.read_table(folder / TABLE, columns=names).to_pylist()
    else:
        rows = load_run(folder).table[names].to_dict("records")
    return {row["cell"]: row["reason"] for row in rows if isinstance(row["reason"], str)}


def columns_of(table: pa.Table) -> RunColumns:
    """Turn Arrow columns into arrays; a cell that is not `ok` has no time and no peak."""
    statuses = [status_code(text) for text in table["status"].to_pylist()]
    ok = np.array(statuses) == CODES[Status.OK]
    times, peaks = (_floats(table, name, ok) for name in ("time_median_s", "peak_bytes"))
    names = table["cell"].to_pylist()
    return RunColumns(names, statuses, _logs(times), _replicas(table, ok), peaks)


def status_code(text: object) -> int:
    """Return the index of an outcome; one that this program does not know counts as an error."""
    return CODES.get(str(text), CODES[Status.ERROR])


def _replicas(table: pa.Table, ok: NDArray[np.bool_]) -> Array:
    """Return log medians [process, cell], NaN where a cell had fewer processes than another."""
    name = "replica_medians_s"
    lists = table[name].to_pylist() if _has(table, name) else [None] * ok.size
    processes = [values if values and good else () for values, good in zip(lists, ok, strict=True)]
    replicas = np.full((max([1, *map(len, processes)]), ok.size), np.nan)
    for place, values in enumerate(processes):
        replicas[: len(values), place] = values
    return _logs(replicas)


def _has(table: pa.Table, name: str) -> bool:
    return name in table.column_names


def _floats(table: pa.Table, name: str, ok: NDArray[np.bool_]) -> Array:
    if not _has(table, name):
        return np.full(ok.size, np.nan)
    values = [np.nan if value is None else value for value in table[name].to_pylist()]
    return np.where(ok, np.array(values, dtype=np.float64), np.nan)


def _logs(values: Array) -> Array:
    """Return logs of times; what is not above zero is no time."""
    return np.asarray(np.log(np.where(values > 0, values, np.nan)))


@dataclass(frozen=True)
class ArchivedRun:
    """Hold one run of the archive: where it lies and the facts of its run.json."""

    folder: Path
    facts: dict[str, Any]

    @property
    def name(self) -> str:
        """Name of the run: its folder's name."""
        return self.folder.name

    @property
    def started(self) -> str:
        """When it began, in ISO format, empty if it does not tell."""
        return str(self.facts.get("started") or "")

    @property
    def confirms(self) -> str | None:
        """Name of the run of which this one measured some cells again, if it did."""
        return self.facts.get("confirms")

    @property
    def kind(self) -> tuple[Any, ...]:
        """What runs must share to be held against each other: machine, device and grid."""
        grid = self.facts.get("grid")
        name = grid.get("name") if isinstance(grid, dict) else None
        return self.facts.get("fingerprint"), self.facts.get("device"), name

    @property
    def choice(self) -> tuple[str, ...]:
        """The words of its command that choose some of the grid's cells."""
        words = str(self.facts.get("command") or "").split()
        chosen = [
            word
            for before, word in zip(["", *words], words, strict=False)
            if {before, word.split("=")[0]} & set(CHOOSING) or SUITE_FILE.search(word)
        ]
        return tuple(sorted(chosen))


@dataclass(frozen=True)
class Archive:
    """Hold what runs measured: log seconds [run, cell] and [run, process, cell], bytes, statuses.

    NaN where there is none; `statuses` index STATUSES, ABSENT where a run lacks the cell.
    """

    runs: tuple[ArchivedRun, ...]
    cells: tuple[str, ...]
    medians: Array
    replicas: Array
    peaks: Array
    statuses: NDArray[np.int8]

    def row(self, name: str) -> int:
        """Return the place of a run."""
        return [run.name for run in self.runs].index(name)


def list_runs(results: Path) -> tuple[list[ArchivedRun], list[str]]:
    """List the runs of a folder, oldest first, and one line for each that cannot be read.

    Runs that measure noise alone (`kind` is noise) are left out. ValueError if there is no folder.
    """
    if not results.is_dir():
        raise ValueError(f"no folder of runs {str(results)!r}; name one with --results")
    runs, problems = [], []
    for path in sorted(results.glob(f"*/{FACTS}")):
        try:
            runs.append(ArchivedRun(path.parent, read_facts(path.parent)))
        except ValueError as error:
            problems.append(str(error))
    kept = [run for run in runs if run.facts.get("kind") != "noise"]
    return sorted(kept, key=lambda run: (run.started, run.name)), problems


def pick_run(runs: Sequence[ArchivedRun], results: Path, name: str | None) -> ArchivedRun:
    """Return the run of a name or path, or the newest that is no confirmation of another."""
    if name is None:
        whole = [run for run in runs if not run.confirms]
        if not whole:
            find_run(results)  # says how to measure one
            raise ValueError(f"no run in {results} but confirmations of others")
        return whole[-1]
    folder = find_run(results, name)
    return ArchivedRun(folder, read_facts(folder))


def read_archive(runs: Sequence[ArchivedRun]) -> tuple[Archive, list[str]]:
    """Read runs, and return one line for each that is broken: it is left out."""
    kept, read, problems = [], [], []
    for run in runs:
        try:
            read.append(read_columns(run.folder))
            kept.append(run)
        except (ValueError, OSError) as error:
            problems.append(f"{run.name} is left out: {one_line(error)}")
    return align(kept, read), problems


def align(runs: Sequence[ArchivedRun], read: Sequence[RunColumns]) -> Archive:
    """Lay runs of different cells into arrays of the same cells."""
    names = {name: None for run in read for name in run.cells}
    places = {name: place for place, name in enumerate(names)}
    depth = max((run.replicas.shape[0] for run in read), default=1)
    shape = (len(read), len(places))
    medians, peaks = np.full(shape, np.nan), np.full(shape, np.nan)
    replicas = np.full((shape[0], depth, shape[1]), np.nan)
    statuses = np.full(shape, ABSENT, dtype=np.int8)
    for row, columns in enumerate(read):
        where = [places[name] for name in columns.cells]
        medians[row, where], peaks[row, where] = columns.medians, columns.peaks
        statuses[row, where] = columns.statuses
        for process, values in enumerate(columns.replicas):
            replicas[row, process, where] = values
    return Archive(tuple(runs), tuple(places), medians, replicas, peaks, statuses)
