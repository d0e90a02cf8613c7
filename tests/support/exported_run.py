"""A small run with every kind of outcome, planted times, and text that would break a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.cases.case import Case, cell_name
from harness.records.record import Finding, Record, Status
from harness.records.store import Run, load_run
from harness.records.writer import RunWriter

# What crashes print: control characters, no character at all, the end of a CDATA section, a tag.
HOSTILE = 'died \x1b[31m\x00 with ]]> <b a="1">&amp; \ufffe and\na second line'
FACTS: dict[str, Any] = {
    "started": "2026-11-29T15:32:05+01:00", "ended": "2026-11-29T15:35:17+01:00",
    "device": "cpu", "fingerprint": "cpu-made", "complete": True, "machine": {"cores": 2},
}  # fmt: skip
# Two replicas: their medians are 1 and 3 ms, the cell's median is 2 ms, the mean 2.1 ms.
SAMPLES = [[0.9e-3, 1e-3, 1.1e-3], [2.9e-3, 3e-3, 3.7e-3]]


def record(backend: str, length: int, **values: Any) -> Record:
    case = Case.square(length)
    status = values.pop("status", "ok")
    fields: dict[str, Any] = case.as_dict() | {
        "cell": cell_name(backend, case), "run": "made", "suite": "length", "backend": backend,
    } | values  # fmt: skip
    return Record(status=status, **fields)


def timed_record(backend: str, length: int, **values: Any) -> Record:
    known: dict[str, Any] = {
        "time_median_s": 2e-3, "time_low_s": 1e-3, "time_high_s": 3.5e-3, "samples": 6,
        "replicas": 2, "replica_medians_s": (1e-3, 3e-3), "peak_bytes": 4096, "kernel": "plain",
    }  # fmt: skip
    return record(backend, length, **known | values)


def finding(behaviour: str, verdict: str, reason: str | None = None) -> Finding:
    return Finding(
        backend="naive", behaviour=behaviour, device="cpu", dtype="float32",
        expected="0", observed="nan", verdict=verdict, reason=reason,
    )  # fmt: skip


def write_run(folder: Path) -> Path:
    """Write the run; every status occurs once, `ok` twice (once without memory)."""
    folder.mkdir(parents=True)
    writer = RunWriter(folder, dict(FACTS))
    writer.append(timed_record("naive", 64), SAMPLES)
    writer.append(timed_record("sdpa", 64, peak_bytes=None), SAMPLES)
    for number, status in enumerate(one for one in Status if one is not Status.OK):
        writer.append(
            record("tiled", 128 + number, status=status.value, reason=f"because {status}"), []
        )
    writer.append_finding(finding("empty-row", "deviates"))
    writer.append_finding(finding("nan", "deviates", "known: torch 2.13, a link"))
    writer.append_finding(finding("tiny", "conforms"))
    writer.append_finding(finding("layout", "refuses", "no strides"))
    writer.finish()
    return folder


def made_run(folder: Path) -> Run:
    return load_run(write_run(folder))
