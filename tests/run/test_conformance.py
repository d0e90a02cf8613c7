"""Findings on their way: from a worker, crashed or not, to conformance.csv and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.records.record import FINDING_COLUMNS, Finding, Question
from harness.records.store import CONFORMANCE, load_run
from harness.records.writer import RunWriter, new_folder
from harness.run.pool import Pool


def finding(behaviour: str = "shapes", **fields: Any) -> Finding:
    values = {"backend": "naive", "device": "cpu", "dtype": "float32", "verdict": "conforms"}
    return Finding(behaviour=behaviour, **values | fields)


def writer(folder: Path) -> RunWriter:
    return RunWriter(new_folder(folder, "cpu-made"), {"device": "cpu"})


def test_findings_read_back_as_they_were_written(tmp_path: Path) -> None:
    run = writer(tmp_path)
    rows = [
        finding(expected="[2, 3]", observed='the "right", one'),
        finding("nan-row", verdict="deviates", expected="NaN", observed="0", reason="known: a\tb"),
        finding("no-key", verdict="crashes", reason="the worker was killed by SIGFPE"),
    ]
    for row in rows:
        run.append_finding(row)
        assert len((run.folder / CONFORMANCE).read_text().splitlines()) > 1, "written at once"
    run.finish()
    table = load_run(run.folder).conformance
    assert tuple(table.columns) == FINDING_COLUMNS
    back = table.astype(object).where(table.notna(), None).to_dict("records")
    assert [Finding.from_dict(row) for row in back] == rows  # type: ignore[arg-type]


def test_a_run_without_findings_has_an_empty_table(tmp_path: Path) -> None:
    run = writer(tmp_path)
    run.finish()
    table = load_run(run.folder).conformance
    assert tuple(table.columns) == FINDING_COLUMNS
    assert not len(table)


def test_a_row_cut_in_half_is_left_out(tmp_path: Path) -> None:
    run = writer(tmp_path)
    run.append_finding(finding())
    with (run.folder / CONFORMANCE).open("a") as file:
        file.write("naive,nan-row,cpu,flo")
    run.finish()
    assert load_run(run.folder).conformance["behaviour"].tolist() == ["shapes"]


def test_a_poisoned_row_is_named_in_one_line(tmp_path: Path) -> None:
    run = writer(tmp_path)
    run.append_finding(finding())
    with (run.folder / CONFORMANCE).open("a") as file:
        file.write("naive,nan-row,cpu,float32,,,perhaps,\n")
    run.finish()
    with pytest.raises(ValueError, match=r"conformance.csv cannot be read: .*'perhaps'; valid"):
        load_run(run.folder)


def test_a_crash_is_blamed_on_its_behaviour_and_the_pool_goes_on(pool: Pool) -> None:
    crash = pool.conform(Question("exits", "shapes"), "cpu")
    assert (crash.verdict, crash.behaviour, crash.backend) == ("crashes", "shapes", "exits")
    assert str(crash.reason).startswith("the worker exited with code 3")
    assert crash.wrong
    right = pool.conform(Question("naive", "shapes"), "cpu")
    assert (right.verdict, right.expected) == ("conforms", "[2, 3, 7, 16], as the oracle")
    wrong = pool.conform(Question("wrong-mask", "causal-sees-itself"), "cpu")
    assert (wrong.verdict, wrong.observed) == ("deviates", "111; 111; 111")


def test_torch_itself_is_asked(pool: Pool) -> None:
    found = pool.conform(Question("torch", "key-padding-mask-polarity"), "cpu")
    assert (found.verdict, found.observed) == ("conforms", "000011")


def test_an_example_is_answered_by_every_backend_even_if_one_crashes(pool: Pool) -> None:
    from harness.cases.example import worked

    answers = pool.explain(worked().order(), ["naive", "exits", "sdpa", "wrong-mask"])
    assert str(answers["exits"]["reason"]).startswith("the worker exited")
    for name in ("naive", "sdpa", "wrong-mask"):
        assert answers[name]["output"][0] == pytest.approx([17 / 3])
        assert answers[name]["dtype"] == "float64"
