import os
from pathlib import Path

import pytest

from harness.measure.contention import (
    Snapshot,
    Usage,
    contended,
    core_seconds,
    interrupted,
    snapshot,
    usage,
)

START = Snapshot(0.0, 0.0, 0.0, 0.0, Usage())


def after(*, busy: float, idle: float, steal: float = 0.0, own: float = 1.0) -> Snapshot:
    return Snapshot(1.0, busy, idle, steal, Usage(processor_s=own))


def test_a_lone_process_is_not_contended() -> None:
    assert not contended(START, after(busy=1.02, idle=0.98))
    assert not contended(START, after(busy=2.0, idle=0.0, own=2.0))


def test_a_neighbour_on_a_free_core_is_no_contention() -> None:
    assert not contended(START, after(busy=1.6, idle=0.4))


def test_a_neighbour_without_a_free_core_is() -> None:
    assert contended(START, after(busy=2.0, idle=0.0, own=1.5))


def test_steal_counts_above_five_percent_of_the_busy_time() -> None:
    assert contended(START, after(busy=1.0, idle=1.0, steal=0.1))
    assert not contended(START, after(busy=1.0, idle=1.0, steal=0.02))


def test_a_visit_shorter_than_the_counters_says_nothing() -> None:
    assert not contended(START, Snapshot(0.05, 0.1, 0.0, 0.05, Usage()))


def test_switches_count_by_rate_and_number() -> None:
    assert interrupted(100, 1.0)
    assert not interrupted(18, 1.0)
    assert not interrupted(2, 0.001)


def test_own_cores_are_added_up(tmp_path: Path) -> None:
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("needs an affinity")
    core = min(os.sched_getaffinity(0))
    stat = tmp_path / "stat"
    stat.write_text(f"cpu  9 9 9 9 9 9 9 9 0 0\ncpu{core} 100 0 50 800 50 5 5 20 0 0\nintr 5\n\n")
    tick = os.sysconf("SC_CLK_TCK")
    assert core_seconds(stat) == (160 / tick, 850 / tick, 20 / tick)


@pytest.mark.parametrize("text", [None, "", "intr 1 2\n"])
def test_a_system_that_does_not_tell_is_quiet(tmp_path: Path, text: str | None) -> None:
    stat = tmp_path / "stat"
    if text is not None:
        stat.write_text(text)
    assert core_seconds(stat) == (0.0, 0.0, 0.0)
    assert not contended(snapshot(stat), snapshot(stat))


def test_usage_grows_with_touched_pages() -> None:
    before = usage()
    block = bytearray(os.urandom(1) * 2**24)
    assert len(block) == 2**24
    assert usage().page_faults > before.page_faults
