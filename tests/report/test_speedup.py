"""Speed-ups over the baseline: paired by round where the samples are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.analysis.fits.ratio import rounds_by_cell
from harness.cases.case import Case
from harness.records.record import Observation, Record
from harness.report.view import RATIO_COLUMNS, mask_ratios, speedups
from harness.run.replicas import combine
from tests.support.made_runs import write_run

# Each process slows down fourfold in its visit; both backends see it, the second at 1.5 times.
WAVE = (1.0, 1.5, 2.0, 3.0, 4.0, 2.5)
SLOWER, LENGTHS, MASKS = 1.5, (64, 128), ("full", "causal")


def made_cell(backend: str, case: Case, scale: float) -> tuple[Record, list[list[float]]]:
    noise = {"naive": 1.001, "tiled": 0.999}[backend]
    samples = [
        [scale * process * each * noise ** (at % 2) for at, each in enumerate(WAVE)]
        for process in (1.0, 1.2, 1.1)
    ]
    seen = [
        Observation(backend=backend, found={"agrees": True}, samples_s=tuple(one))
        for one in samples
    ]
    return combine(case, backend, seen, suite="length")


def test_the_ratios_pair_by_round(tmp_path: Path) -> None:
    cells = [
        made_cell(backend, Case.square(length, mask=mask), length * scale)
        for length in LENGTHS
        for mask in MASKS
        for backend, scale in (("naive", SLOWER), ("tiled", 1.0))
    ]
    run = write_run(tmp_path / "made", cells=cells)
    full, causal = (run.table[run.table["mask"] == mask] for mask in MASKS)
    found = speedups(full, "naive", rounds=rounds_by_cell(run.samples))
    assert list(found.columns) == RATIO_COLUMNS
    assert found[["backend", "length"]].values.tolist() == [["tiled", 64], ["tiled", 128]]
    assert found["ratio"].tolist() == pytest.approx([SLOWER] * 2, rel=0.002)
    assert (found["high"] - found["low"]).max() < 0.01
    assert (found["low"] <= found["ratio"]).all()
    assert (found["ratio"] <= found["high"]).all()
    # Another mask is another visit: its rounds pair with nobody's, its processes do.
    assert mask_ratios(causal, full)["ratio"].tolist() == pytest.approx([1.0] * 4)


def test_without_the_baseline_there_is_nothing(tmp_path: Path) -> None:
    run = write_run(tmp_path / "made", cells=[made_cell("tiled", Case.square(64), 1.0)])
    assert speedups(run.table, "naive", rounds=rounds_by_cell(run.samples)).empty
