"""Benchmarks: times in the formats of Bencher and github-action-benchmark."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from harness.records.store import Run
from harness.report.exports.rows import Timed, timed

# Bencher refuses a name that is longer, counted in bytes (its valid/benchmark_name.rs).
LONGEST_NAME = 1024
# Bencher drops these ends from a name and then mutes the benchmark.
MUTING = ("_bencher_ignore", "BencherIgnore", "-bencher-ignore")
# One unit for all, so that a chart over many nights never changes its scale.
NANOSECONDS = 1e9


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
    """Return pytest-benchmark's own statistics in seconds, but our median, over the replicas."""
    from pytest_benchmark.stats import Stats

    make: Callable[[], Any] = Stats
    stats = make()
    for seconds in cell.samples_s:
        stats.update(seconds)
    found = {name: getattr(stats, name) for name in stats.fields}
    iterations = cell.record.calls_per_sample or 1
    return found | {"median": cell.median_s, "iterations": iterations}


def as_gha_benchmark(run: Run) -> str:
    """Return medians in nanoseconds and peaks in bytes as JSON; ValueError if no cell has a time.

    Fields: name, unit, value, range, extra, as `BenchmarkResult` in the action's
    src/extract.ts. A range is read there only as "± number" with nothing behind it.
    """
    entries = [entry for cell in timed(run) for entry in (_time(cell, run), *_memory(cell))]
    return json.dumps(entries, indent=1, allow_nan=False) + "\n"


def _time(cell: Timed, run: Run) -> dict[str, Any]:
    half = cell.half_width_s
    return {
        "name": cell.record.cell,
        "unit": "ns",
        # Three decimals are a picosecond, far below any clock.
        "value": round(cell.median_s * NANOSECONDS, 3),
        **({} if half is None else {"range": f"± {half * NANOSECONDS:.3f}"}),
        "extra": _remarks(cell, run),
    }


def _remarks(cell: Timed, run: Run) -> str:
    """Return what a chart shows beside a point, one remark a line."""
    record = cell.record
    remarks = {
        "run": run.name,
        "replicas": record.replicas,
        "samples": record.samples,
        "kernel": record.kernel,
        "flags": record.flags or None,
    }
    return "\n".join(f"{name}: {value}" for name, value in remarks.items() if value is not None)


def _memory(cell: Timed) -> list[dict[str, Any]]:
    """Return the peak as an entry of its own: the action has one value for a name."""
    if cell.record.peak_bytes is None:
        return []
    name = f"{cell.record.cell} peak memory"
    return [{"name": name, "unit": "bytes", "value": cell.record.peak_bytes}]
