"""The gate: what it lets through, what it stops, and what it does not dare to judge."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.analysis.tracking.gate import ENOUGH, discoveries, gate, one_sided, spread_of

RUNS, CELLS = 30, 300


def history(*, spread: float = 0.005, runs: int = RUNS, cells: int = CELLS) -> np.ndarray:
    return spread * np.random.default_rng(0).standard_normal((runs, cells))


def test_a_quiet_night_has_no_candidate_and_a_step_of_5_percent_is_one() -> None:
    past, now = history(), 0.005 * np.random.default_rng(1).standard_normal(CELLS)
    assert not gate(past, now).candidate.any()
    now[7] = math.log(1.05)
    found = gate(past, now)
    assert list(np.flatnonzero(found.candidate)) == [7]
    assert found.shift[7] == pytest.approx(math.log(1.05) - np.median(past[:, 7]))
    assert not found.faster.any()


def test_what_got_faster_is_no_candidate() -> None:
    now = np.zeros(CELLS)
    now[3] = math.log(0.9)
    found = gate(history(), now)
    assert list(np.flatnonzero(found.faster)) == [3]
    assert not found.candidate.any()


def test_below_3_percent_nothing_is_found_however_quiet_the_cell() -> None:
    now = np.full(4, 0.0)
    now[0], now[1] = math.log(1.029), math.log(1.031)
    assert list(gate(np.zeros((30, 4)), now).candidate) == [False, True, False, False]


def test_a_noisy_cell_is_not_tracked_and_never_a_candidate() -> None:
    past = history(cells=4)
    past[:, 2] = 0.05 * np.random.default_rng(2).standard_normal(RUNS)
    found = gate(past, np.full(4, 0.5))
    assert list(found.tracked) == [True, True, False, True]
    assert not found.candidate[2]


def test_fewer_than_ten_runs_are_not_judged() -> None:
    past = history(cells=2)
    past[: RUNS - ENOUGH + 1, 1] = np.nan
    found = gate(past, np.full(2, 0.1))
    assert list(found.runs) == [30, 9]
    assert list(found.candidate) == [True, False]
    assert math.isnan(found.shift[1])


def test_missing_runs_are_left_out_of_level_and_spread() -> None:
    past = history(cells=3)
    holes = past.copy()
    holes[5:15, 0] = np.nan
    found, whole = (
        gate(holes, np.full(3, 0.06)),
        gate(np.delete(past, range(5, 15), 0), np.zeros(3)),
    )
    assert found.level[0] == pytest.approx(whole.level[0])
    assert found.spread[0] == pytest.approx(whole.spread[0])
    assert found.runs[0] == 20


def test_only_the_last_30_runs_count() -> None:
    old = np.full((50, 2), 5.0)
    assert list(gate(np.vstack([old, np.zeros((30, 2))]), np.zeros(2)).level) == [0, 0]


def test_what_one_run_in_ten_did_before_is_no_news() -> None:
    """A cell that now and then takes 4 % more is not found for doing so again."""
    past = np.zeros((30, 300))
    past[::6] = 0.045
    assert not gate(past, np.full(300, 0.05)).candidate.any()


def test_a_measured_noise_floor_raises_the_threshold() -> None:
    now = np.full(2, math.log(1.06))
    found = gate(history(cells=2), now, floors=np.array([np.nan, 0.08]))
    assert list(found.candidate) == [True, False]
    assert found.threshold[1] == pytest.approx(math.log(1.08))


def test_a_cell_missing_from_the_run_has_a_level_and_no_shift() -> None:
    found = gate(history(cells=2) + 1, np.array([np.nan, 1.0]))
    assert found.level[0] == pytest.approx(1, abs=0.01)
    assert math.isnan(found.shift[0])
    assert list(found.tracked) == [False, True]


def test_the_spread_is_the_largest_of_four() -> None:
    flat = np.zeros((30, 1))
    assert spread_of(flat)[0] == 0.003
    once = flat.copy()
    once[4] = 1.0
    assert spread_of(once)[0] == pytest.approx(0.5 * once.std())
    normal = np.random.default_rng(3).standard_normal((4000, 1))
    assert spread_of(normal)[0] == pytest.approx(1, rel=0.05)


def test_the_odds_are_those_of_students_t() -> None:
    odds = one_sided(np.array([0.01]), np.array([0.01]), np.array([10]))
    # t = 1 / sqrt(1.1) = 0.9535 with 9 degrees of freedom (R: 1 - pt(0.9535, 9)).
    assert odds[0] == pytest.approx(0.1826, abs=1e-3)


def test_discoveries_are_held_over_all_cells() -> None:
    odds = np.array([1e-5, 0.04, 0.2, 0.5])
    assert list(discoveries(odds, np.ones(4, bool))) == [True, False, False, False]
    assert list(discoveries(odds, np.array([False, True, False, False]))) == [
        False, True, False, False,
    ]  # fmt: skip
    assert not discoveries(odds, np.zeros(4, bool)).any()


@pytest.mark.parametrize("size", [0.05, 0.5, 2.0])
def test_a_lasting_step_is_a_candidate_for_15_nights_and_then_the_level(size: float) -> None:
    series = history(runs=80)
    series[45:, 7] += math.log1p(size)
    found = [bool(gate(series[:night], series[night]).candidate[7]) for night in range(45, 80)]
    assert found == [True] * 15 + [False] * 20


def test_what_got_faster_for_15_nights_is_the_level_that_counts() -> None:
    series = history(runs=62)
    series[45:, 7] += math.log(0.7)
    series[61, 7] += math.log(1.06)
    assert gate(series[:61], series[61]).candidate[7]


def test_one_bad_night_does_not_blunt_the_gate() -> None:
    past, now = history(), np.zeros(CELLS)
    past[12, 7] = math.log(3)
    now[7] = math.log(1.05)
    found = gate(past, now)
    assert found.candidate[7]
    assert found.threshold[7] == pytest.approx(math.log(1.03))


def test_missing_nights_are_no_new_level() -> None:
    series = history(runs=60)
    series[45:, 7] = np.nan
    now = np.zeros(CELLS)
    now[7] = math.log(1.2)
    assert gate(series, now).candidate[7]
