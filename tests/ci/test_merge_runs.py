"""Runs that took turns become one run with the replicas of all."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from harness.cases.case import Case, cell_name
from harness.records.record import Record
from harness.records.store import Run, find_run, load_run
from harness.records.writer import RunWriter
from tests.support import ROOT

SCRIPTS = ROOT / ".github" / "scripts"
CELL = cell_name("naive", Case.square(64))


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("merge_runs", SCRIPTS / "merge_runs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(folder: Path, seconds: float | None, **values: Any) -> None:
    """Write a run of one cell in one replica: three samples a tenth apart, or none."""
    samples = [] if seconds is None else [[0.9 * seconds, seconds, 1.1 * seconds]]
    fingerprint = values.pop("fingerprint", "cpu-made")
    known: dict[str, Any] = {"status": "ok", "suite": "length", "backend": "naive", "cell": CELL}
    if seconds is not None:
        known |= {"time_median_s": seconds, "replica_medians_s": (seconds,), "peak_bytes": 64}
    folder.mkdir(parents=True)
    writer = RunWriter(folder, {"device": "cpu", "fingerprint": fingerprint})
    writer.append(Record(**Case.square(64).as_dict() | known | values), samples)
    writer.finish(complete=True)


def merged(script: ModuleType, results: Path) -> Run:
    script.main([str(results), str(results.parent / "merged" / "head")])
    return load_run(find_run(results.parent / "merged", "head"))


def test_the_replicas_of_all_runs_are_those_of_one(script: ModuleType, tmp_path: Path) -> None:
    for name, seconds in (("a", 1e-3), ("b", 3e-3), ("c", 2e-3)):
        write(tmp_path / "runs" / name, seconds, flags="drift" if name == "b" else "")
    run = merged(script, tmp_path / "runs")
    (row,) = run.table.to_dict("records")
    assert row["replica_medians_s"] == (1e-3, 3e-3, 2e-3)
    assert (row["time_median_s"], row["replicas"], row["samples"]) == (2e-3, 3, 9)
    assert row["time_low_s"] <= 1e-3 < 3e-3 <= row["time_high_s"]
    assert row["time_min_s"] == pytest.approx(0.9e-3)
    assert row["flags"] == "drift"
    assert run.facts["merged"] == ["a", "b", "c"]
    assert run.samples.groupby("replica")["seconds"].median().to_list() == [1e-3, 3e-3, 2e-3]


def test_one_crash_in_three_runs_is_no_time_to_report(script: ModuleType, tmp_path: Path) -> None:
    write(tmp_path / "runs" / "a", 1e-3)
    write(tmp_path / "runs" / "b", None, status="crashed", reason="signal 11")
    (row,) = merged(script, tmp_path / "runs").table.to_dict("records")
    assert (row["status"], row["reason"]) == ("crashed", "signal 11")
    assert pd.isna(row["time_median_s"])


def test_the_largest_peak_counts(script: ModuleType, tmp_path: Path) -> None:
    write(tmp_path / "runs" / "a", 1e-3)
    write(tmp_path / "runs" / "b", 1e-3, peak_bytes=128)
    (row,) = merged(script, tmp_path / "runs").table.to_dict("records")
    assert row["peak_bytes"] == 128


def test_runs_of_two_machines_are_not_one(script: ModuleType, tmp_path: Path) -> None:
    write(tmp_path / "runs" / "a", 1e-3)
    write(tmp_path / "runs" / "b", 1e-3, fingerprint="cpu-other")
    with pytest.raises(ValueError, match="different machines are not merged: cpu-made, cpu-other"):
        merged(script, tmp_path / "runs")


def test_a_folder_without_runs_is_said(script: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no run in "):
        script.main([str(tmp_path), str(tmp_path / "merged")])
