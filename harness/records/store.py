"""Store: where a run lies on disk and how it is read back."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from harness.cases.text import one_line, shown, unreadable
from harness.records.record import SCHEMA_VERSION, Finding, Record
from harness.records.schema import (
    FINDING_ROW,
    ROW,
    check,
    check_samples,
    parse_json,
    parse_row,
    read_rows,
    read_text,
    tidy,
)
from harness.records.tables import make_conformance, make_samples, make_table

if TYPE_CHECKING:
    import pandas as pd

JOURNAL, FACTS, LATEST = "journal.jsonl", "run.json", "LATEST"
CONFORMANCE, VERDICTS = "conformance.csv", "verdicts.json"
CELLS, TABLE, SAMPLES = "cells.csv", "cells.parquet", "samples.parquet"
T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """Hold one run read back: facts, a row per cell, per raw sample, and per behaviour asked."""

    folder: Path
    facts: dict[str, Any]
    table: pd.DataFrame
    samples: pd.DataFrame
    conformance: pd.DataFrame = field(default_factory=lambda: make_conformance([]))

    @property
    def name(self) -> str:
        """Name of the run: its folder's name, also of a folder given as `.` or `..`."""
        return Path(os.path.abspath(self.folder)).name or "run"


def find_run(results: Path, run: str | None = None) -> Path:
    """Find a run's folder by path or name, or the newest; ValueError if there is none."""
    if run is None:
        return _newest(results)
    for folder in (results / run, Path(run)):
        if _is_run(folder):
            return folder
    names = sorted(path.parent.name for path in results.glob(f"*/{FACTS}"))
    valid = one_line(", ".join(names[-5:]) or "none")
    raise ValueError(f"no run {shown(run)} in {results}; valid: {valid}")


def _newest(results: Path) -> Path:
    """Follow the file that names the newest run; a name leads nowhere but into `results`."""
    latest = results / LATEST
    if not latest.is_file():
        raise ValueError(f"no run in {results}: measure one with `pytest suites --benchmark-only`")
    name = read_text(latest).strip()
    if not name or Path(name).name != name or not _is_run(results / name):
        raise ValueError(f"{latest} names {shown(name)}, which is no run in {results}")
    return results / name


def _is_run(folder: Path) -> bool:
    """Whether a folder holds a run; a name that no system takes is none."""
    try:
        return (folder / FACTS).is_file()
    except (OSError, ValueError):
        return False


def load_run(folder: Path) -> Run:
    """Read a run, finished or cut short, from its journal or its tables.

    The journal is read first: a run that was killed has nothing else. A last line cut in half
    is left out. ValueError in one line for a folder that is not a run, a newer schema, or a file
    that holds what no run can hold.
    """
    facts = read_facts(folder)
    journal, table = folder / JOURNAL, folder / CELLS
    cells = read_journal(journal) if journal.is_file() else []
    found = make_conformance(read_findings(folder / CONFORMANCE))
    if cells or (journal.is_file() and not table.exists()):
        frame = make_table(record for record, _ in cells)
        return Run(folder, facts, frame, make_samples(cells), found)
    return Run(folder, facts, read_csv(table), read_samples(folder / SAMPLES), found)


def read_samples(path: Path) -> pd.DataFrame:
    """Read samples.parquet, or no samples if there is none."""
    import pandas as pd

    return pd.read_parquet(path) if path.is_file() else make_samples([])


def read_facts(folder: Path) -> dict[str, Any]:
    """Read run.json; ValueError in one line if it is unreadable or newer than this program.

    Only the schema number is asked for: reports leave out a fact that is not of its usual kind.
    """
    path = folder / FACTS
    try:
        facts = tidy(parse_json(read_text(path)))
    except ValueError as error:
        raise unreadable(path, error) from None
    schema = facts.get("schema") if isinstance(facts, dict) else None
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise ValueError(f"{one_line(path)} is not the file of a run: it has no schema number")
    if schema > SCHEMA_VERSION:
        raise ValueError(
            f"{one_line(folder)} has schema {schema}; this program reads up to {SCHEMA_VERSION}"
        )
    return dict(facts)


def read_journal(path: Path) -> list[tuple[Record, list[list[float]]]]:
    """Read every whole line of a journal; a cell written twice keeps its last line."""
    cells: dict[str, tuple[Record, list[list[float]]]] = {}
    lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            entry = parse_json(line)
        except ValueError as error:
            if number == len(lines):
                break
            raise ValueError(f"{one_line(path)} line {number}: {one_line(error)}") from None
        place = f"{one_line(path)} line {number}"
        record, samples = _checked(place, partial(read_entry, entry))
        cells[record.cell] = (record, samples)
    return list(cells.values())


def read_entry(entry: Any) -> tuple[Record, list[list[float]]]:
    """Read one line of a journal; ValueError if it is no record with its samples."""
    if not isinstance(entry, dict) or not {"record", "samples"} <= set(entry):
        raise ValueError("it is not a record with its samples")
    return Record.from_dict(check(ROW, entry["record"])), check_samples(entry["samples"])


def read_findings(path: Path) -> list[Finding]:
    """Read conformance.csv, none if there is none; a last row cut in half is left out."""
    if not path.exists():
        return []
    _, rows = read_rows(path, cut=True)
    return [_checked(_row(path, line), partial(_finding, row)) for line, row in rows]


def _finding(row: dict[str, str]) -> Finding:
    values = {name: value for name, value in row.items() if value}
    return Finding.from_dict(check(FINDING_ROW, values))


def read_csv(path: Path) -> pd.DataFrame:
    """Read cells.csv into the types of the schema."""
    head, rows = read_rows(path)
    missing = {"cell", "backend", "status"} - set(head)
    if missing:
        raise ValueError(f"{one_line(path)} lacks the columns {sorted(missing)}")
    return make_table(_checked(_row(path, line), partial(_record, row)) for line, row in rows)


def _record(row: dict[str, str]) -> Record:
    return Record.from_dict(check(ROW, parse_row(row)))


def _row(path: Path, line: int) -> str:
    return f"{one_line(path)} cannot be read: line {line}"


def _checked(place: str, read: Callable[[], T]) -> T:
    """Say in which file and line a value stands that no run can hold."""
    try:
        return read()
    except ValueError as error:
        raise ValueError(f"{place}: {one_line(error)}") from None


def finite(value: float | None) -> float | None:
    """Return the value, or None if it is missing or not finite: files never hold NaN or inf."""
    return float(value) if value is not None and math.isfinite(value) else None
