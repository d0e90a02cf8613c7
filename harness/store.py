"""Store: where a run lies on disk and how it is read back; `writer` is its other half."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.conformance import COLUMNS as FINDING_COLUMNS
from harness.conformance import Finding
from harness.record import COLUMNS, SCHEMA_VERSION, Record

if TYPE_CHECKING:
    import pandas as pd

JOURNAL, FACTS, LATEST = "journal.jsonl", "run.json", "LATEST"
CONFORMANCE = "conformance.csv"
PANDAS_TYPES = {
    "str": "str", "str | None": "str", "int": "Int64", "int | None": "Int64",
    "float": "Float64", "float | None": "Float64", "bool | None": "boolean",
    "tuple[float, ...] | None": "object",
}  # fmt: skip


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
        """Name of the run: its folder's name."""
        return self.folder.name


def make_table(records: Iterable[Record]) -> pd.DataFrame:
    """Make the table of cells: one row per record, a column per field, nullable types."""
    import pandas as pd

    rows = [record.as_dict() for record in records]
    columns = {
        name: pd.Series([row[name] for row in rows], dtype=PANDAS_TYPES[str(item.type)])
        for name, item in COLUMNS.items()
    }
    return pd.DataFrame(columns)


def make_samples(cells: Iterable[tuple[Record, list[list[float]]]]) -> pd.DataFrame:
    """Make the long table of raw samples: cell, replica, index, seconds."""
    import pandas as pd

    rows = [
        (record.cell, replica, index, seconds)
        for record, replicas in cells
        for replica, samples in enumerate(replicas)
        for index, seconds in enumerate(samples)
    ]
    return pd.DataFrame(rows, columns=["cell", "replica", "index", "seconds"])


def make_conformance(findings: Iterable[Finding]) -> pd.DataFrame:
    """Make the table of behaviours: one row per finding, all of text."""
    import pandas as pd

    rows = [finding.as_dict() for finding in findings]
    return pd.DataFrame(rows, columns=list(FINDING_COLUMNS), dtype="str")


def find_run(results: Path, run: str | None = None) -> Path:
    """Find a run's folder by path or name, or the newest; ValueError if there is none."""
    if run is None:
        latest = results / LATEST
        if not latest.is_file():
            raise ValueError(
                f"no run in {results}: measure one with `pytest suites --benchmark-only`"
            )
        run = latest.read_text(encoding="utf-8").strip()
    for folder in (results / run, Path(run)):
        if (folder / FACTS).is_file():
            return folder
    names = sorted(path.parent.name for path in results.glob(f"*/{FACTS}"))
    raise ValueError(f"no run {run!r} in {results}; valid: {', '.join(names[-5:]) or 'none'}")


def load_run(folder: Path) -> Run:
    """Read a run, finished or cut short, from its journal or its tables.

    The journal is read first: a run that was killed has nothing else. A last line cut in half
    is left out. ValueError in one line for a folder that is not a run or a newer schema.
    """
    facts = read_facts(folder)
    cells = read_journal(folder / JOURNAL) if (folder / JOURNAL).is_file() else []
    found = make_conformance(read_findings(folder / CONFORMANCE))
    if cells:
        table = make_table(record for record, _ in cells)
        return Run(folder, facts, table, make_samples(cells), found)
    return Run(folder, facts, read_csv(folder / "cells.csv"), make_samples([]), found)


def read_facts(folder: Path) -> dict[str, Any]:
    """Read run.json; ValueError in one line if it is unreadable or newer than this program."""
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"{folder / FACTS} cannot be read: {error}") from None
    if not isinstance(facts, dict) or not isinstance(facts.get("schema"), int):
        raise ValueError(f"{folder / FACTS} is not the file of a run: it has no schema number")
    if facts["schema"] > SCHEMA_VERSION:
        raise ValueError(
            f"{folder} has schema {facts['schema']}; this program reads up to {SCHEMA_VERSION}"
        )
    return facts


def read_journal(path: Path) -> list[tuple[Record, list[list[float]]]]:
    """Read every whole line of a journal; a cell written twice keeps its last line."""
    cells: dict[str, tuple[Record, list[list[float]]]] = {}
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line, parse_constant=_refuse)
            record = Record.from_dict(entry["record"])
            cells[record.cell] = (record, entry["samples"])
        except (ValueError, TypeError, KeyError) as error:
            if number == len(lines):
                break
            raise ValueError(f"{path} line {number}: {error}") from None
    return list(cells.values())


def read_findings(path: Path) -> list[Finding]:
    """Read conformance.csv, none if there is none; a last row cut in half is left out."""
    if not path.is_file():
        return []
    text = path.read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1], newline="")))
    try:
        return [
            Finding.from_dict({name: value or None for name, value in row.items()}) for row in rows
        ]
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def read_csv(path: Path) -> pd.DataFrame:
    """Read cells.csv into the types of the schema."""
    import pandas as pd

    try:
        raw = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    missing = {"cell", "backend", "status"} - set(raw.columns)
    if missing:
        raise ValueError(f"{path} lacks the columns {sorted(missing)}")
    return make_table(Record.from_dict(_parse(row)) for row in raw.to_dict("records"))


def _parse(row: dict[Any, Any]) -> dict[str, Any]:
    """Turn the text of one CSV row into the schema's types.

    Columns that came later than the file are absent in it, as they are in an old journal.
    """
    return {
        name: _parse_value(row[name], str(item.type))
        for name, item in COLUMNS.items()
        if name in row
    }


def _parse_value(text: Any, kind: str) -> Any:
    if not isinstance(text, str):
        return "" if kind == "str" else None
    return _PARSERS[kind](text)


def _refuse(text: str) -> float:
    raise ValueError(f"{text} is not allowed in a journal")


def finite(value: float | None) -> float | None:
    """Return the value, or None if it is missing or not finite: files never hold NaN or inf."""
    return float(value) if value is not None and math.isfinite(value) else None


_PARSERS: dict[str, Any] = {
    "str": str, "str | None": str, "int": int, "int | None": int,
    "float": float, "float | None": float, "bool | None": lambda text: text == "True",
    "tuple[float, ...] | None": lambda text: tuple(float(part) for part in text.split()),
}  # fmt: skip
