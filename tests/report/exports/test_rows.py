"""Our own rows as JSON, and the rule of which cells have a time."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from harness.records.record import COLUMNS, Record
from harness.records.store import load_run
from harness.records.tables import make_table
from harness.report.exports.rows import as_json, records, timed
from tests.support.exported_run import made_run, timed_record, write_run
from tests.support.tool_formats import strict_json


def test_every_cell_comes_with_every_column(tmp_path: Path) -> None:
    run = made_run(tmp_path / "made")
    rows = strict_json(as_json(run))
    assert [row["cell"] for row in rows] == run.table["cell"].to_list()
    assert all(set(row) == set(COLUMNS) for row in rows)
    assert rows[0]["time_median_s"] == 2e-3
    assert rows[0]["replica_medians_s"] == [1e-3, 3e-3]
    assert rows[2]["time_median_s"] is None


def test_no_digit_is_lost(tmp_path: Path) -> None:
    seconds = 0.1234567890123456789
    record = timed_record("naive", 64, time_median_s=seconds)
    run = replace(made_run(tmp_path / "made"), table=make_table([record]))
    assert strict_json(as_json(run))[0]["time_median_s"] == seconds
    assert next(records(run)) == record


@pytest.mark.parametrize("lie", [float("nan"), float("inf"), -1.0, 0.0])
def test_a_time_that_is_no_time_is_left_out(tmp_path: Path, lie: float) -> None:
    run = made_run(tmp_path / "made")
    table = run.table.copy()
    table["time_median_s"] = pd.Series([lie, 2e-3] + [None] * (len(table) - 2), dtype=object)
    assert [one.record.backend for one in timed(replace(run, table=table))] == ["sdpa"]


def test_what_is_no_number_is_null(tmp_path: Path) -> None:
    run = made_run(tmp_path / "made")
    table = run.table.astype({"error_max": object})
    table.loc[0, "error_max"] = float("inf")
    table.at[0, "replica_medians_s"] = (1e-3, float("nan"))
    row = strict_json(as_json(replace(run, table=table)))[0]
    assert (row["error_max"], row["replica_medians_s"]) == (None, [1e-3])


def test_a_cell_that_disagrees_has_no_time_to_hand_on(tmp_path: Path) -> None:
    wrong = timed_record("naive", 64, status="disagrees")
    run = replace(made_run(tmp_path / "made"), table=make_table([wrong]))
    with pytest.raises(ValueError, match="run made has no cell with a time: nothing to export"):
        timed(run)


def test_a_run_read_without_its_samples_has_its_medians(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "made")
    assert timed(load_run(folder))[0].samples_s[:3] == (0.9e-3, 1e-3, 1.1e-3)
    for name in ("journal.jsonl", "samples.parquet"):
        (folder / name).unlink()
    assert timed(load_run(folder))[0].samples_s == (1e-3, 3e-3)


def test_the_interval_is_as_wide_as_its_wider_side() -> None:
    def width(low: float | None, high: float | None) -> float | None:
        from harness.report.exports.rows import Timed

        known: Record = timed_record("naive", 64, time_low_s=low, time_high_s=high)
        return Timed(record=known, median_s=2e-3, samples_s=(2e-3,)).half_width_s

    assert width(1e-3, 3.5e-3) == pytest.approx(1.5e-3)
    assert width(0.4e-3, 2.1e-3) == pytest.approx(1.6e-3)
    assert width(None, 3e-3) is None
