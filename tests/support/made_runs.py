"""A made-up but lifelike run: laws per backend, noise by a fixed seed, every kind of outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.cases.case import Case, cell_name
from harness.records.record import Record, Status
from harness.records.store import Run, load_run
from harness.records.writer import RunWriter

Law = Callable[[Case], float]
CEILING = 98e9
HOSTILE = "no wheel for <script>alert(1)</script> | a `pipe`\nand a second line & more"
LENGTHS = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)


@dataclass(frozen=True)
class Made:
    """One backend's laws: seconds per call and peak bytes of a case."""

    floor_s: float
    pair_s: float
    matrices: float
    bytes_per_position: int = 1024
    constant: int = 0
    masked_share: float = 1.0
    spread: float = 0.01

    def seconds(self, case: Case) -> float:
        share = self.masked_share if "causal" in case.mask else 1.0
        work = case.batch * case.heads * case.length_query**2 * share
        half = 1.6 if case.dtype in ("bfloat16", "float16") else 1.0
        return self.floor_s + self.pair_s * work * half

    def peak(self, case: Case) -> int:
        entries = case.batch * case.heads * case.length_query
        linear = entries * self.bytes_per_position // 4 + self.constant
        return int(self.matrices * case.score_bytes()) + linear


MADE = {
    "naive": Made(1.2e-5, 6.5e-9, 2.0, 0, masked_share=1.05, spread=0.06),
    "rowwise": Made(6e-4, 4e-8, 0.0, 2048, spread=0.02),
    "tiled": Made(9e-5, 4.2e-9, 0.0, 1024, 2_367_488, masked_share=0.6),
    "sdpa": Made(9e-6, 3.42e-9, 0.0, 1040, 591_872, masked_share=0.54),
    "sdpa-math": Made(4.5e-5, 1.01e-8, 2.25, 1028),
    "sdpa-flash": Made(8e-6, 3.4e-9, 0.0, 1040, 591_872, masked_share=0.53),
}
ABSENT = {
    "sdpa-cudnn": "needs a CUDA device",
    "xformers": "built for torch 2.11.0+cu128, this is 2.13.0+cpu: the tiny call failed",
    "flash-attn": HOSTILE,
}


def cases() -> Iterator[tuple[str, Case]]:
    """Yield a star of cases like that of the quick grid."""
    for length in LENGTHS:
        yield "length", Case.square(length)
    for length in LENGTHS[::2]:
        yield "length", Case.square(length, mask="causal")
    for heads in (1, 2, 8):
        yield "heads", Case.square(512, heads=heads)
    for batch in (2, 4, 8):
        yield "heads", Case.square(512, batch=batch)
    for dtype in ("bfloat16", "float16"):
        yield "precision", Case.square(512, dtype=dtype)
    for mask in ("padding", "causal-padding", "sliding-window"):
        yield "masks", Case.square(512, mask=mask)


def shape(case: Case) -> dict[str, Any]:
    fields = case.as_dict()
    return {name: fields[name] for name in fields}


def outcome(backend: str, case: Case) -> tuple[Status, str | None]:
    """Say how a cell of the made-up run ends."""
    if backend in ABSENT:
        return Status.UNAVAILABLE, ABSENT[backend]
    if backend in ("naive", "sdpa-math") and case.length_query > 3000:
        need = 2 * case.score_bytes()
        return Status.OUT_OF_MEMORY, f"needs about {need} B, the limit is 200000000 B"
    if backend == "tiled" and case.dtype == "float16":
        return Status.DISAGREES, "error 0.31 is above the tolerance 0.004 (column 7 | row 3)"
    if backend == "sdpa-flash" and case.mask == "sliding-window":
        return Status.UNSUPPORTED, f"no sliding window in this kernel (T={case.length_query})"
    if backend == "rowwise" and case.batch == 8:
        return Status.CRASHED, "the worker died with signal 11 (SIGSEGV)"
    return Status.OK, None


