from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from harness.cases.case import Case
from harness.records.record import Record, Status
from harness.records.store import load_run
from harness.records.tables import make_table
from harness.report.panels import choose_lengths
from harness.report.sections.run import settings_table
from harness.report.sections.verdicts import claims_table, scores_table, series_table
from harness.report.tables.noise import flag_table, noise_table
from harness.report.tables.outcomes import (
    agreement_table,
    cells_table,
    missing_table,
    status_counts,
)
from harness.report.tables.pivots import memory_pivot, rate_pivot, time_pivot
from harness.report.view import View
from harness.report.words.markup import markdown_table
from tests.support import fixed_views as stubs
from tests.support import golden
from tests.support.made_runs import HOSTILE, write_run


def test_every_table_is_as_it_was(view: View) -> None:
    panel, frame = view.panels[0]
    speed = view.speeds[panel]
    shown = {
        "time": time_pivot(panel, frame, fits=view.index, speed=speed, baseline=view.baseline),
        "time, short": time_pivot(
            panel, frame, fits=view.index, speed=speed, baseline="naive", count=4, short=True
        ),
        "memory": memory_pivot(panel, frame, fits=view.index),
        "rate": rate_pivot(frame),
        "claims": claims_table(stubs.CLAIMS, view.verdicts),
        "verdicts": series_table(view.verdicts),
        "agreement": agreement_table(view.table),
        "missing": missing_table(view.table, view.mapping("unavailable")),
        "noise": noise_table(view.table),
        "flags": flag_table(view.table),
        "settings": settings_table(view.run.facts),
        "cells": cells_table(view.table, count=4),
    }
    raw = ["shown in"]
    parts = [f"## {name}\n\n{markdown_table(frame, raw=raw)}\n" for name, frame in shown.items()]
    golden.check("tables.md", "\n".join(parts))


@pytest.mark.parametrize(
    ("lengths", "count", "chosen"),
    [
        ([64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096], 4,
         [64, 256, 1024, 4096]),
        ([64, 96, 128], 4, [64, 96, 128]),
        ([64, 96, 128, 192, 3072], 3, [64, 128, 3072]),
        ([64, 128, 4096], 1, [4096]),
        ([], 3, []),
    ],
)  # fmt: skip
def test_chosen_lengths_are_spread_and_keep_the_ends(
    lengths: list[int], count: int, chosen: list[int]
) -> None:
    assert choose_lengths(lengths, count) == chosen


def test_reasons_that_differ_in_numbers_are_one_row() -> None:
    cells = [
        Record(
            backend="naive", cell=f"naive.t{length}", status=Status.OUT_OF_MEMORY.value,
            reason=f"needs {length**2} B of 1000 B", **Case.square(length).as_dict(),
        )
        for length in (64, 128, 256)
    ]  # fmt: skip
    table = missing_table(make_table(cells), {"ghost": HOSTILE})
    assert table["backend"].tolist() == ["naive", "ghost"]
    assert table["cells"].tolist() == ["3", "-"]
    assert table["reason"].tolist()[0] == "e.g. needs 4096 B of 1000 B"


def test_hundreds_of_missing_cells_are_few_rows(view: View) -> None:
    missing = view.table[view.table["status"] != "ok"]
    assert len(missing) > 90
    assert len(missing_table(view.table)) == 8


def test_failures_come_before_outcomes(view: View) -> None:
    outcomes = missing_table(view.table)["outcome"].tolist()
    assert outcomes[:2] == ["crashed", "disagrees"]


def test_a_ratio_at_another_length_says_so(view: View) -> None:
    panel, frame = view.panels[0]
    table = time_pivot(panel, frame, fits=view.index, speed=view.speeds[panel], baseline="naive")
    told = dict(zip(table["backend"], table["vs naive"], strict=True))
    assert told["naive"] == "-"
    assert told["rowwise"].endswith("at 1536")
    assert told["sdpa-flash"].endswith("at 2048")


def test_predicted_scores_show_the_articles_lengths() -> None:
    scores = pd.DataFrame(
        {
            "length": [32000], "heads": [8], "itemsize": [2], "batch": [1],
            "predicted_bytes": [16_384_000_000], "measured_bytes": [None], "matrices": [None],
        }
    )  # fmt: skip
    row = scores_table(scores).iloc[0].tolist()
    assert row == ["32,000", "1", "8", "2", "16.38 GB", "-", "-"]


def test_a_run_read_from_csv_shows_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    runs = [write_run(folder)]
    (folder / "journal.jsonl").unlink()
    runs.append(load_run(folder))
    texts = []
    for run in runs:
        view = View(run, [], [])
        panel, frame = view.panels[0]
        times = time_pivot(panel, frame, fits={}, speed=view.speeds[panel], baseline="naive")
        shown = (times, noise_table(view.table), missing_table(view.table))
        texts.append([markdown_table(frame) for frame in shown])
    assert texts[0] == texts[1]


def test_status_counts_follow_the_schema(view: View) -> None:
    counts = status_counts(view.table)
    assert list(counts) == [
        "ok", "disagrees", "out_of_memory", "unavailable", "unsupported", "crashed",
    ]  # fmt: skip
    assert sum(counts.values()) == len(view.table)
