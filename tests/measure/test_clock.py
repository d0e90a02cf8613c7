import time
from functools import partial
from statistics import median

import pytest

from harness.measure.clock import CpuClock, timed_call, warm_up
from tests.support.fakes import FakeTime

RETRIES = 25


@pytest.mark.parametrize(
    ("call_ns", "calls"),
    [
        (30_000, 167),
        (99_999, 51),
        (1_000, 5000),
        (333, 15016),
        (100_000, 50),
        (999_999, 6),
        (1_000_000, 5),
        (4_999_999, 2),
        (5_000_000, 1),
        (50_000_000, 1),
    ],
)
def test_short_calls_are_blocked_to_five_milliseconds(call_ns: int, calls: int) -> None:
    clock_time = FakeTime()
    clock = CpuClock(clock_time)
    paced = clock.calibrate(clock_time.call(call_ns))
    assert paced.calls == calls
    before = clock_time.ns
    clock.sample(paced)
    clock.collect()
    # One untimed call first, unless the call is long enough to bear what it finds cold.
    assert clock_time.ns - before == (calls + (call_ns < 5_000_000)) * call_ns
    assert paced.samples_s == [pytest.approx(call_ns / 1e9)]


@pytest.mark.parametrize("call_ns", [50_000, 2_000_000])
def test_a_time_does_not_depend_on_who_was_there_before(call_ns: int) -> None:
    """A call that finds its caches cold takes 90 us more; only a call after itself is timed."""
    clock_time, last = FakeTime(), [""]

    def call(name: str) -> None:
        clock_time.ns += call_ns + 90_000 * (last[0] != name)
        last[0] = name

    clock = CpuClock(clock_time)
    paced = [clock.calibrate(partial(call, name)) for name in "ab"]
    for one in paced * 5:
        clock.sample(one)
    assert [one.samples_s for one in paced] == [[pytest.approx(call_ns / 1e9)] * 5] * 2


def test_a_call_that_gets_faster_still_fills_its_block() -> None:
    clock_time = FakeTime()
    lengths = iter([50_000] * 3)

    def call() -> None:
        clock_time.ns += next(lengths, 5_000)

    assert CpuClock(clock_time).calibrate(call).calls * 5_000 >= 5_000_000


def test_a_call_of_no_time_at_all_ends() -> None:
    clock_time = FakeTime()
    assert CpuClock(clock_time).calibrate(lambda: None).calls == 1_000_000


@pytest.mark.parametrize(
    ("call_ns", "calls"), [(1_000, 3), (9_000_000, 3), (13_000_000, 2), (30_000_000, 1)]
)
def test_warm_up_is_three_calls_or_25_ms(call_ns: int, calls: int) -> None:
    clock_time = FakeTime()
    made: list[int] = []
    lasting = clock_time.call(call_ns)

    def call() -> None:
        made.append(1)
        lasting()

    assert warm_up(call, clock_time) == call_ns
    assert len(made) == calls


def test_the_first_call_is_timed_with_its_result() -> None:
    waited: list[int] = []
    result, seconds = timed_call(lambda: 7, lambda: waited.append(1))
    assert result == 7
    assert waited == [1]
    assert 0 < seconds < 1


class Spin:
    """A busy loop that knows how long it took, so that a noisy machine needs no looser bound."""

    def __init__(self, ns: int) -> None:
        self.ns = ns
        self.took: list[int] = []

    def __call__(self) -> None:
        start = end = time.perf_counter_ns()
        while end < start + self.ns:
            end = time.perf_counter_ns()
        self.took.append(end - start)


@pytest.mark.parametrize("ns", [80_000, 200_000, 1_000_000, 5_000_000])
def test_a_known_time_is_measured_within_two_percent(ns: int) -> None:
    clock, spin = CpuClock(), Spin(ns)
    paced = clock.calibrate(spin)
    assert (paced.calls == 1) == (ns >= 5_000_000)
    for _ in range(RETRIES):
        paced.samples_s.clear()
        spin.took.clear()
        for _ in range(11):
            clock.sample(paced)
        blocks = _blocks(spin, 11, untimed=paced.warmed)
        if median(paced.samples_s) == pytest.approx(median(blocks), rel=0.02):
            break
    assert min(paced.samples_s) >= ns / 1e9
    assert median(paced.samples_s) == pytest.approx(median(blocks), rel=0.02)


def _blocks(spin: Spin, count: int, *, untimed: int) -> list[float]:
    """Return seconds per call of each of `count` equal blocks, without the untimed calls."""
    size = len(spin.took) // count
    blocks = [spin.took[at * size + untimed : (at + 1) * size] for at in range(count)]
    return [sum(block) / len(block) / 1e9 for block in blocks]


def test_a_long_first_use_is_the_warm_up_and_the_next_call_a_sample() -> None:
    clock_time = FakeTime()
    paced = CpuClock(clock_time).calibrate(clock_time.call(40_000_000), first_s=0.04)
    assert paced.samples_s == [0.04]
    assert clock_time() < 41_000_000


def test_a_first_use_that_was_long_only_once_is_not_trusted() -> None:
    clock_time = FakeTime()
    paced = CpuClock(clock_time).calibrate(clock_time.call(10_000), first_s=0.04)
    assert paced.samples_s == []
    assert paced.calls >= 100
