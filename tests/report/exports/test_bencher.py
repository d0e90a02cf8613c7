"""The file for Bencher, held against what its adapter `python_pytest` parses."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.records.tables import make_table
from harness.report.exports.benchmarks import as_bencher
from tests.support.exported_run import made_run, timed_record
from tests.support.tool_formats import Pytest, strict_json


def test_bencher_accepts_it(tmp_path: Path) -> None:
    text = as_bencher(made_run(tmp_path / "made"))
    content = Pytest.model_validate(strict_json(text))
    assert [one.fullname.split(".")[0] for one in content.benchmarks] == [
        "length::naive",
        "length::sdpa",
    ]


def test_bencher_shows_our_median_in_nanoseconds(tmp_path: Path) -> None:
    content = Pytest.model_validate_json(as_bencher(made_run(tmp_path / "made")))
    value, low, high = content.benchmarks[0].latency_ns()
    # Sorted: 0.9 1.0 1.1 and 2.9 3.0 3.7 ms: the quartiles lie 2 ms apart.
    assert value == pytest.approx(2e6)
    assert (low, high) == (pytest.approx(0, abs=1), pytest.approx(4e6))


def test_the_other_figures_are_those_of_the_samples(tmp_path: Path) -> None:
    stats = strict_json(as_bencher(made_run(tmp_path / "made")))["benchmarks"][0]["stats"]
    assert stats["mean"] == pytest.approx(2.1e-3)
    assert stats["stddev"] == pytest.approx(1.2377399e-03, rel=1e-6)
    assert (stats["min"], stats["max"], stats["rounds"]) == (0.9e-3, 3.7e-3, 6)
    assert stats["ops"] == pytest.approx(1 / 2.1e-3)


def test_pytest_benchmark_reads_its_own_layout(tmp_path: Path) -> None:
    path = tmp_path / "bencher.json"
    path.write_text(as_bencher(made_run(tmp_path / "made")))
    done = subprocess.run(
        [sys.executable, "-m", "pytest_benchmark", "compare", str(path)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 tests" in done.stdout


def test_one_sample_has_no_spread(tmp_path: Path) -> None:
    alone = timed_record("rowwise", 64, replica_medians_s=(2e-3,))
    run = replace(made_run(tmp_path / "made"), table=make_table([alone]))
    stats = Pytest.model_validate_json(as_bencher(run)).benchmarks[0].stats
    assert (stats.stddev, stats.iqr) == (0.0, 0.0)


@pytest.mark.parametrize("cell", ["x" * 1030, "naive.mine_bencher_ignore", "sdpa-bencher-ignore"])
def test_a_name_that_bencher_would_refuse_or_mute_is_said(tmp_path: Path, cell: str) -> None:
    run = replace(
        made_run(tmp_path / "made"), table=make_table([timed_record("naive", 64, cell=cell)])
    )
    with pytest.raises(ValueError, match="Bencher cannot take the cell"):
        as_bencher(run)


def test_facts_that_hold_no_number_are_refused(tmp_path: Path) -> None:
    run = made_run(tmp_path / "made")
    run.facts["machine"] = {"frequency_mhz": float("nan")}
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_bencher(run)
