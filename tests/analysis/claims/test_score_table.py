"""Bytes of the score matrix: the article's figures, and what was measured beside them."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from harness.analysis.claims.memory import predicted_scores
from harness.records.record import Status
from tests.support.sweep_tables import OCTAVES, no_matrix, sweep, table_of


@pytest.mark.parametrize(
    ("length", "heads", "predicted"),
    [
        (1000, 1, 2_000_000),
        (8000, 1, 128_000_000),
        (32000, 1, 2_048_000_000),
        (1000, 8, 16_000_000),
        (8000, 8, 1_024_000_000),
        (32000, 8, 16_384_000_000),
    ],
)
def test_the_article_is_right_about_bytes(length: int, heads: int, predicted: int) -> None:
    table = predicted_scores(table_of())
    [row] = table[(table["length"] == length) & (table["heads"] == heads)].to_dict("records")
    assert row["predicted_bytes"] == predicted
    assert row["itemsize"] == 2
    assert pd.isna(row["measured_bytes"])
    assert pd.isna(row["matrices"])


def test_measured_peaks_stand_beside_the_prediction() -> None:
    table = predicted_scores(table_of(sweep("naive", OCTAVES), sweep("tiled", OCTAVES)))
    measured = table[table["measured_bytes"].notna()]
    assert list(measured["length"]) == list(OCTAVES)
    assert list(measured["matrices"]) == [2.0] * len(OCTAVES)
    assert set(measured["device"]) == {"cpu"}
    assert len(table) == len(OCTAVES) + 6
    assert list(table["length"]) == sorted(table["length"])
    assert list(table.columns[:6]) == [
        "length", "heads", "itemsize", "predicted_bytes", "measured_bytes", "matrices",
    ]  # fmt: skip


def test_a_measured_length_of_the_article_replaces_its_prediction() -> None:
    half = {"dtype": "float16", "heads": 8}
    table = predicted_scores(table_of(sweep("naive", (1000,), case=half)))
    assert len(table) == 6
    [row] = table[(table["length"] == 1000) & (table["heads"] == 8)].to_dict("records")
    assert row["measured_bytes"] == 32_000_000


def test_only_what_was_measured_counts() -> None:
    lost = [
        replace(record, status=Status.OUT_OF_MEMORY) for record in sweep("naive", peak=no_matrix)
    ]
    assert predicted_scores(table_of(lost))["measured_bytes"].isna().all()
