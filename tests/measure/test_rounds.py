import gc
import mmap
from collections.abc import Callable

import pytest

from harness.measure.clock import CpuClock, Paced
from harness.measure.cuda_clock import CudaClock
from harness.measure.rounds import measure_rounds, next_check, no_garbage_collection
from harness.records.record import Status
from tests.support.fakes import FakeCuda, FakeTime


class Scripted:
    """A clock whose samples are what the call returns."""

    metric = "scripted"

    def calibrate(self, call: Callable[[], object], *, first_s: float = 0.0) -> Paced:
        return Paced(call)

    def sample(self, paced: Paced) -> None:
        paced.samples_s.append(float(str(paced.call())))

    def collect(self) -> None:
        pass


def settling(after: int, *, centre: float = 0.0103) -> Callable[[], float]:
    """Return samples that scatter by half until `after` of them are made, then never."""
    made = iter(range(10**6))

    def call() -> float:
        index = next(made)
        return centre * (1 + (0.5 * (-1) ** index if index < after else 0.0))

    return call


def test_the_schedule_of_checks() -> None:
    counts = [5]
    while len(counts) < 12:
        counts.append(next_check(counts[-1]))
    assert counts == [5, 7, 9, 12, 15, 19, 24, 30, 38, 48, 60, 75]


@pytest.mark.parametrize(("after", "samples"), [(0, 5), (1, 9), (2, 9), (4, 12), (8, 19)])
def test_a_call_stops_exactly_at_a_check(after: int, samples: int) -> None:
    seen = measure_rounds({"a": settling(after)}, Scripted(), target=0.02, cap_s=60)["a"]
    assert len(seen.samples_s) == samples
    assert seen.flags == ()


def test_slow_calls_need_three_samples() -> None:
    calls = {"slow": settling(0, centre=0.2), "edge": settling(0, centre=0.1)}
    seen = measure_rounds(calls, Scripted(), target=0.02, cap_s=60)
    assert {name: len(rounds.samples_s) for name, rounds in seen.items()} == {"slow": 3, "edge": 5}


def test_at_the_cap_samples_stay_and_are_flagged() -> None:
    calls = {"wild": settling(10**6), "calm": settling(0)}
    seen = measure_rounds(calls, Scripted(), target=0.02, cap_s=0.05)
    assert len(seen["wild"].samples_s) > 5
    assert "unconverged" in seen["wild"].flags
    assert seen["wild"].spent_s >= 0.05
    assert "unconverged" not in seen["calm"].flags


def test_the_least_count_of_samples_may_overrun_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    time = FakeTime()
    monkeypatch.setattr("harness.measure.rounds.perf_counter", lambda: time.ns / 1e9)

    def slow() -> float:
        time.ns += 4_000_000
        return 0.004 * (1 + next(wobble))

    wobble = iter([0.0, 0.5] * 10)
    seen = measure_rounds({"a": slow}, Scripted(), target=0.02, cap_s=0.003)["a"]
    assert len(seen.samples_s) == 5
    assert "unconverged" in seen.flags


def test_but_not_by_ten_times() -> None:
    seen = measure_rounds({"a": settling(10**6)}, Scripted(), target=0.02, cap_s=0.0)["a"]
    assert len(seen.samples_s) == 1
    assert seen.flags == ("unconverged",)


def order_of(seed: int, *, after: int = 400) -> list[str]:
    order: list[str] = []
    calls = {name: settling(after) for name in "abcd"}
    measure_rounds(calls, Scripted(), target=0.02, cap_s=60, seed=seed, on_start=order.append)
    return order


def test_the_order_is_seeded() -> None:
    assert order_of(3, after=20) == order_of(3, after=20)
    assert order_of(3, after=20) != order_of(4, after=20)


def test_the_order_is_balanced() -> None:
    order = order_of(0)
    rounds = [order[start : start + 4] for start in range(0, len(order), 4)]
    assert all(sorted(each) == list("abcd") for each in rounds)
    for name in "abcd":
        first = sum(each[0] == name for each in rounds) / len(rounds)
        assert first == pytest.approx(0.25, abs=0.06)


