"""Writer: a run as it is measured, written so that a cut loses at most the cell under way."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from harness.conformance import COLUMNS as FINDING_COLUMNS
from harness.conformance import Finding
from harness.record import SCHEMA_VERSION, Record
from harness.store import CONFORMANCE, FACTS, JOURNAL, LATEST, make_samples, make_table


def write_text(path: Path, text: str) -> None:
    """Write a whole file or nothing: a reader never sees half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def write_json(path: Path, value: Any) -> None:
    """Write JSON without NaN; ValueError if a value is not finite."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False, sort_keys=True) + "\n")


def new_folder(results: Path, label: str) -> Path:
    """Make a new run folder named by time and label; two runs at once get two folders."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for count in range(1000):
        folder = results / (f"{stamp}-{label}" + (f"-{count}" if count else ""))
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise ValueError(f"cannot make a new run folder in {results}")


@dataclass
class RunWriter:
    """Write a run as it is measured: the facts at once, each cell as it comes."""

    folder: Path
    facts: dict[str, Any]
    journal: IO[str] = field(init=False)
    cells: dict[str, tuple[Record, list[list[float]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.facts = {"schema": SCHEMA_VERSION, "run": self.folder.name} | self.facts
        self.save_facts()
        self.journal = (self.folder / JOURNAL).open("a", encoding="utf-8")
        write_text(self.folder.parent / LATEST, self.folder.name + "\n")

    def append(self, record: Record, samples: list[list[float]]) -> None:
        """Append one cell and its samples (one list per replica) and flush.

        A cell may come again with more replicas; its last line counts.
        """
        line = json.dumps({"record": record.as_dict(), "samples": samples}, allow_nan=False)
        self.journal.write(line + "\n")
        self.journal.flush()
        self.cells[record.cell] = (record, samples)

    def append_finding(self, finding: Finding) -> None:
        """Append one row to conformance.csv and flush; the first one brings the header."""
        path = self.folder / CONFORMANCE
        rows = [finding.as_dict().values()]
        with path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(
                rows if file.tell() else [FINDING_COLUMNS, *rows]
            )

    def save_facts(self) -> None:
        """Write what is known of the whole run so far."""
        write_json(self.folder / FACTS, self.facts)

    def finish(self, **facts: Any) -> None:
        """Write the tables and the final facts."""
        self.journal.close()
        self.facts |= facts
        self.save_facts()
        write_tables(self.folder, list(self.cells.values()))


def write_tables(folder: Path, cells: list[tuple[Record, list[list[float]]]]) -> None:
    """Write cells.csv, cells.parquet and samples.parquet."""
    table = make_table(record for record, _ in cells)
    table.to_parquet(folder / "cells.parquet", index=False)
    medians = table["replica_medians_s"].map(
        lambda values: " ".join(map(repr, values)) if values is not None else None
    )
    write_text(folder / "cells.csv", table.assign(replica_medians_s=medians).to_csv(index=False))
    make_samples(cells).to_parquet(folder / "samples.parquet", index=False)
