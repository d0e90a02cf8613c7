"""Coverage: how often the interval that is shown holds the true median, by simulation."""

from __future__ import annotations

import pytest

from tests.support.interval_coverage import Law, cover, laws, share
from tests.support.simulated_machine import held_when_stopped

TRIALS = 1000
LEAST = 0.92
LAWS = {law.name: law for law in laws()}
APART = [name for name in LAWS if "autocorrelated" in name or "process" in name]


@pytest.mark.parametrize("count", [12, 60])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_the_interval_over_three_processes_holds_the_median(law: Law, count: int) -> None:
    seen = cover(law, count=count, replicas=3, trials=TRIALS)
    assert seen.across >= LEAST * TRIALS, share(seen.across, TRIALS)


@pytest.mark.parametrize("name", [name for name in LAWS if name not in APART])
def test_one_process_is_enough_where_samples_are_independent(name: str) -> None:
    seen = cover(LAWS[name], count=30, replicas=1, trials=TRIALS)
    assert seen.within == seen.across >= LEAST * TRIALS


@pytest.mark.parametrize("name", APART)
def test_one_process_is_not_where_samples_follow_or_processes_differ(name: str) -> None:
    """This is why a process is the unit of replication: a tight interval that is wrong."""
    seen = cover(LAWS[name], count=30, replicas=1, trials=TRIALS)
    assert seen.within == seen.across < 0.85 * TRIALS


@pytest.mark.parametrize("replicas", [4, 5, 6, 8])
def test_more_processes_hold_it_too(replicas: int) -> None:
    law = LAWS["processes differ by 3 %"]
    seen = cover(law, count=60, replicas=replicas, trials=TRIALS)
    assert seen.across >= LEAST * TRIALS, share(seen.across, TRIALS)


def test_two_processes_promise_less() -> None:
    """Two values hold the truth between them in half of all cases: what the page says."""
    seen = cover(LAWS["processes differ by 3 %"], count=60, replicas=2, trials=TRIALS)
    assert 0.5 * TRIALS < seen.across < 0.8 * TRIALS


def test_stopping_as_soon_as_it_is_narrow_costs_little() -> None:
    """A rule that looks again and again stops at lucky samples; from 5 samples on by 2 %."""
    within, across = held_when_stopped(0.02, trials=500)
    assert within >= 0.9 * 500, share(within, 500)
    assert across >= LEAST * 500, share(across, 500)
