"""Sixty made-up nights: how often it cries wolf, and how surely it finds what was planted."""

from __future__ import annotations

from statistics import fmean

import pytest

from tests.support.night_draws import Plant
from tests.support.simulated_nights import Machine, alarms, false_alarms, found_creep, found_steps

SEEDS = (0, 1)
MACHINES = [Machine(seed) for seed in SEEDS]


def share(found: list, *, tracked: bool = False) -> float:
    return fmean(one.found for one in found if one.tracked or not tracked)


def test_false_alarms_are_rare() -> None:
    counts = [count for machine in MACHINES for count in false_alarms(machine)]
    assert len(counts) == 100
    assert fmean(counts) <= 0.2


@pytest.mark.parametrize(("size", "least"), [(0.05, 0.90), (0.10, 0.99)])
def test_a_step_is_found_in_the_first_night(size: float, least: float) -> None:
    found = [
        one
        for machine in MACHINES
        for one in found_steps(machine, size, nights=range(20, 60, 4), each=6)
    ]
    assert len(found) == 120
    assert share(found, tracked=True) >= least
    assert fmean(one.tracked for one in found) > 0.97


def test_a_slow_creep_is_found_within_15_nights() -> None:
    found = [
        one for machine in MACHINES for one in found_creep(machine, 0.005, start=35, count=10)
    ]
    assert all(one.found and one.nights <= 15 for one in found if one.tracked)


def test_what_has_no_noise_is_found_at_once() -> None:
    plants = [Plant("bigger", 45, 11, 0.01), Plant("gone", 45, 12), Plant("unsupported", 45, 13)]
    for machine in MACHINES:
        wanted = {machine.names[plant.cell] for plant in plants}
        assert wanted <= alarms(machine.judged(45, plants))


def test_a_change_that_is_not_there_is_not_found() -> None:
    """The simulation itself can fail: a step of 1 % is below every threshold."""
    found = found_steps(MACHINES[0], 0.01, nights=range(20, 60, 10), each=6)
    assert share(found) == 0.0
