"""The list that the action github-action-benchmark reads as `customSmallerIsBetter`."""

from __future__ import annotations

import json
from typing import Any

from harness.export.rows import Timed, timed
from harness.store import Run

# One unit for all, so that a chart over many nights never changes its scale.
NANOSECONDS = 1e9


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
