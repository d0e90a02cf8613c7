"""Runs side by side: each number in its cell and its run, and what cannot be read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.cases.case import Case
from harness.records.tables import make_table
from harness.report.site.matrix import STATUSES, load_runs, matrix_of
from harness.report.site.pack import POINTS, chunks
from tests.support.made_runs import FACTS, cell, write_cut, write_run

FIRST = FACTS | {"started": "2026-01-01T00:00:00+00:00"}
LATER = FACTS | {"started": "2026-01-02T00:00:00+02:00"}


def made(length: int, *, backend: str = "naive") -> tuple[object, list[list[float]]]:
    return cell(backend, "length", Case.square(length), "made")


def test_each_number_lies_in_its_cell_and_its_run(tmp_path: Path) -> None:
    write_run(tmp_path / "b-first", cells=[made(64), made(128)], facts=FIRST)
    write_run(tmp_path / "a-later", cells=[made(128), made(256)], facts=LATER)
    runs, without = load_runs(tmp_path)
    assert [run.name for run in runs] == ["b-first", "a-later"]
    assert without == []
    matrix = matrix_of(runs)
    assert [shape["length_key"] for shape in matrix.shapes] == [64, 128, 256]
    times = matrix.numbers["time_median_s"]
    known = made(128)[0].time_median_s  # type: ignore[attr-defined]
    assert times[1].tolist() == [known, known]
    assert np.isnan(times[0, 1])
    assert np.isnan(times[2, 0])
    ok = STATUSES.index("ok")
    assert matrix.status.tolist() == [[ok, 0], [ok, ok], [0, ok]]


def test_peaks_keep_every_byte(tmp_path: Path) -> None:
    record, samples = made(64)
    odd = replace(record, peak_bytes=2**40 + 1)  # type: ignore[type-var]
    write_run(tmp_path / "run", cells=[(odd, samples)], facts=FIRST)
    matrix = matrix_of(load_runs(tmp_path)[0])
    assert matrix.numbers["peak_bytes"][0, 0] == 2**40 + 1


def test_a_cut_run_is_read_from_its_journal(tmp_path: Path) -> None:
    write_cut(tmp_path / "20260105-010203-cpu-quick", 5)
    runs, without = load_runs(tmp_path)
    assert len(runs[0].table) == 5
    assert runs[0].began == 1767574923.0  # 2026-01-05 01:02:03 UTC, from its name
    assert not without


def test_a_broken_run_is_named_and_left_out(tmp_path: Path) -> None:
    write_run(tmp_path / "good", cells=[made(64)], facts=FIRST)
    write_run(tmp_path / "torn", cells=[made(64)], facts=FIRST)
    (tmp_path / "torn" / "cells.parquet").write_bytes(b"PAR1 and no more")
    write_run(tmp_path / "text", cells=[made(64)], facts=FIRST)
    table = make_table([made(64)[0]]).assign(peak_bytes=["plenty"])  # type: ignore[list-item]
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "text" / "cells.parquet")
    write_run(tmp_path / "second-look", cells=[made(64)], facts=FIRST | {"confirms": "good"})
    runs, without = load_runs(tmp_path)
    assert [run.name for run in runs] == ["good"]
    assert sorted(line.split(":")[0] for line in without) == ["second-look", "text", "torn"]
    assert all("\n" not in line for line in without)


def test_a_table_from_before_some_columns_were_there_is_read(tmp_path: Path) -> None:
    write_run(tmp_path / "old", cells=[made(64)], facts=FIRST)
    path = tmp_path / "old" / "cells.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["work", "window", "peak_bytes"]), path)
    matrix = matrix_of(load_runs(tmp_path)[0])
    assert matrix.shapes[0]["work"] == "attention"
    assert matrix.shapes[0]["window"] is None
    assert np.isnan(matrix.numbers["peak_bytes"][0, 0])


def test_two_devices_keep_their_cells_apart(tmp_path: Path) -> None:
    write_run(tmp_path / "one", cells=[made(64)], facts=FIRST)
    record, samples = made(64)
    there = replace(record, device="cuda")  # type: ignore[type-var]
    write_run(tmp_path / "two", cells=[(there, samples)], facts=LATER | {"device": "cuda"})
    matrix = matrix_of(load_runs(tmp_path)[0])
    assert [(shape["device"], shape["name"]) for shape in matrix.shapes] == [
        ("cpu", "naive.fwd-t64-h4-d64-f32-full"), ("cuda", "naive.fwd-t64-h4-d64-f32-full"),
    ]  # fmt: skip
    assert [(part.cells, part.runs) for part in chunks(matrix)] == [([0], [0]), ([1], [1])]


def test_a_chunk_holds_no_more_than_a_page_reads_at_once(tmp_path: Path) -> None:
    write_run(tmp_path / "run", cells=[made(64), made(128), made(256)], facts=FIRST)
    matrix = matrix_of(load_runs(tmp_path)[0])
    count = POINTS // 2
    matrix.status = np.repeat(matrix.status, count, axis=1)
    assert [part.cells for part in chunks(matrix)] == [[0, 1], [2]]
    assert json.dumps([part.runs[-1] for part in chunks(matrix)]) == f"[{count - 1}, {count - 1}]"
