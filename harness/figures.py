"""Figures: the few columns of one run that comparing needs, as arrays over its cells."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from harness.record import Status
from harness.store import JOURNAL, load_run

if TYPE_CHECKING:
    import pyarrow as pa

Array = NDArray[np.float64]
STATUSES = tuple(status.value for status in Status)
ABSENT = -1  # stands for the status of a cell that a run does not have
TABLE = "cells.parquet"
COLUMNS = ("cell", "status", "time_median_s", "replica_medians_s", "peak_bytes")


@dataclass(frozen=True)
class Figures:
    """Hold what is read of one run: an entry per cell, log times, replicas [process, cell]."""

    cells: list[str]
    statuses: list[int]
    medians: Array
    replicas: Array
    peaks: Array


def read_figures(folder: Path) -> Figures:
    """Read one run: its table, or the journal of one that was cut short."""
    import pyarrow as pa

    if (folder / TABLE).is_file():
        try:
            return figures_of(_read_columns(folder / TABLE))
        except (pa.ArrowException, TypeError, KeyError) as error:
            raise ValueError(f"{TABLE} cannot be read: {error}") from None
    if not (folder / JOURNAL).is_file():
        raise ValueError(f"it has neither {TABLE} nor {JOURNAL}")
    table = load_run(folder).table[list(COLUMNS)]
    return figures_of(pa.Table.from_pandas(table, preserve_index=False))


def _read_columns(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path)
    missing = {"cell", "status"} - set(file.schema_arrow.names)
    if missing:
        raise ValueError(f"{TABLE} lacks the columns {sorted(missing)}")
    return file.read([name for name in COLUMNS if name in file.schema_arrow.names])


def read_reasons(folder: Path) -> dict[str, str]:
    """Read why cells of a run have no figures."""
    import pyarrow.parquet as pq

    names = ["cell", "reason"]
    if (folder / TABLE).is_file():
        rows = pq.read_table(folder / TABLE, columns=names).to_pylist()
    else:
        rows = load_run(folder).table[names].to_dict("records")
    return {row["cell"]: row["reason"] for row in rows if isinstance(row["reason"], str)}


def figures_of(table: pa.Table) -> Figures:
    """Turn Arrow columns into arrays; a cell that is not `ok` has no time and no peak."""
    codes = {name: code for code, name in enumerate(STATUSES)}
    statuses = [codes.get(text, codes["error"]) for text in table["status"].to_pylist()]
    ok = np.array(statuses) == codes["ok"]
    times, peaks = (_floats(table, name, ok) for name in ("time_median_s", "peak_bytes"))
    return Figures(table["cell"].to_pylist(), statuses, _logs(times), _replicas(table, ok), peaks)


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
