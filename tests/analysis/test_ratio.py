"""Ratios of two cells: paired by process, honest with few processes, never across devices."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.analysis.ratio import Ratio, judge_above_one, student_interval, time_ratio
from harness.case import Case
from tests.analysis.tables import dense, measured, slow

CASE = Case.square(512)
FAST = measured("naive", CASE, seconds=dense)
SLOW = measured("rowwise", CASE, seconds=slow)


def test_what_slows_a_process_cancels() -> None:
    medians = (1.0, 1.3, 1.1)
    bottom = replace(FAST, replica_medians_s=medians)
    top = replace(SLOW, replica_medians_s=tuple(2 * value for value in medians))
    ratio = time_ratio(top, bottom)
    assert ratio.paired
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2, 2, 2))


def test_few_processes_have_a_wide_interval() -> None:
    low, high = student_interval((2.0, 2.2), (1.0, 1.0))
    assert low < 1.5
    assert high > 3
    bottom = replace(FAST, replica_medians_s=(1.0, 1.0, 1.0))
    top = replace(SLOW, replica_medians_s=(2.0, 2.1, 2.2))
    ratio = time_ratio(top, bottom)
    assert ratio.low < 2
    assert ratio.high > 2.2
    assert ratio.value == pytest.approx(2.1)


def test_many_processes_are_bootstrapped() -> None:
    bottom = replace(FAST, replica_medians_s=(1.0,) * 8)
    top = replace(SLOW, replica_medians_s=tuple(2 + step / 100 for step in range(8)))
    ratio = time_ratio(top, bottom)
    assert 2 <= ratio.low < ratio.value < ratio.high <= 2.07


def test_two_devices_are_never_compared() -> None:
    with pytest.raises(ValueError, match="two devices are never compared"):
        time_ratio(replace(SLOW, device="cuda"), FAST)


def test_unequal_replicas_fall_back_to_intervals() -> None:
    bottom = replace(FAST, replica_medians_s=(1.0,))
    ratio = time_ratio(SLOW, bottom)
    assert not ratio.paired
    assert ratio.low == pytest.approx(SLOW.time_low_s / FAST.time_high_s)
    assert ratio.high == pytest.approx(SLOW.time_high_s / FAST.time_low_s)


def test_one_replica_without_an_interval_says_nothing() -> None:
    bare = {"replica_medians_s": (1.0,), "time_low_s": None, "time_high_s": None}
    ratio = time_ratio(replace(SLOW, **bare), replace(FAST, **bare))
    assert ratio.low == 0
    assert judge_above_one([ratio], "time").verdict == "inconclusive"


@pytest.mark.parametrize(
    ("bounds", "word"),
    [
        ([(1.1, 1.3), (1.01, 2.0)], "supported"),
        ([(1.1, 1.3), (0.9, 2.0)], "inconclusive"),
        ([(1.1, 1.3), (0.8, 0.9)], "refuted"),
        ([(0.9, 1.3), (0.8, 0.9)], "refuted"),
        ([], "inconclusive"),
    ],
)
def test_every_length_must_lie_above_one(bounds: list[tuple[float, float]], word: str) -> None:
    ratios = [
        Ratio(64 * (index + 1), (low + high) / 2, low, high, paired=True)
        for index, (low, high) in enumerate(bounds)
    ]
    assert judge_above_one(ratios, "time").verdict == word
