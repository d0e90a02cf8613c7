"""Runs for the tests of this folder: small, but of the files that a real run has."""

from __future__ import annotations

from pathlib import Path

from harness.cases.case import Case, cell_name
from harness.records.record import Record
from harness.records.writer import RunWriter, write_json, write_text

KEY, SECRET = "a-key-that-no-file-may-hold", "a-secret-that-no-file-may-hold"


def start(folder: Path) -> RunWriter:
    """Begin a run in this folder."""
    folder.mkdir(parents=True)
    return RunWriter(folder, {"device": "cpu", "complete": False})


def measure(writer: RunWriter, length: int) -> None:
    """Write one cell down."""
    case = Case.square(length)
    name = cell_name("naive", case)
    fields = {"cell": name, "backend": "naive", "status": "ok", "time_median_s": 1e-6 * length}
    writer.append(Record(**case.as_dict() | fields), [[1e-6 * length]])  # type: ignore[arg-type]


def finished(folder: Path, *lengths: int) -> Path:
    """Write a whole run."""
    writer = start(folder)
    for length in lengths or (8, 16):
        measure(writer, length)
    writer.finish(complete=True)
    return folder


def sketched(folder: Path, text: str = "cell\n", *, complete: bool = True) -> Path:
    """Write what only looks like a run from outside, quickly."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "cells.csv", text)
    write_json(folder / "run.json", {"schema": 1, "run": folder.name, "complete": complete})
    return folder
