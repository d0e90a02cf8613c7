"""Sweeps over T: what belongs together, what splits, and what must never be averaged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.analysis.fits.series import SeriesKey
from harness.cases.case import Case
from harness.records.record import Status
from tests.support.sweep_tables import (
    LENGTHS,
    OCTAVES,
    failed,
    failed_sweep,
    fits_of,
    linear_time,
    measured,
    series_of,
    sweep,
    table_of,
)


def test_a_sweep_is_one_series_in_the_order_of_length() -> None:
    records = sweep("naive", noise=0)
    [series] = series_of(table_of(reversed(records)))
    assert series.lengths == LENGTHS
    assert series.medians[0] == records[0].replica_medians_s
    assert series.peaks == tuple(2 * 4 * 4 * length**2 for length in LENGTHS)
    assert series.key == SeriesKey.of(records[0])
    assert series.replicas == 3


@pytest.mark.parametrize(
    "other",
    [
        {"dtype": "bfloat16"},
        {"mask": "causal"},
        {"phase": "backward"},
        {"batch": 2},
        {"heads": 8},
        {"heads_kv": 2},
        {"dim_key": 32},
        {"dim_value": 32},
        {"device": "cuda"},
        {"mask": "sliding-window", "window": 64},
    ],
)
def test_every_axis_keeps_series_apart(other: dict[str, Any]) -> None:
    found = series_of(table_of(sweep("naive", OCTAVES), sweep("naive", OCTAVES, case=other)))
    assert [series.lengths for series in found] == [OCTAVES, OCTAVES]


def test_the_suite_does_not_keep_a_length_out_of_its_series() -> None:
    records = sweep("naive", OCTAVES)
    records[3] = replace(records[3], suite="heads")
    [series] = series_of(table_of(records))
    assert series.lengths == OCTAVES


def test_two_rows_of_one_cell_are_refused() -> None:
    records = sweep("naive", OCTAVES)
    with pytest.raises(ValueError, match=r"two rows for naive\.fwd-t64-h4-d64-f32-full on cpu"):
        series_of(table_of(records, records[:1]))


def test_three_lengths_are_no_series() -> None:
    assert series_of(table_of(sweep("naive", (64, 128, 256)))) == []
    assert len(series_of(table_of(sweep("naive", (64, 128, 256, 512))))) == 1


def test_cells_that_are_not_square_are_left_out() -> None:
    decode = [measured("naive", Case.square(64).with_(length_key=keys)) for keys in OCTAVES[1:]]
    [series] = series_of(table_of(sweep("naive", OCTAVES), decode))
    assert series.lengths == OCTAVES


def test_what_was_not_measured_is_none_in_its_place() -> None:
    big = Case.square(8192)
    records = [
        *sweep("naive", OCTAVES),
        failed("naive", big, status=Status.OUT_OF_MEMORY, reason="2 GiB"),
    ]
    [series] = series_of(table_of(records))
    assert series.lengths == (*OCTAVES, 8192)
    assert (series.medians[-1], series.peaks[-1], series.flops[-1]) == (None, None, None)


def test_a_cell_that_disagrees_gives_no_value() -> None:
    records = sweep("naive", OCTAVES)
    records[2] = replace(records[2], status=Status.DISAGREES)
    [series] = series_of(table_of(records))
    assert series.medians[2] is None
    assert series.peaks[2] is None


def test_another_kernel_splits_the_series() -> None:
    records = sweep("sdpa", LENGTHS, kernel="flash")
    records[:5] = [replace(record, kernel="math") for record in records[:5]]
    math, flash = series_of(table_of(records))
    assert (math.kernel, math.lengths) == ("math", LENGTHS[:5])
    assert (flash.kernel, flash.lengths) == ("flash", LENGTHS[5:])


def test_a_short_end_before_another_kernel_is_dropped() -> None:
    records = sweep("sdpa", LENGTHS, kernel="flash")
    records[0] = replace(records[0], kernel="math")
    [flash] = series_of(table_of(records))
    assert flash.lengths == LENGTHS[1:]


def test_a_kernel_not_seen_is_not_a_change() -> None:
    records = sweep("sdpa", OCTAVES, kernel="flash")
    records[0] = replace(records[0], kernel=None)
    records[-1] = replace(records[-1], kernel=None, status=Status.OUT_OF_MEMORY)
    [series] = series_of(table_of(records))
    assert (series.kernel, series.lengths) == ("flash", OCTAVES)


def test_every_series_is_fitted_in_one_order() -> None:
    records = sweep("naive") + sweep("tiled") + sweep("naive", case={"heads": 16})
    fits = fits_of(table_of(records))
    names = [(fit.series.key.backend, fit.series.key.heads) for fit in fits]
    assert names == [("naive", 4), ("naive", 16), ("tiled", 4)]
    assert fits_of(table_of(reversed(records))) == fits
    assert fits[0].time.exponent == pytest.approx(2, abs=0.1)
    assert fits[0].memory.score_matrices(batch=1, heads=4, itemsize=4) == pytest.approx(2)


def test_nothing_measured_is_nothing_fitted() -> None:
    assert fits_of(table_of()) == []
    lost = failed_sweep("flash-attn", status=Status.UNAVAILABLE, reason="not installed")
    [fit] = fits_of(table_of(lost))
    assert (fit.time, fit.memory) == (None, None)


def test_a_sliding_window_is_fitted_from_four_windows_on() -> None:
    window = {"mask": "sliding-window", "window": 128}
    [fit] = fits_of(table_of(sweep("flex", case=window, seconds=linear_time)))
    assert fit.series.lengths == LENGTHS
    assert fit.time.lengths == LENGTHS[6:]


def test_medians_read_back_from_a_file_are_the_same(tmp_path: Path) -> None:
    table = table_of(sweep("naive", OCTAVES))
    table.to_parquet(tmp_path / "cells.parquet")
    assert series_of(pd.read_parquet(tmp_path / "cells.parquet")) == series_of(table)
