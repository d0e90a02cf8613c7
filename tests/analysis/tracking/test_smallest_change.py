"""What an A/A run promises, tried out: the change it names is found, half of it is not."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special

from harness.analysis.tracking.change import (
    between_floor,
    change_of,
    power_factor,
    smallest_change,
    threshold,
)
from harness.analysis.tracking.noise import process_spread

Array = NDArray[np.float64]
COMPARISONS = 2000
# Three standard errors of a share of 0.8 among 2,000: what chance may take from it.
CHANCE = 0.027


def test_the_floor_is_students_t_times_the_error_of_two_runs() -> None:
    # t(0.975, 4) = 2.7764 and sqrt(2 / 3) = 0.8165, from a printed table.
    assert between_floor(0.01, 3) == pytest.approx(math.expm1(2.7764 * 0.8165 * 0.01), rel=1e-4)
    # t(0.975, 8) = 2.3060
    assert between_floor(0.2, 5) == pytest.approx(math.expm1(2.3060 * 0.2 * 0.63246), rel=1e-4)


def test_the_threshold_is_five_percent_or_three_floors() -> None:
    assert threshold(0.0) == 0.05
    assert threshold(0.01) == 0.05
    assert threshold(0.02) == pytest.approx(0.06)


def test_with_many_processes_the_factor_is_the_textbook_one() -> None:
    textbook = special.ndtri(0.975) + special.ndtri(0.8)
    assert power_factor(2000) == pytest.approx(textbook, rel=2e-3)
    assert power_factor(3) == pytest.approx(5.95, abs=0.02)
    assert power_factor(3, power=0.95) > power_factor(3) > power_factor(4) > power_factor(10)


def test_more_processes_tell_smaller_changes_and_none_below_five_percent() -> None:
    changes = [smallest_change(0.02, replicas) for replicas in (3, 5, 10, 100)]
    assert changes == sorted(changes, reverse=True)
    assert 0.05 < smallest_change(0.001, 100) < 0.052


def draw(seed: int, spread: float, shared: float, *, replicas: int) -> tuple[Array, Array]:
    """Log medians of both labels: a share of the variance belongs to the process itself."""
    noise = np.random.default_rng(seed).normal(0, spread, (3, COMPARISONS, replicas))
    common = noise[0] * math.sqrt(shared)
    return common + noise[1] * math.sqrt(1 - shared), common + noise[2] * math.sqrt(1 - shared)


def seen_spreads(spread: float, shared: float, *, replicas: int) -> list[float]:
    """What as many A/A runs believe of the same cell."""
    own, other = draw(1, spread, shared, replicas=replicas)
    return [process_spread(*pair) for pair in zip(np.exp(own), np.exp(other), strict=True)]


@pytest.mark.parametrize(
    ("replicas", "shared", "most"), [(3, 1.0, 0.83), (3, 0.0, 1.0), (5, 1.0, 0.83), (8, 0.5, 0.9)]
)
def test_the_factor_gives_the_power_of_a_t_test_that_knows_its_spread_from_an_a_a_run(
    replicas: int, shared: float, most: float
) -> None:
    """No more than 80 % where all noise is the process's own, as the factor supposes."""
    error = np.array(seen_spreads(0.03, shared, replicas=replicas)) * math.sqrt(2 / replicas)
    old, _ = draw(2, 0.03, 0.0, replicas=replicas)
    new, _ = draw(3, 0.03, 0.0, replicas=replicas)
    gap = new.mean(1) - old.mean(1) + power_factor(replicas) * error
    own = np.sqrt((old.var(1, ddof=1) + new.var(1, ddof=1)) / replicas)
    power = float(np.mean(gap > special.stdtrit(2 * (replicas - 1), 0.975) * own))
    assert 0.8 - CHANCE <= power <= most


@pytest.mark.parametrize(
    ("replicas", "spread", "shared"), [(3, 0.03, 1.0), (3, 0.004, 0.5), (5, 0.01, 0.5)]
)
def test_a_planted_change_is_found_by_a_comparison_and_half_of_it_is_not(
    replicas: int, spread: float, shared: float
) -> None:
    """Every tenth of the draws, compared as two runs are."""
    seen = seen_spreads(spread, shared, replicas=replicas)
    old, _ = draw(2, spread, 0.0, replicas=replicas)
    new, _ = draw(3, spread, 0.0, replicas=replicas)
    words: dict[float, list[str]] = {0.0: [], 0.5: [], 1.0: []}
    for known, before, after in list(zip(seen, old, new, strict=True))[::10]:
        floor = between_floor(known, replicas)
        change = math.log1p(smallest_change(known, replicas))
        for share, said in words.items():
            processes = [[[second] for second in np.exp(logs)] for logs in
                         (before, after + share * change)]  # fmt: skip
            said.append(change_of([processes[0]], processes[1], floor=floor).verdict)
    found = {share: said.count("slower") / len(said) for share, said in words.items()}
    # Three standard errors of a share of 0.8 among 200.
    assert found[1.0] >= 0.8 - 0.085
    assert found[0.5] <= 0.1
    assert found[0.0] + words[0.0].count("faster") / len(words[0.0]) <= 0.05


def test_the_threshold_is_that_of_a_comparison() -> None:
    quiet = change_of([[[1.0]] * 3], [[1.0]] * 3, floor=0.04)
    assert quiet.threshold == pytest.approx(1 + threshold(0.04))
