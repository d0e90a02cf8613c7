"""A file in the layout of pytest-benchmark's JSON, which Bencher reads as `python_pytest`."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from harness.export.rows import Timed, timed
from harness.store import Run

# Bencher refuses a name that is longer, counted in bytes (its valid/benchmark_name.rs).
LONGEST_NAME = 1024
# Bencher drops these ends from a name and then mutes the benchmark.
MUTING = ("_bencher_ignore", "BencherIgnore", "-bencher-ignore")


def as_bencher(run: Run) -> str:
    """Return the times of a run in seconds as JSON; ValueError if no cell has a time.

    Bencher's adapter takes `fullname` and mean, stddev, median and iqr of each benchmark; with the
    other fields `pytest-benchmark compare` reads the file too. Ask Bencher for `--average median`:
    the median is our estimate; its default, the mean, is drawn by every hiccup of the machine.
    """
    machine, worker = run.facts.get("machine") or {}, run.facts.get("worker") or {}
    content = {
        "machine_info": machine | {"worker": worker, "fingerprint": run.facts.get("fingerprint")},
        "commit_info": {"id": run.facts.get("commit"), "run": run.name},
        "benchmarks": [_benchmark(cell) for cell in timed(run)],
        "datetime": run.facts.get("ended") or run.facts.get("started"),
        "version": version("pytest-benchmark"),
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _benchmark(cell: Timed) -> dict[str, Any]:
    record = cell.record
    name = f"{record.suite}::{record.cell}" if record.suite else record.cell
    return {
        "group": record.suite or None,
        "name": record.cell,
        "fullname": _allowed(name),
        "params": None,
        "param": None,
        "extra_info": {"kernel": record.kernel, "peak_bytes": record.peak_bytes},
        "options": {},
        "stats": _statistics(cell),
    }


def _allowed(name: str) -> str:
    """Return the name; ValueError if Bencher would refuse or mute it."""
    if len(name.encode()) > LONGEST_NAME or name.endswith(MUTING):
        raise ValueError(
            f"Bencher cannot take the cell {name[:60]!r}: a name has at most {LONGEST_NAME} "
            f"bytes and does not end in {', '.join(MUTING)}"
        )
    return name


def _statistics(cell: Timed) -> dict[str, Any]:
    """Return pytest-benchmark's own figures in seconds, but our median, that over the replicas."""
    from pytest_benchmark.stats import Stats

    make: Callable[[], Any] = Stats
    stats = make()
    for seconds in cell.samples_s:
        stats.update(seconds)
    figures = {name: getattr(stats, name) for name in stats.fields}
    iterations = cell.record.calls_per_sample or 1
    return figures | {"median": cell.median_s, "iterations": iterations}
