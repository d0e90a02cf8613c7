"""The ratio of two runs with its interval."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.tracking.change import change_of, welch_reach


def run(level: float, *, spread: float = 0.004, samples: int = 20, seed: int = 0) -> list:
    """Return three processes of so many samples; processes differ by `spread`."""
    random = np.random.default_rng(seed)
    middles = level * np.exp(spread * random.standard_normal(3))
    return [middle * np.exp(0.01 * random.standard_normal(samples)) for middle in middles]


def test_a_tenth_more_is_slower_and_the_interval_holds_it() -> None:
    change = change_of([run(1.0)], run(1.1, seed=1))
    assert change.verdict == "slower"
    assert change.low < 1.1 < change.high
    assert change.ratio == pytest.approx(1.1, rel=0.02)
    assert change_of([run(1.1)], run(1.0, seed=1)).verdict == "faster"


def test_nothing_changed_is_the_same() -> None:
    assert change_of([run(1.0)], run(1.0, seed=1)).verdict == "same"


def test_a_noise_floor_widens_what_counts_as_the_same() -> None:
    change = change_of([run(1.0)], run(1.1, seed=1), floor=0.05)
    assert change.threshold == pytest.approx(1.15)
    assert change.verdict == "same"


def test_two_modes_leave_it_unclear() -> None:
    """A cell whose processes take one of two modes has no verdict, however clear each one is."""
    old = [[1.0] * 9, [1.0] * 9, [1.36] * 9]
    new = [[1.36] * 9, [1.36] * 9, [1.0] * 9]
    change = change_of([old], new)
    assert change.ratio == pytest.approx(1.36)
    assert change.verdict == "unclear"


def test_three_equal_medians_by_luck_are_not_taken_for_certainty() -> None:
    """Three processes within 0.01 % still leave the 0.3 % that one process is known to."""
    change = change_of([[[1.0], [1.0], [1.0]]], [[1.0], [1.0], [1.0]])
    assert change.low < 0.995
    assert change.high > 1.005


def test_one_process_says_nothing_of_how_processes_differ() -> None:
    change = change_of([[[1.0] * 20]], [[2.0] * 20])
    assert change.ratio == 2
    assert change.verdict == "unclear"
    assert "one process" in (change.caveat or "")


def test_several_old_runs_count_as_runs() -> None:
    old = [run(level, seed=seed) for seed, level in enumerate((1.0, 1.02, 0.98, 1.01))]
    assert change_of(old, run(1.0, seed=9)).verdict == "same"
    assert change_of(old, run(1.2, seed=9)).verdict == "slower"


def test_few_false_verdicts_at_one_percent_between_processes() -> None:
    words = [
        change_of([run(1, spread=0.01, seed=seed)], run(1, spread=0.01, seed=seed + 500)).verdict
        for seed in range(200)
    ]
    assert words.count("slower") + words.count("faster") == 0
    assert words.count("same") > 150


def test_the_interval_covers_the_truth() -> None:
    """Of 200 pairs 95 % are to be covered, less what chance takes: 3 binomial deviations."""
    held = 0
    for seed in range(200):
        change = change_of(
            [run(1, spread=0.02, seed=seed)], run(1.2, spread=0.02, seed=seed + 900)
        )
        held += change.low <= 1.2 <= change.high
    assert held >= 181


def test_welchs_reach_is_the_textbooks() -> None:
    # Equal variances 1e-4 and three values each: 4 degrees, t = 2.776, error sqrt(2e-4 / 3).
    logs = [-0.01, 0.0, 0.01]
    assert np.log(welch_reach(logs, logs)) == pytest.approx(2.776 * (2e-4 / 3) ** 0.5, rel=1e-3)
    assert welch_reach([0.0], logs) == 1.0


def test_with_nine_processes_one_bad_one_does_not_hide_the_rest() -> None:
    """Three runs a side, as in a pull request: medians stand up to a process 50 % off."""
    old = run(1.0) + run(1.0, seed=1) + run(1.0, seed=2)
    new = run(1.0, seed=3) + run(1.0, seed=4) + [[1.5] * 20, *run(1.0, seed=5)[:2]]
    assert change_of([old], new).verdict == "same"
    assert welch_reach([0.0] * 6, [0.1] * 6) == 1.0


def test_with_six_processes_the_interval_still_covers_the_truth() -> None:
    held = 0
    for seed in range(200):
        sides = [run(level, spread=0.02, seed=10 * seed + at) for at, level in
                 enumerate((1, 1, 1.2, 1.2))]  # fmt: skip
        change = change_of([sides[0] + sides[1]], sides[2] + sides[3])
        held += change.low <= 1.2 <= change.high
    assert held >= 181
