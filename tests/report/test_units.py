from __future__ import annotations

import math

import pandas as pd
import pytest

from harness.report.words import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (6.96e-5, "69.6 µs"), (9.996e-4, "1.00 ms"), (0.2052, "205 ms"), (12.34, "12.3 s"),
        (2e-7, "0.200 µs"), (1234.5, "1,230 s"), (None, "-"), (math.nan, "-"), (pd.NA, "-"),
        (math.inf, "-"),
    ],
)  # fmt: skip
def test_seconds(value: object, text: str) -> None:
    assert units.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"), (4096, "4,096 B"), (9999, "9,999 B"), (10_000, "10 kB"), (2_000_000, "2 MB"),
        (2_000_384, "2.00 MB"), (999_999, "1.00 MB"), (536_870_912, "537 MB"), (None, "-"),
    ],
)  # fmt: skip
def test_size(value: object, text: str) -> None:
    assert units.size(value) == text


def test_size_keeps_the_articles_figures_exact() -> None:
    sizes = [2 * length**2 for length in (1000, 8000, 32000)]
    assert [units.size(size, digits=4) for size in sizes] == ["2 MB", "128 MB", "2.048 GB"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((2.078, 2.051, 2.112), "2.08 [2.05, 2.11]"),
        ((1.994, 1.992, 1.995), "1.994 [1.992, 1.995]"),
        ((2.1, 1.5, 2.6), "2.1 [1.5, 2.6]"),
        ((100.0, 80.0, 130.0), "100 [80, 130]"),
        ((1.34, 0.9, 2.8), "1.3 [0.9, 2.8]"),
        ((0.17, 0.08, 3.0), "0.17 [0.08, 3.00]"),
        ((2.0, 2.0, 2.0), "2.00 [2.00, 2.00]"),
        ((2.5, None, None), "2.50"),
        ((None, 1.0, 2.0), "-"),
    ],
)
def test_interval_has_the_digits_it_earns(values: tuple[object, ...], text: str) -> None:
    assert units.interval(*values) == text


def test_ratios_rates_and_shares() -> None:
    assert units.ratio(17.04) == "17.0×"
    assert units.ratio_interval(1.86, 1.85, 1.89) == "1.86× [1.85, 1.89]"
    assert units.ratio_interval(None, None, None) == "-"
    assert units.rate(9.51e10) == "95.1 GFLOP/s"
    assert units.rate(9.896e14) == "990 TFLOP/s"
    assert [units.percent(value) for value in (0.012, 0.31, 1.5, None)] == [
        "1.2 %", "31 %", "150 %", "-",
    ]  # fmt: skip


def test_counts_and_durations() -> None:
    assert units.count(1234) == "1,234"
    assert [units.duration(value) for value in (47.6, 192, 7500, None)] == [
        "48 s", "3 min 12 s", "2 h 05 min", "-",
    ]  # fmt: skip


def test_trimmed_figures_for_axes() -> None:
    assert [units.trimmed(text) for text in ("50.0 µs", "100 ms", "2.50 s", "-")] == [
        "50 µs", "100 ms", "2.5 s", "-",
    ]  # fmt: skip
