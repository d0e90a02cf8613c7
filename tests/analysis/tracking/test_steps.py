"""Change points: creeping and lasting steps are found, single nights and noise are not."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.tracking.changes import all_steps, newest_steps
from harness.analysis.tracking.gate import clipped


def noise(runs: int = 45, cells: int = 200, *, spread: float = 0.006, seed: int = 5) -> np.ndarray:
    return spread * np.random.default_rng(seed).standard_normal((runs, cells))


def test_noise_alone_has_no_step() -> None:
    for seed in range(10):
        assert not newest_steps(noise(seed=seed)).found.any()


def test_a_creep_of_half_a_percent_a_night_is_found_by_the_tenth() -> None:
    series = noise()
    series[-10:, 3] += 0.005 * np.arange(1, 11)
    found = newest_steps(series)
    assert list(np.flatnonzero(found.found)) == [3]
    assert found.before[3] == pytest.approx(0, abs=0.005)
    assert found.shift[3] == pytest.approx(0.04, abs=0.01)
    assert 5 <= found.after[3] <= 10


def test_a_step_older_than_15_runs_is_no_news() -> None:
    series = noise()
    series[-22:, 3] += 0.06
    assert not newest_steps(series).found[3]
    assert all_steps(series[:, 3]) == [23]


def test_one_bad_night_is_clipped_and_makes_no_step() -> None:
    series = noise()
    series[-6, 3] += 1.0
    assert clipped(series)[-6, 3] < 0.05
    assert not newest_steps(series).found.any()


def test_a_lasting_step_survives_clipping() -> None:
    series = noise(spread=0.003)
    series[30:, 0] += 0.5
    assert clipped(series)[31:, 0].min() > 0.45


def test_missing_runs_do_not_matter_and_an_empty_cell_has_no_step() -> None:
    series = noise()
    series[-12:, 3] += 0.06
    series[::4, 3] = np.nan
    series[:, 4] = np.nan
    found = newest_steps(series)
    assert list(np.flatnonzero(found.found)) == [3]


def test_too_short_a_history_is_not_judged() -> None:
    series = noise(runs=14)
    series[-5:] += 1
    assert not newest_steps(series).found.any()


def test_every_step_of_one_cell_is_listed_up_and_down() -> None:
    series = noise(runs=90, cells=1, spread=0.004)[:, 0]
    series[30:] += 0.08
    series[60:] -= 0.05
    assert all_steps(series) == [30, 60]
    assert all_steps(noise(runs=90, cells=1)[:, 0]) == []
    assert all_steps(np.zeros(3)) == []
