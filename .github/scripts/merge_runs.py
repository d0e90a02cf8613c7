"""Merge all runs of a results folder into one: its replicas are those of every run together.

Runs that took turns with others on one machine are one measurement in more processes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from harness.records.record import Record, Status
from harness.records.store import Run, load_run
from harness.records.writer import RunWriter
from harness.report.exports.rows import records
from harness.run.replicas import time_columns

Seen = tuple[Record, list[list[float]]]


def samples_of(run: Run) -> dict[str, list[list[float]]]:
    """Return {cell: samples in seconds, one list per replica}."""
    found: dict[str, list[list[float]]] = {}
    for (cell, _), group in run.samples.groupby(["cell", "replica"], sort=True):
        found.setdefault(str(cell), []).append(group["seconds"].to_list())
    return found


def merged(seen: list[Seen], name: str) -> Seen:
    """Return one cell from what each run saw of it; one failure in any run decides its status."""
    worst = next((one for one in seen if one[0].status != Status.OK), None)
    if worst is not None:
        return replace(worst[0], run=name), []
    samples = [replica for _, replicas in seen for replica in replicas]
    first = replace(seen[0][0], run=name)
    if not samples:
        return first, []
    flags = dict.fromkeys(flag for record, _ in seen for flag in record.flags.split())
    peaks = [record.peak_bytes for record, _ in seen if record.peak_bytes is not None]
    memory = max(peaks, default=None)
    return replace(
        first, **time_columns(samples), peak_bytes=memory, flags=" ".join(flags)
    ), samples


def merge(runs: list[Run], folder: Path) -> Path:
    """Write the runs as one into a new folder; ValueError if they are of different machines."""
    prints = sorted({str(run.facts.get("fingerprint")) for run in runs})
    if len(prints) != 1:
        raise ValueError(f"runs of different machines are not merged: {', '.join(prints)}")
    seen: dict[str, list[Seen]] = {}
    for run in runs:
        samples = samples_of(run)
        for record in records(run):
            seen.setdefault(record.cell, []).append((record, samples.get(record.cell, [])))
    folder.mkdir(parents=True)
    facts = runs[-1].facts | {"run": folder.name, "merged": [run.name for run in runs]}
    writer = RunWriter(folder, facts)
    for cell in seen.values():
        writer.append(*merged(cell, folder.name))
    writer.finish(complete=all(run.facts.get("complete") for run in runs))
    return folder


def main(words: Iterable[str]) -> None:
    """Merge RESULTS/* into FOLDER."""
    results, folder = map(Path, words)
    runs = [load_run(path.parent) for path in sorted(results.glob("*/run.json"))]
    if not runs:
        raise ValueError(f"no run in {results}")
    print(merge(runs, folder))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (ValueError, OSError) as error:
        sys.exit(f"merge_runs: {error}")
