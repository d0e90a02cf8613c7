"""The stopping rule through the whole engine: the schedule, the cap, and each flag's cause."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, cycle

import pytest

from harness.analysis.fits.intervals import half_width
from harness.measure.clock import CpuClock
from harness.measure.contention import Usage
from harness.measure.rounds import Rounds, measure_rounds
from tests.support.fakes import FakeTime
from tests.support.simulated_machine import BASE_NS, Machine, visit

SCHEDULE = [5, 7, 9, 12, 15, 19, 24, 30, 38, 48, 60, 75, 94, 118, 148, 185, 232, 290]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave this machine's own contention out of it."""
    monkeypatch.setattr("harness.measure.rounds.contended", lambda before, after: False)
    monkeypatch.setattr("harness.measure.rounds.usage", Usage)


def measured(calls: dict[str, Callable[[], object]], time: FakeTime, **asked: float) -> Rounds:
    wanted = {"target": 0.02, "cap_s": 60.0} | asked
    return measure_rounds(calls, CpuClock(time), **wanted)["a"]  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_it_stops_at_the_first_check_that_is_narrow_enough(seed: int) -> None:
    samples = visit(Machine(seed), {"a": BASE_NS}, target=0.01)["a"].samples_s
    assert len(samples) in SCHEDULE
    widths = [half_width(samples[:at]) for at in SCHEDULE if at <= len(samples)]
    assert widths[-1] < 0.01 <= min(widths[:-1], default=1.0)


def test_each_call_stops_for_itself() -> None:
    """A wild call goes on alone: a calm one does not pay for it."""
    calm, wild = Machine(0, noise=0.001, outliers=0.0), Machine(1, noise=0.2)
    alone = {
        name: len(visit(one, {"a": BASE_NS}, target=0.02)["a"].samples_s)
        for name, one in (("calm", calm), ("wild", wild))
    }
    assert alone["calm"] == 5
    assert alone["wild"] > 50


def test_the_cap_is_of_each_call_and_only_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 12 ms a call, a cap of 95 ms is passed with the eighth sample, whoever else is timed."""
    time = FakeTime()
    monkeypatch.setattr("harness.measure.rounds.perf_counter", lambda: time.ns / 1e9)
    lasts = {name: count() for name in "ab"}

    def wild(name: str) -> Callable[[], None]:
        def call() -> None:
            time.ns += 10_700_000 + 2_600_000 * (next(lasts[name]) % 2)

        return call

    seen = measure_rounds(
        {name: wild(name) for name in "ab"}, CpuClock(time), target=0.02, cap_s=0.095
    )
    assert {name: len(one.samples_s) for name, one in seen.items()} == {"a": 8, "b": 8}
    assert all(one.flags == ("unconverged",) for one in seen.values())
    assert all(0.095 <= one.spent_s < 0.11 for one in seen.values())


def test_a_narrow_call_is_not_flagged_at_its_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    time = FakeTime()
    monkeypatch.setattr("harness.measure.rounds.perf_counter", lambda: time.ns / 1e9)
    seen = measured({"a": time.call(10_000_000)}, time, cap_s=0.05)
    assert (len(seen.samples_s), seen.flags) == (5, ())


@pytest.mark.parametrize(("cap_s", "samples"), [(0.04, 5), (0.011, 5), (0.003, 3), (0.001, 1)])
def test_the_least_samples_overrun_the_cap_up_to_ten_times(
    monkeypatch: pytest.MonkeyPatch, cap_s: float, samples: int
) -> None:
    """At 10 ms a call, five samples take 50 ms: more than the cap, less than ten of it or not."""
    time = FakeTime()
    monkeypatch.setattr("harness.measure.rounds.perf_counter", lambda: time.ns / 1e9)
    lengths = cycle([10_100_000, 10_200_000])

    def call() -> None:
        time.ns += next(lengths)

    seen = measured({"a": call}, time, cap_s=cap_s, target=1e-9)
    assert (len(seen.samples_s), seen.flags) == (samples, ("unconverged",))


def slowing(time: FakeTime, share: float) -> Callable[[], None]:
    """Return a call that scatters by 4 % and takes longer and longer, by that share at 60."""
    made = count()

    def call() -> None:
        at = next(made)
        time.ns += round(1_000_000 * (1 + share * at / 60 + 0.02 * (-1) ** at))

    return call


@pytest.mark.parametrize(("share", "flags"), [(0.10, ("drift",)), (0.0, ())])
def test_drift_is_flagged(share: float, flags: tuple[str, ...]) -> None:
    time = FakeTime()
    seen = measured({"a": slowing(time, share)}, time, min_samples=60, target=1.0)
    assert (len(seen.samples_s), seen.flags) == (60, flags)


def test_a_busy_machine_flags_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.measure.rounds.contended", lambda before, after: True)
    time = FakeTime()
    calls = {name: time.call(1_000_000) for name in "ab"}
    seen = measure_rounds(calls, CpuClock(time), target=0.02, cap_s=60)
    assert {name: one.flags for name, one in seen.items()} == dict.fromkeys("ab", ("contended",))


def test_a_call_that_lost_its_core_is_flagged_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two switches in each of its samples, none in its neighbour's."""
    time, switches = FakeTime(), [0]
    monkeypatch.setattr("harness.measure.rounds.usage", lambda: Usage(switches=switches[0]))

    def losing() -> None:
        time.ns += 1_000_000
        switches[0] += 2

    calls = {"losing": losing, "calm": time.call(1_000_000)}
    seen = measure_rounds(calls, CpuClock(time), target=0.02, cap_s=60)
    assert {name: one.flags for name, one in seen.items()} == {
        "losing": ("contended",),
        "calm": (),
    }


def test_times_on_ticks_are_flagged() -> None:
    time, lengths = FakeTime(), cycle([8_000_000, 12_000_000, 16_000_000])

    def ticking() -> None:
        time.ns += next(lengths)

    assert "grid_ticks" in measured({"a": ticking}, time, min_samples=24, target=1.0).flags