def test_a_raising_call_leaves_alone() -> None:
    made = iter(range(100))

    def failing() -> float:
        if next(made) == 3:
            raise ValueError("third time")
        return 0.01

    calls = {"bad": failing, "good": settling(0)}
    seen = measure_rounds(calls, Scripted(), target=0.0001, cap_s=60)
    assert seen["bad"].failure is not None
    assert seen["bad"].failure.status is Status.ERROR
    assert seen["bad"].failure.reason == "ValueError: third time"
    assert len(seen["bad"].samples_s) == 3
    assert not seen["bad"].interrupted
    assert seen["good"].failure is None
    assert len(seen["good"].samples_s) == 5


def test_a_call_that_fails_while_warming_up_has_no_samples() -> None:
    def failing() -> float:
        raise MemoryError

    seen = measure_rounds({"bad": failing}, CpuClock(), target=0.02, cap_s=1)["bad"]
    assert seen.samples_s == ()
    assert seen.page_faults is None
    assert seen.flags == ()
    assert seen.failure is not None
    assert seen.failure.status is Status.OUT_OF_MEMORY


def test_a_sticky_error_ends_the_visit_and_blames_one() -> None:
    chip = FakeCuda()
    good = chip.kernel(host_ns=10_000, device_ns=300_000)
    made = iter(range(100))

    def breaking() -> None:
        good()
        if next(made) == 6:
            chip.broken = "CUDA error: an illegal memory access was encountered"

    seen = measure_rounds(
        {"a": good, "breaking": breaking, "c": good},
        CudaClock(chip, now=chip.time),
        target=1e-9,
        cap_s=60,
    )
    assert seen["breaking"].failure is not None
    assert seen["breaking"].failure.sticky
    assert not seen["breaking"].interrupted
    assert all(seen[name].failure is None and seen[name].samples_s for name in "ac")


def test_a_sticky_error_while_warming_up_interrupts_the_others() -> None:
    chip = FakeCuda()
    good = chip.kernel(host_ns=10_000, device_ns=300_000)

    def breaking() -> None:
        chip.broken = "CUDA error: device-side assert triggered"

    order: list[str] = []
    seen = measure_rounds(
        {"a": good, "breaking": breaking},
        CudaClock(chip, now=chip.time),
        target=0.01,
        cap_s=60,
        on_start=order.append,
    )
    assert seen["breaking"].failure is not None
    assert seen["a"].interrupted
    assert order[-1] == "breaking"


def test_a_launch_bound_call_is_flagged() -> None:
    chip = FakeCuda()
    call = chip.kernel(host_ns=80_000_000, device_ns=1_000)
    clock = CudaClock(chip, now=chip.time)
    seen = measure_rounds({"a": call}, clock, target=0.02, cap_s=60)["a"]
    assert "launch_bound" in seen.flags


def test_ticks_of_a_block_are_flagged() -> None:
    ticks = iter([0.004, 0.008, 0.012] * 40)
    seen = measure_rounds(
        {"a": lambda: next(ticks)}, Scripted(), target=0.3, cap_s=60, min_samples=24
    )["a"]
    assert "grid_ticks" in seen.flags


def test_the_garbage_collector_is_off_inside_and_back_after() -> None:
    states: list[bool] = []

    def call() -> float:
        states.append(gc.isenabled())
        raise ValueError

    assert gc.isenabled()
    measure_rounds({"a": call}, Scripted(), target=0.02, cap_s=1)
    assert states == [False]
    assert gc.isenabled()
    gc.disable()
    try:
        with no_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_page_faults_are_per_call() -> None:
    clock_time = FakeTime()
    lasting = clock_time.call(500_000)

    def touching() -> None:
        with mmap.mmap(-1, 256 * mmap.PAGESIZE) as pages:
            for start in range(0, len(pages), mmap.PAGESIZE):
                pages[start] = 1
        lasting()

    calls = {"touching": touching, "still": lasting}
    seen = measure_rounds(calls, CpuClock(clock_time), target=0.02, cap_s=5)
    assert seen["touching"].page_faults is not None
    assert seen["still"].page_faults is not None
    assert seen["touching"].page_faults > 100 > 10 > seen["still"].page_faults


def test_nothing_to_measure_is_nothing_seen() -> None:
    assert measure_rounds({}, Scripted(), target=0.02, cap_s=1) == {}
