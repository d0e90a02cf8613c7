"""Stack: the figures of all runs, read and laid into one matrix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.records.archive import Past, list_runs
from harness.records.record import Status
from harness.records.store import FACTS, load_run

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
STATUSES = ("", *(status.value for status in Status))
STAMP = re.compile(r"(\d{8}-\d{6})")


@dataclass(frozen=True)
class Night:
    """Hold one run, the time it began (seconds since 1970) and its cells as columns."""

    run: Past
    began: float
    table: pd.DataFrame

    @property
    def facts(self) -> dict[str, Any]:
        """What run.json says of the whole run."""
        return self.run.facts

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self.run.folder

    @property
    def name(self) -> str:
        """Name of the run: its folder's name."""
        return self.run.name

    @property
    def fingerprint(self) -> str:
        """Machine and versions that the run was measured on; `unknown` if it does not say."""
        return str(self.facts.get("fingerprint") or "unknown")

    def numbers(self, column: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return a column as float64, NaN where nothing was measured."""
        return self.table[column].to_numpy(dtype=np.float64, na_value=np.nan)


def read_nights(results: Path) -> tuple[list[Night], list[str]]:
    """Read every run of a folder, oldest first, and one line for each that is left out.

    Left out are runs that cannot be read, and those that measured a few cells again to confirm
    another run; those that measure noise alone are no part of any history.
    """
    runs, without = list_runs(results)
    nights = []
    for run in runs:
        if run.confirms:
            without.append(f"{run.name}: it only confirms {run.confirms}")
            continue
        try:
            nights.append(read_night(run))
        except (ValueError, OSError, KeyError, TypeError) as error:
            without.append(f"{run.name}: {' '.join(str(error).split())}")
    if not nights:
        why = f"; {without[0]}" if without else ""
        raise ValueError(f"no run to show in {results}{why}")
    return sorted(nights, key=lambda night: (night.began, night.name)), without


def read_night(run: Past) -> Night:
    """Read one run; its journal where it was cut before it had tables."""
    path = run.folder / "cells.parquet"
    table = _read_parquet(path) if path.is_file() else load_run(run.folder).table
    return Night(run, began(run.folder, run.facts), _checked(table))


def began(folder: Path, facts: dict[str, Any]) -> float:
    """Return when a run began: by its facts, else by its name, else by the age of its file."""
    for moment in _moments(folder, facts):
        return moment
    return (folder / FACTS).stat().st_mtime


def _moments(folder: Path, facts: dict[str, Any]) -> Iterator[float]:
    stamp = STAMP.search(folder.name)
    for text in (facts.get("started"), stamp and stamp[1].replace("-", "T")):
        try:
            moment = datetime.fromisoformat(str(text))
        except ValueError:
            continue
        yield (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _read_parquet(path: Path) -> pd.DataFrame:
    """Read the columns that are needed; those that came later than the file are absent."""
    import pyarrow.parquet as parquet

    file = parquet.ParquetFile(path)
    there = [name for name in COLUMNS if name in file.schema_arrow.names]
    missing = {"cell", "backend", "status"} - set(there)
    if missing:
        raise ValueError(f"{path} lacks the columns {sorted(missing)}")
    table: pd.DataFrame = file.read(columns=there).to_pandas()
    return table.assign(**{name: None for name in COLUMNS if name not in there})


def _checked(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with numbers where numbers belong; ValueError or TypeError if not."""
    import pandas as pd

    numeric = {name: pd.to_numeric(table[name]).astype("Float64") for name in (*WHOLE, *NUMBERS)}
    return table.assign(**numeric)


Matrix = np.ndarray[Any, Any]


@dataclass
class Stack:
    """Hold cells by runs: float64 [cells, runs] per number (NaN: not measured), and outcomes.

    `status` is an index into STATUSES; 0 says that the run has no such cell. A cell is told by
    its device and its name.
    """

    shapes: list[dict[str, Any]] = field(default_factory=list)
    numbers: dict[str, Matrix] = field(default_factory=dict)
    status: Matrix = field(default_factory=lambda: np.zeros((0, 0), dtype=np.uint8))

    @property
    def cells(self) -> int:
        """How many cells there are in all."""
        return len(self.shapes)


def stack(nights: Iterable[Night]) -> Stack:
    """Lay runs one on the other, in the order given."""
    found: dict[tuple[str, str], int] = {}
    made = Stack()
    nights = list(nights)
    places = [_places(night, found, made.shapes) for night in nights]
    made.status = np.zeros((made.cells, len(nights)), dtype=np.uint8)
    for column, (night, rows) in enumerate(zip(nights, places, strict=True)):
        made.status[rows, column] = [_outcome(word) for word in night.table["status"]]
    for name in NUMBERS:
        made.numbers[name] = _matrix(nights, places, name=name, cells=made.cells)
    return made


def _places(
    night: Night, found: dict[tuple[str, str], int], shapes: list[dict[str, Any]]
) -> list[int]:
    """Return the row of each cell of a run; a cell not seen before gets the next one."""
    default = str(night.facts.get("device") or "")
    devices = [str(name) for name in night.table["device"].fillna(default)]
    names = [str(name) for name in night.table["cell"]]
    rows = []
    for place, key in enumerate(zip(devices, names, strict=True)):
        if key not in found:
            found[key] = len(found)
            shapes.append(_shape(night, place, name=key[1], device=key[0]))
        rows.append(found[key])
    return rows


def _shape(night: Night, place: int, *, name: str, device: str) -> dict[str, Any]:
    """Return what a cell is, as plain values: text, whole numbers or None."""
    import pandas as pd

    row = night.table.iloc[place]
    words = {column: "" if pd.isna(row[column]) else str(row[column]) for column in WORDS}
    whole = {column: None if pd.isna(row[column]) else int(row[column]) for column in WHOLE}
    known = {"device": device, "work": words["work"] or "attention"}
    return {"name": name, **words, **whole, **known}


def _outcome(word: Any) -> int:
    """Return the index of an outcome; one that this program does not know counts as an error."""
    text = str(word)
    return STATUSES.index(text if text in STATUSES else "error")


def _matrix(nights: list[Night], places: list[list[int]], *, name: str, cells: int) -> Matrix:
    made = np.full((cells, len(nights)), np.nan)
    for column, (night, rows) in enumerate(zip(nights, places, strict=True)):
        values = night.numbers(name)
        made[rows, column] = np.where(np.isfinite(values), values, np.nan)
    return made