def measured(backend: str, case: Case, draw: np.random.Generator) -> dict[str, Any]:
    """Return the measured columns of a cell that is ok, and its samples."""
    law = MADE[backend]
    centre = law.seconds(case)
    replicas = centre * (1 + law.spread * draw.uniform(-0.5, 0.5, 3))
    samples = [list(middle * (1 + 0.01 * draw.standard_normal(9))) for middle in replicas]
    medians = sorted(float(np.median(row)) for row in samples)
    return {
        "agrees": True, "error_max": 4e-7, "error_rel": float(draw.uniform(1e-7, 6e-7)),
        "tolerance": 2e-6, "error_ratio": float(draw.uniform(0.4, 1.3)),
        "time_median_s": medians[1], "time_low_s": medians[0] * 0.995,
        "time_high_s": medians[2] * 1.005, "time_min_s": min(map(min, samples)),
        "samples": 27, "replicas": 3, "replica_medians_s": tuple(medians),
        "first_call_s": 10 * centre, "peak_bytes": law.peak(case), "threads": 1,
        "rate_share": case.flops() / medians[1] / CEILING, "page_faults": 0.0,
        "flags": "unconverged" if law.spread > 0.05 and draw.uniform() < 0.3 else "",
        "made_samples": [[float(value) for value in row] for row in samples],
    }  # fmt: skip


def cell(backend: str, suite: str, case: Case, run: str) -> tuple[Record, list[list[float]]]:
    """Make one record with its samples."""
    status, reason = outcome(backend, case)
    seed = sum(map(ord, cell_name(backend, case)))
    values = measured(backend, case, np.random.default_rng(seed)) if status is Status.OK else {}
    samples = values.pop("made_samples", [])
    record = Record(
        run=run, cell=cell_name(backend, case), suite=suite, backend=backend,
        status=status.value, reason=reason, kernel=backend if status is Status.OK else None,
        flops=case.flops(), min_bytes=case.min_bytes(), output_bytes=case.output_bytes(),
        **shape(case), **values,
    )  # fmt: skip
    if status is Status.DISAGREES:
        record = replace(record, agrees=False, error_max=0.3, error_rel=0.31, error_ratio=80.0)
    return record, samples


FACTS: dict[str, Any] = {
    "started": "2026-11-29T14:32:05+00:00", "ended": "2026-11-29T14:35:17+00:00", "complete": True,
    "command": "pytest suites --benchmark-only --attn-grid quick",
    "grid": {"name": "quick", "description": "A star around B=1, H=4, D=64."},
    "device": "cpu", "fingerprint": "cpu-amd-epyc-2c-torch2.13.0-1f3a9c",
    "machine": {"cpu_model": "AMD EPYC 7763", "cores": 2, "python": "3.11.7"},
    "settings": {"replicas": 3, "target": 0.02, "cap_s": 0.12, "threads": 1, "seed": 0},
    "backends": [*MADE, *ABSENT], "baseline": "naive",
    "ceilings": {"flops_per_s": {"float32": CEILING}, "copy_bytes_per_s": 9.1e9},
    "unavailable": ABSENT, "notes": ["turbo could not be turned off"],
    "wall_s": 192.4, "timed_s": 101.0,
}  # fmt: skip


def write_run(
    folder: Path,
    *,
    cells: list[tuple[Record, list[list[float]]]] | None = None,
    facts: dict[str, Any] | None = None,
) -> Run:
    """Write a run as the plugin does and read it back."""
    folder.mkdir(parents=True)
    writer = RunWriter(folder, FACTS if facts is None else facts)
    for record, samples in full_cells(folder.name) if cells is None else cells:
        writer.append(record, samples)
    writer.finish()
    return load_run(folder)


def full_cells(run: str = "made") -> list[tuple[Record, list[list[float]]]]:
    """Make every cell of the star on every backend."""
    made = []
    for suite, case in cases():
        for backend in (*MADE, *ABSENT):
            if backend != "rowwise" or case.length_query <= 1536:
                made.append(cell(backend, suite, case, run))
    return made


def write_cut(folder: Path, count: int) -> Run:
    """Write a run that was killed after so many cells: a journal, few facts, no tables."""
    folder.mkdir(parents=True)
    writer = RunWriter(folder, {"device": "cpu", "complete": False, "baseline": "naive"})
    for record, samples in full_cells(folder.name)[:count]:
        writer.append(record, samples)
    writer.journal.close()
    return load_run(folder)
