"""Intervals of medians against tables and simulation."""

import subprocess
import sys

import numpy as np
import pytest

from harness.analysis.fits.intervals import (
    half_width,
    median_interval,
    replica_summary,
    student_interval,
)


@pytest.mark.parametrize(
    ("count", "level", "first", "last"),
    [
        # Ranks from the usual table (Conover, Practical Nonparametric Statistics).
        (6, 0.95, 1, 6),
        (8, 0.95, 1, 8),
        (9, 0.95, 2, 8),
        (10, 0.95, 2, 9),
        (20, 0.95, 6, 15),
        (20, 0.99, 4, 17),
        (100, 0.95, 40, 61),
    ],
)
def test_the_interval_takes_the_ranks_of_the_table(
    count: int, level: float, first: int, last: int
) -> None:
    samples = np.random.default_rng(0).permutation(count) + 1.0
    assert median_interval(samples, level) == (first, last)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_too_few_samples_give_the_whole_range(count: int) -> None:
    samples = [float(value) for value in range(count, 0, -1)]
    assert median_interval(samples) == (1.0, count)


def test_the_interval_covers_the_median_of_a_skewed_distribution() -> None:
    draws = np.random.default_rng(1).exponential(size=(2000, 20))
    bounds = np.array([median_interval(row) for row in draws])
    held = (bounds[:, 0] <= np.log(2)) & (np.log(2) <= bounds[:, 1])
    # The exact coverage of ranks 6 and 15 is 95.86 %; four standard errors are 1.8 %.
    assert 0.94 < held.mean() < 0.977


def test_half_the_width_is_relative_to_the_median() -> None:
    assert half_width([98.0, 99.0, 100.0, 101.0, 102.0]) == pytest.approx(0.02)
    assert half_width([7.0]) == 0.0


@pytest.mark.parametrize("samples", [[], [1.0, float("nan")], [1.0, float("inf")]])
def test_what_is_no_list_of_numbers_is_refused(samples: list[float]) -> None:
    with pytest.raises(ValueError, match="finite numbers"):
        median_interval(samples)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_outside_0_to_1_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        median_interval([1.0, 2.0], level)


def test_a_relative_width_needs_a_positive_median() -> None:
    with pytest.raises(ValueError, match="median above 0"):
        half_width([0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("medians", "intervals", "expected"),
    [
        # Processes differ by more than each is unsure; six are enough to be taken as they are.
        (
            [1.0, 1.2, 1.1, 1.1, 1.1, 1.1],
            [(0.99, 1.01), (1.19, 1.21), *[(1.09, 1.11)] * 4],
            (1.1, 1.0, 1.2),
        ),
        # Two are taken as they are as well: Student's t of two would say nothing.
        ([1.0, 1.2], [(0.99, 1.01), (1.19, 1.21)], (1.1, 1.0, 1.2)),
        # Each is unsure by more than they differ.
        ([1.0, 1.0, 1.0], [(0.9, 1.05), (0.95, 1.3), (0.99, 1.01)], (1.0, 0.9, 1.3)),
        # Each side for itself.
        ([1.0, 1.5], [(0.8, 1.0), (1.5, 1.5)], (1.25, 1.0, 1.5)),
        ([2.0], [(1.9, 2.2)], (2.0, 1.9, 2.2)),
    ],
)
def test_a_summary_is_as_wide_as_the_wider_of_within_and_between(
    medians: list[float],
    intervals: list[tuple[float, float]],
    expected: tuple[float, float, float],
) -> None:
    assert replica_summary(medians, intervals) == pytest.approx(expected)


@pytest.mark.parametrize(("medians", "intervals"), [([], []), ([1.0, 2.0], [(0.9, 1.1)])])
def test_a_summary_needs_an_interval_for_every_median(
    medians: list[float], intervals: list[tuple[float, float]]
) -> None:
    with pytest.raises(ValueError, match=r"finite numbers|need as many"):
        replica_summary(medians, intervals)


def test_statistics_and_fits_are_light_to_import() -> None:
    heavy = "{'torch', 'pandas', 'scipy.stats', 'scipy.optimize'} & set(sys.modules)"
    fits = "harness.analysis.fits.intervals, harness.analysis.fits.time_fit"
    code = f"import sys, {fits}; print({heavy})"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == "set()", result.stderr


def test_three_processes_that_differ_are_as_unsure_as_student_says() -> None:
    # Student's t of two degrees of freedom is 4.303; the logs are -d, 0 and d.
    medians = [1 / 1.1, 1.0, 1.1]
    centre, low, high = replica_summary(medians, [(value, value) for value in medians])
    reach = 1.1 ** (4.3027 / 3**0.5)
    assert (centre, low, high) == pytest.approx((1.0, 1 / reach, reach), rel=1e-4)


def test_three_processes_that_agree_are_as_unsure_as_each() -> None:
    assert replica_summary([1.0] * 3, [(0.98, 1.03)] * 3) == pytest.approx((1.0, 0.98, 1.03))


@pytest.mark.parametrize("values", [[1.0], [1.0, 0.0], [1.0, -1.0]])
def test_student_needs_two_values_above_zero(values: list[float]) -> None:
    with pytest.raises(ValueError, match="two values above 0"):
        student_interval(values)


def test_no_width_of_a_replica_can_push_the_interval_below_every_sample() -> None:
    medians, intervals = [1.0, 9.0], [(0.9, 1.1), (2.0, 12.0)]
    assert replica_summary(medians, intervals)[1] == 0.9
    assert replica_summary([1.0, 1.1, 9.0], [*intervals, (1.0, 1.2)])[1] > 0
