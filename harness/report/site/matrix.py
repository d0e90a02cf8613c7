"""Matrix: every run of a folder, read for some columns and laid into one matrix."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.cases.text import one_line
from harness.records import archive, store
from harness.records.archive import ArchivedRun, list_runs

if TYPE_CHECKING:
    import pandas as pd

WORDS = ("backend", "device", "work", "phase", "dtype", "mask")
WHOLE = (
    "window", "batch", "heads", "heads_kv", "length_query", "length_key", "dim_key", "dim_value",
    "flops",
)  # fmt: skip
SHAPE = (*WORDS, *WHOLE)
NUMBERS = ("time_median_s", "time_low_s", "time_high_s", "peak_bytes")
COLUMNS = ("cell", "status", "reason", *SHAPE, *NUMBERS)
STATUSES = ("", *archive.STATUSES)
STAMP = re.compile(r"(\d{8}-\d{6})")
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class LoadedRun(ArchivedRun):
    """Hold one run with the time it began (seconds since 1970) and its cells as columns."""

    began: float
    table: pd.DataFrame

    @property
    def fingerprint(self) -> str:
        """Machine and versions that the run was measured on; `unknown` if it does not say."""
        return str(self.facts.get("fingerprint") or "unknown")

    def numbers(self, column: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return a column as float64, NaN where nothing was measured."""
        return self.table[column].to_numpy(dtype=np.float64, na_value=np.nan)


def load_runs(results: Path) -> tuple[list[LoadedRun], list[str]]:
    """Read every run of a folder, oldest first, and one line for each that is left out.

    Left out are runs that cannot be read, and those that measured a few cells again to confirm
    another run; those that measure noise alone are no part of any history.
    """
    runs: list[LoadedRun] = []
    listed, without = list_runs(results)
    for run in listed:
        if run.confirms:
            without.append(f"{run.name}: it only confirms {run.confirms}")
            continue
        try:
            runs.append(_load(run))
        except (ValueError, OSError, KeyError, TypeError) as error:
            without.append(f"{run.name}: {one_line(error)}")
    if not runs:
        why = f"; {without[0]}" if without else ""
        raise ValueError(f"no run to show in {results}{why}")
    return sorted(runs, key=lambda run: (run.began, run.name)), without


def _load(run: ArchivedRun) -> LoadedRun:
    """Read one run; its journal where it was cut before it had tables."""
    path = run.folder / store.TABLE
    table = _columns(path) if path.is_file() else store.load_run(run.folder).table
    return LoadedRun(run.folder, run.facts, began(run.folder, run.facts), _checked(table))


def began(folder: Path, facts: dict[str, Any]) -> float:
    """Return when a run began: by its facts, else by its name, else by the age of its file."""
    for moment in _moments(folder, facts):
        return moment
    return (folder / store.FACTS).stat().st_mtime


def _moments(folder: Path, facts: dict[str, Any]) -> Iterator[float]:
    stamp = STAMP.search(folder.name)
    for text in (facts.get("started"), stamp and stamp[1].replace("-", "T")):
        try:
            moment = datetime.fromisoformat(str(text))
        except ValueError:
            continue
        yield (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _columns(path: Path) -> pd.DataFrame:
    """Read the columns that are needed; those that came later than the file are empty."""
    needed = ("cell", "backend", "status")
    table: pd.DataFrame = archive.read_table(path, COLUMNS, needed=needed).to_pandas()
    return table.assign(**{name: None for name in COLUMNS if name not in table})


def _checked(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with numbers where numbers belong; ValueError or TypeError if not."""
    import pandas as pd

    numeric = {name: pd.to_numeric(table[name]).astype("Float64") for name in (*WHOLE, *NUMBERS)}
    return table.assign(**numeric)


@dataclass
class RunMatrix:
    """Hold cells by runs: float64 [cells, runs] per number (NaN: not measured), and outcomes.

    `status` is an index into STATUSES; 0 says that the run has no such cell. A cell is told by
    its device and its name.
    """

    shapes: list[dict[str, Any]] = field(default_factory=list)
    numbers: dict[str, Array] = field(default_factory=dict)
    status: Array = field(default_factory=lambda: np.zeros((0, 0), dtype=np.uint8))

    @property
    def cells(self) -> int:
        """How many cells there are in all."""
        return len(self.shapes)


def matrix_of(runs: Sequence[LoadedRun]) -> RunMatrix:
    """Lay runs side by side, in the order given."""
    found: dict[tuple[str, str], int] = {}
    made = RunMatrix()
    places = [_places(run, found, made.shapes) for run in runs]
    made.status = np.zeros((made.cells, len(runs)), dtype=np.uint8)
    for column, (run, rows) in enumerate(zip(runs, places, strict=True)):
        made.status[rows, column] = [1 + archive.status_code(word) for word in run.table["status"]]
    for name in NUMBERS:
        made.numbers[name] = _numbers(runs, places, name=name, cells=made.cells)
    return made


def _places(
    run: LoadedRun, found: dict[tuple[str, str], int], shapes: list[dict[str, Any]]
) -> list[int]:
    """Return the row of each cell of a run; a cell not seen before gets the next one."""
    default = str(run.facts.get("device") or "")
    devices = [str(name) for name in run.table["device"].fillna(default)]
    names = [str(name) for name in run.table["cell"]]
    rows = []
    for place, key in enumerate(zip(devices, names, strict=True)):
        if key not in found:
            found[key] = len(found)
            shapes.append(_shape(run, place, name=key[1], device=key[0]))
        rows.append(found[key])
    return rows


def _shape(run: LoadedRun, place: int, *, name: str, device: str) -> dict[str, Any]:
    """Return what a cell is, as plain values: text, whole numbers or None."""
    import pandas as pd

    row = run.table.iloc[place]
    words = {column: "" if pd.isna(row[column]) else str(row[column]) for column in WORDS}
    whole = {column: None if pd.isna(row[column]) else int(row[column]) for column in WHOLE}
    known = {"device": device, "work": words["work"] or "attention"}
    return {"name": name, **words, **whole, **known}


def _numbers(
    runs: Sequence[LoadedRun], places: list[list[int]], *, name: str, cells: int
) -> Array:
    made = np.full((cells, len(runs)), np.nan)
    for column, (run, rows) in enumerate(zip(runs, places, strict=True)):
        values = run.numbers(name)
        made[rows, column] = np.where(np.isfinite(values), values, np.nan)
    return made
