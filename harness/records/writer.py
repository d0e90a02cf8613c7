"""Writer: a run as it is measured, written so that a cut loses at most the cell under way."""

from __future__ import annotations

import csv
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from harness.records.record import FINDING_COLUMNS, SCHEMA_VERSION, Finding, Record
from harness.records.store import (
    CELLS,
    CONFORMANCE,
    FACTS,
    JOURNAL,
    LATEST,
    SAMPLES,
    TABLE,
    read_findings,
    read_journal,
)
from harness.records.tables import make_samples, make_table

if TYPE_CHECKING:
    import pandas as pd

Cell = tuple[Record, list[list[float]]]


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a path to write to; it becomes the file at the end, or nothing does on an error.

    A reader never sees half of a file, and threads and processes may write the same one at once.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a whole text file or nothing."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write JSON without NaN; ValueError if a value is not finite."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False, sort_keys=True) + "\n")


def new_folder(results: Path, label: str) -> Path:
    """Make a new run folder named by time and label; two runs at once get two folders.

    Making the folder is the lock: one step, which takes the name too. filelock's would be two.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for count in range(1000):
        folder = results / (f"{stamp}-{label}" + (f"-{count}" if count else ""))
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise ValueError(f"cannot make a new run folder in {results}")


class CannotWrite(OSError):
    """Say that the results can no longer be written: a full disk, a folder that went away."""


@dataclass
class RunWriter:
    """Write a run as it is measured: the facts at once, each cell as it comes.

    In the folder of a run that was cut it goes on where that ended. Raises CannotWrite when the
    disk is full; what was written until then can be read.
    """

    folder: Path
    facts: dict[str, Any]
    journal: IO[str] = field(init=False)
    cells: dict[str, Cell] = field(default_factory=dict)
    findings: dict[tuple[str, str], Finding] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.facts = {"schema": SCHEMA_VERSION, "run": self.folder.name} | self.facts
        self._take_over()
        self.save_facts()
        self.journal = (self.folder / JOURNAL).open("a", encoding="utf-8")

    def _take_over(self) -> None:
        """Read what a cut run has written, and drop a last line cut in half."""
        path = self.folder / JOURNAL
        if path.is_file():
            self.cells = {cell[0].cell: cell for cell in read_journal(path)}
            drop_half_line(path)
        path = self.folder / CONFORMANCE
        if path.is_file():
            drop_half_line(path)
            for found in read_findings(path):
                self.findings[found.backend, found.behaviour] = found

    def announce(self) -> None:
        """Make this the newest run of its folder, unless it is an A/A run or a second look."""
        if self.facts.get("kind") or self.facts.get("confirms"):
            return
        write_text(self.folder.parent / LATEST, self.folder.name + "\n")

    def append(self, record: Record, samples: list[list[float]]) -> None:
        """Append one cell and its samples (one list per replica) and flush.

        A cell may come again with more replicas; its last line counts.
        """
        line = json.dumps({"record": record.as_dict(), "samples": samples}, allow_nan=False)
        with or_cannot_write():
            self.journal.write(line + "\n")
            self.journal.flush()
        self.cells[record.cell] = (record, samples)

    def append_finding(self, finding: Finding) -> None:
        """Append one row to conformance.csv and flush; the first one brings the header."""
        rows = [finding.as_dict().values()]
        with (
            or_cannot_write(),
            (self.folder / CONFORMANCE).open("a", encoding="utf-8", newline="") as file,
        ):
            csv.writer(file, lineterminator="\n").writerows(
                rows if file.tell() else [FINDING_COLUMNS, *rows]
            )
        self.findings[finding.backend, finding.behaviour] = finding

    def save_facts(self) -> None:
        """Write what is known of the whole run so far."""
        with or_cannot_write():
            write_json(self.folder / FACTS, self.facts)

    def finish(self, **facts: Any) -> None:
        """Write the tables and the final facts."""
        # After a full disk a line waits in the buffer: it cannot be written now either.
        with suppress(OSError):
            self.journal.close()
        self.facts |= facts
        self.save_facts()
        with or_cannot_write():
            write_tables(self.folder, list(self.cells.values()))


@contextmanager
def or_cannot_write() -> Iterator[None]:
    """Turn an error of the disk into CannotWrite, in one line that says what it means."""
    try:
        yield
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        raise CannotWrite(f"results cannot be written: {error.strerror or error}{where}") from None


def drop_half_line(path: Path) -> None:
    """Cut a file after its last whole line."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)


def write_tables(folder: Path, cells: list[Cell]) -> None:
    """Write cells.csv, cells.parquet and samples.parquet."""
    table = make_table(record for record, _ in cells)
    write_parquet(folder / TABLE, table)
    medians = table["replica_medians_s"].map(
        lambda values: " ".join(map(repr, values)) if values is not None else None
    )
    write_text(folder / CELLS, table.assign(replica_medians_s=medians).to_csv(index=False))
    write_parquet(folder / SAMPLES, make_samples(cells))


def write_parquet(path: Path, table: pd.DataFrame) -> None:
    """Write a whole table or nothing."""
    with whole_file(path) as partial:
        table.to_parquet(partial, index=False)
