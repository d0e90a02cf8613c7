"""Which process of a cell is followed from run to run."""

from __future__ import annotations

import numpy as np

from harness.analysis.tracking.gate import followed_series


def processes(*, gap: float, odds: float = 0.35, runs: int = 31) -> np.ndarray:
    """Return [run, 3, 2]: a plain cell, and one whose processes take one of two modes."""
    random = np.random.default_rng(4)
    logs = 0.004 * random.standard_normal((runs, 3, 2))
    logs[:, :, 1] += gap * (random.uniform(size=(runs, 3)) < odds)
    return logs


def test_a_cell_of_two_modes_is_followed_by_its_fastest_process() -> None:
    logs = processes(gap=0.2)
    series, chosen = followed_series(np.median(logs, axis=1), logs)
    assert list(chosen) == [False, True]
    assert (series[:, 0] == np.median(logs[:, :, 0], axis=1)).all()
    assert (series[:, 1] == logs[:, :, 1].min(axis=1)).all()


def test_a_small_gap_is_left_to_the_median() -> None:
    logs = processes(gap=0.01)
    assert not followed_series(np.median(logs, axis=1), logs)[1].any()


def test_the_run_to_judge_has_no_say() -> None:
    logs = processes(gap=0.0)
    logs[-1] += 10
    assert not followed_series(np.median(logs, axis=1), logs)[1].any()


def test_without_processes_the_medians_stay() -> None:
    medians = processes(gap=0.3)[:, 0, :]
    series, chosen = followed_series(medians, np.full((31, 3, 2), np.nan))
    assert not chosen.any()
    assert (series == medians).all()
