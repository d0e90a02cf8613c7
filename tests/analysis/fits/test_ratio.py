"""Ratios of two cells: paired by process, honest with few processes, never across devices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from harness.analysis.claims.evidence import judge_above_one
from harness.analysis.fits.ratio import Ratio, paired_ratio, rounds_by_cell, time_ratio
from harness.cases.case import Case
from tests.support.sweep_tables import dense, measured, slow

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


@pytest.mark.parametrize("replicas", [3, 7])
def test_processes_that_differ_are_covered_and_a_bootstrap_alone_does_not(
    replicas: int,
) -> None:
    """Student's t holds 95 %, three values 75 %; 400 trials stray by 2 and 4 %."""
    draws = np.exp(0.02 * np.random.default_rng(7).standard_normal((400, replicas)))
    bottom = replace(FAST, replica_medians_s=(1.0,) * replicas)
    held = alone = 0
    for draw in draws.tolist():
        ratio = time_ratio(replace(SLOW, replica_medians_s=tuple(draw)), bottom)
        held += ratio.low <= 1 <= ratio.high
        _, low, high = paired_ratio([[each] for each in draw], [[1.0]] * replicas, resamples=200)
        alone += low <= 1 <= high
    assert held >= 370
    assert alone < held
    if replicas == 3:
        assert 270 <= alone <= 330


def made_rounds(factor: float) -> list[list[float]]:
    wave = [1.0, 1.4, 2.0, 1.1, 1.7]
    return [[factor * slow * each for each in wave] for slow in (1.0, 1.2, 1.1)]


def test_what_slows_a_round_cancels() -> None:
    one, other = (
        replace(measured(name, CASE), replica_medians_s=tuple(map(np.median, made_rounds(scale))))
        for name, scale in (("naive", 1.0), ("tiled", 2.0))
    )
    slower = [[2.0 * each for each in row[::-1]] for row in made_rounds(1.0)]
    both = {one.cell: made_rounds(1.0), other.cell: made_rounds(2.0)}
    ratio = time_ratio(other, one, rounds=both)
    assert ratio.paired
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2, 2, 2))
    # The same samples out of step: the medians still say 2, the rounds that nothing is sure.
    assert time_ratio(other, one).high == pytest.approx(2)
    assert time_ratio(other, one, rounds=both | {other.cell: slower}).high > 2.5


def test_rounds_of_another_visit_are_no_rounds() -> None:
    """A longer case ran at another time: only the processes pair."""
    one = replace(measured("naive", CASE), replica_medians_s=(1.0, 1.2, 1.1))
    longer = replace(measured("naive", Case.square(1024)), replica_medians_s=(2.0, 2.4, 2.2))
    shuffled = {one.cell: made_rounds(1.0), longer.cell: [[9.0]] * 3}
    ratio = time_ratio(longer, one, rounds=shuffled)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2, 2, 2))


def test_rounds_that_lack_a_replica_are_not_used() -> None:
    one, other = (
        replace(measured(name, CASE), replica_medians_s=(1.0, 1.2, 1.1))
        for name in ("naive", "tiled")
    )
    rounds = {one.cell: [[5.0]] * 2, other.cell: [[1.0]] * 3}
    assert time_ratio(other, one, rounds=rounds).value == pytest.approx(1)


def test_rounds_come_from_the_table_of_samples_in_order() -> None:
    rows = [("b", 1, 0, 4.0), ("a", 0, 1, 2.0), ("a", 0, 0, 1.0), ("b", 0, 0, 3.0)]
    table = pd.DataFrame(rows, columns=["cell", "replica", "index", "seconds"])
    assert rounds_by_cell(table) == {"a": [[1.0, 2.0]], "b": [[3.0], [4.0]]}
    assert rounds_by_cell(table.iloc[:0]) == {}


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
