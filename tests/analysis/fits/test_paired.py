"""Ratios of rounds against cases worked by hand and against plain resampling."""

from __future__ import annotations

import numpy as np
import pytest

from harness.analysis.fits.ratio import paired_ratio, round_ratio


def test_drift_that_hits_both_cells_cancels_in_their_ratio() -> None:
    drift = [[1.0, 1.5, 2.0, 4.0, 3.0], [2.0, 2.5, 2.0, 9.0, 8.0], [1.0, 1.0, 7.0, 1.0, 2.0]]
    double = [[2 * value for value in row] for row in drift]
    assert paired_ratio(double, drift) == pytest.approx((2.0, 2.0, 2.0))


def test_replicas_that_disagree_widen_the_ratio_to_all_of_them() -> None:
    bottom = [[1.0] * 50] * 3
    top = [[2.0] * 50, [3.0] * 50, [4.0] * 50]
    assert paired_ratio(top, bottom) == pytest.approx((3.0, 2.0, 4.0))


def test_rounds_that_only_one_cell_has_are_left_out() -> None:
    assert paired_ratio([[2.0, 2.0, 2.0]], [[1.0, 1.0, 1.0, 50.0, 50.0, 50.0, 50.0]])[0] == 2.0


def test_the_ratio_of_a_cell_with_itself_mostly_holds_one() -> None:
    generator = np.random.default_rng(2)
    held = 0
    for seed in range(60):
        one, other = np.exp(generator.normal(0, 0.03, (2, 5, 30)))
        _, low, high = paired_ratio(one.tolist(), other.tolist(), seed=seed, resamples=300)
        held += low <= 1 <= high
        assert high - low < 0.06
    assert held >= 54


def test_the_same_seed_gives_the_same_interval() -> None:
    one, other = np.exp(np.random.default_rng(3).normal(0, 0.1, (2, 3, 20))).tolist()
    assert paired_ratio(one, other, seed=4) == paired_ratio(one, other, seed=4)
    assert paired_ratio(one, other, seed=4) != paired_ratio(one, other, seed=5)


@pytest.mark.parametrize(
    ("top", "bottom", "message"),
    [
        ([], [], "same replicas"),
        ([[1.0]], [[1.0], [1.0]], "same replicas"),
        ([[1.0]], [[0.0]], "above 0"),
        ([[]], [[1.0]], "finite numbers"),
    ],
)
def test_cells_that_cannot_be_paired_are_refused(
    top: list[list[float]], bottom: list[list[float]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        paired_ratio(top, bottom)


def test_a_ratio_of_rounds_is_blind_to_what_slows_both() -> None:
    """The ratio of the medians would be 3 / 2: no round had it."""
    assert round_ratio([2.0, 20.0, 3.0, 7.0], [1.0, 10.0, 1.5, 3.5, 99.0]) == 2.0


@pytest.mark.parametrize("count", [1, 2, 5, 8, 41])
def test_resampled_medians_are_those_of_draws(count: int) -> None:
    values = np.sort(np.exp(np.random.default_rng(5).normal(0, 0.1, count)))
    _, low, high = paired_ratio([values], [[1.0] * count], resamples=20_000)
    draws = np.random.default_rng(6).choice(values, size=(20_000, count))
    expected = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    assert (low, high) == pytest.approx(tuple(expected), rel=0.005)
