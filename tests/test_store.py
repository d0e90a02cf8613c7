import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from harness.case import Case
from harness.record import COLUMNS, Record, Status, cell_name
from harness.store import find_run, load_run, read_csv
from harness.writer import RunWriter, new_folder, write_json


def record(length: int, **fields: object) -> Record:
    case = Case.square(length)
    cell = cell_name("naive", case)
    values = {"cell": cell, "backend": "naive", "status": "ok", "suite": "length"}
    return Record(**case.as_dict() | values | fields)  # type: ignore[arg-type]


def written(results: Path, *, finish: bool = True) -> RunWriter:
    writer = RunWriter(new_folder(results, "cpu-smoke"), {"device": "cpu"})
    ok = record(
        8, time_median_s=1.25e-5, replica_medians_s=(1.2e-5, 1.3e-5), agrees=True, samples=4,
        peak_bytes=2**40 + 1,
    )  # fmt: skip
    writer.append(ok, [[1.2e-5, 1.2e-5], [1.3e-5, 1.3e-5]])
    writer.append(record(16, status=Status.CRASHED.value, reason='the "worker", was killed'), [])
    if finish:
        writer.finish(complete=True)
    return writer


def test_a_run_reads_back_as_it_was_written(tmp_path: Path) -> None:
    writer = written(tmp_path)
    run = load_run(writer.folder)
    assert run.facts["device"] == "cpu"
    assert list(run.table.columns) == list(COLUMNS)
    first, second = run.table.to_dict("records")
    assert first["replica_medians_s"] == (1.2e-5, 1.3e-5)
    assert first["peak_bytes"] == 2**40 + 1
    assert second["reason"] == 'the "worker", was killed'
    assert pd.isna(second["time_median_s"])
    assert len(run.samples) == 4


def test_csv_and_journal_hold_the_same_table(tmp_path: Path) -> None:
    folder = written(tmp_path).folder
    from_csv, from_journal = read_csv(folder / "cells.csv"), load_run(folder).table
    pd.testing.assert_frame_equal(from_csv, from_journal)
    parquet = pd.read_parquet(folder / "cells.parquet")
    assert parquet["time_median_s"].isna().tolist() == [False, True]
    assert parquet["mask"].tolist() == ["full", "full"]


def test_a_csv_alone_is_enough(tmp_path: Path) -> None:
    folder = written(tmp_path).folder
    expected = load_run(folder).table
    (folder / "journal.jsonl").unlink()
    pd.testing.assert_frame_equal(load_run(folder).table, expected)


def test_a_killed_run_keeps_what_it_measured(tmp_path: Path) -> None:
    writer = written(tmp_path, finish=False)
    with (writer.folder / "journal.jsonl").open("a") as journal:
        journal.write('{"record": {"cell": "naive.fwd-t32-')
    writer.journal.close()
    assert load_run(writer.folder).table["length_query"].tolist() == [8, 16]


def test_absent_is_empty_in_csv_and_never_zero(tmp_path: Path) -> None:
    with (written(tmp_path).folder / "cells.csv").open(newline="") as file:
        row = list(csv.DictReader(file))[1]
    assert row["time_median_s"] == row["peak_bytes"] == row["agrees"] == ""


def test_two_runs_at_once_get_two_folders(tmp_path: Path) -> None:
    names = {new_folder(tmp_path, "cpu-smoke").name for _ in range(5)}
    assert len(names) == 5


def test_the_newest_run_is_found(tmp_path: Path) -> None:
    written(tmp_path)
    newest = written(tmp_path).folder
    assert find_run(tmp_path) == newest
    assert find_run(tmp_path, newest.name) == newest
    assert find_run(tmp_path / "elsewhere", str(newest)) == newest


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"schema": 999}', "schema 999"),
        ("[]", "no schema number"),
        ("{", "cannot be read"),
        ('{"schema": 1, "x": ', "cannot be read"),
    ],
)
def test_a_poisoned_run_is_named_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    folder = written(tmp_path).folder
    (folder / "run.json").write_text(text)
    with pytest.raises(ValueError, match=words) as caught:
        load_run(folder)
    assert "\n" not in str(caught.value)


def test_a_poisoned_journal_line_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path).folder
    journal = folder / "journal.jsonl"
    good = journal.read_text().splitlines()
    bad = good[1].replace('"samples": null', '"samples": NaN')
    journal.write_text("\n".join([good[0], bad, good[0]]))
    with pytest.raises(ValueError, match=r"journal.jsonl line 2: NaN is not allowed"):
        load_run(folder)


def test_an_unknown_run_lists_the_valid_ones(tmp_path: Path) -> None:
    name = written(tmp_path).folder.name
    with pytest.raises(ValueError, match=f"no run 'x' in .*valid: {name}"):
        find_run(tmp_path, "x")


def test_nan_never_reaches_a_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "x.json", {"a": float("nan")})
    assert not (tmp_path / "x.json").exists()


def test_a_record_with_unknown_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown columns \\['colour'\\]"):
        Record.from_dict(json.loads('{"colour": 1}'))


def test_an_old_file_lacks_the_columns_that_came_later(tmp_path: Path) -> None:
    folder = written(tmp_path).folder
    frame = pd.read_csv(folder / "cells.csv", dtype=str).drop(columns=["held_bytes", "work"])
    frame.to_csv(folder / "cells.csv", index=False)
    table = read_csv(folder / "cells.csv")
    assert table["held_bytes"].isna().all()
    assert table["work"].tolist() == ["attention", "attention"]
    assert table["length_query"].tolist() == [8, 16]


def test_a_file_that_is_no_table_of_cells_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cells.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"lacks the columns \['backend', 'cell', 'status'\]"):
        read_csv(tmp_path / "cells.csv")
