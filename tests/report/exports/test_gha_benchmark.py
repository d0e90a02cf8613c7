"""The file for github-action-benchmark, held against the fields that the action reads."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.records.tables import make_table
from harness.report.exports.benchmarks import as_gha_benchmark
from tests.support.exported_run import made_run, timed_record
from tests.support.tool_formats import RESULTS, strict_json


def test_the_action_accepts_it(tmp_path: Path) -> None:
    entries = RESULTS.validate_json(as_gha_benchmark(made_run(tmp_path / "made")))
    assert len(entries) == 3
    names = [entry.name for entry in entries]
    assert len(set(names)) == len(names), "the action looks the last value up by its name"


def test_times_are_nanoseconds_and_peaks_are_bytes(tmp_path: Path) -> None:
    run = made_run(tmp_path / "made")
    time, memory, second = strict_json(as_gha_benchmark(run))
    cell = run.table["cell"][0]
    assert (time["name"], time["unit"], time["value"]) == (cell, "ns", 2_000_000.0)
    assert time["range"] == "± 1500000.000"
    assert time["extra"] == "run: made\nreplicas: 2\nsamples: 6\nkernel: plain"
    assert memory == {"name": f"{cell} peak memory", "unit": "bytes", "value": 4096}
    assert second["name"].startswith("sdpa."), "a cell without a peak has no entry for it"


def test_a_range_is_read_however_narrow_it_is(tmp_path: Path) -> None:
    exact = timed_record("naive", 64, time_low_s=2e-3, time_high_s=2e-3)
    run = replace(made_run(tmp_path / "made"), table=make_table([exact]))
    entries = RESULTS.validate_json(as_gha_benchmark(run))
    assert entries[0].range == "± 0.000"


def test_the_published_rules_can_fail() -> None:
    for text in ("[]", '[{"name":"a","unit":"ns","value":NaN}]', '[{"name":"a","value":1}]',
                 '[{"name":"a","unit":"ns","value":1,"range":"± 5"}]',
                 '[{"name":"a","unit":"ns","value":1,"range":"1 to 2"}]'):  # fmt: skip
        with pytest.raises(ValueError, match="validation error"):
            RESULTS.validate_json(text)
