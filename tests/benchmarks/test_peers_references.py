import random
import re
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from benchmarks import references
from benchmarks.references import calls_a_sample, hot, in_turns

ORDER = {"device": "cpu"}


class Fake:
    """A clock, and calls that take their own time after themselves and longer after others."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.last, self.order = 0.0, "", ""
        monkeypatch.setattr(references, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def call(self, name: str, seconds: float, *, cold: float = 1.0) -> Callable[[], None]:
        def run() -> None:
            self.now += seconds * (1.0 if self.last == name else cold)
            self.last = name
            self.order += name

        return run


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return Fake(monkeypatch)


def test_hot_sees_a_call_after_itself_and_turns_one_after_others(fake: Fake) -> None:
    calls = {name: fake.call(name, 0.002, cold=1.05) for name in "abc"}
    samples, middle, _ = hot(calls["a"], 0.1, ORDER)
    assert middle == pytest.approx(0.002)
    found = {one["cell"]: one for one in in_turns(calls, 0.3, random.Random(0))}
    for one in found.values():
        # In a fresh order each time, a call follows itself in one of nine rounds.
        assert one["estimate_s"] == pytest.approx(0.0021)
        assert one["processes"][0]["count"] == pytest.approx(48, abs=2)
    assert len(samples) == pytest.approx(50, abs=2)


def test_a_round_has_each_call_once_in_an_order_of_its_own(fake: Fake) -> None:
    calls = {name: fake.call(name, 0.01) for name in "abc"}
    in_turns(calls, 1.0, random.Random(1))
    rounds = fake.order[len("aaaabbbbcccc") :]
    threes = [rounds[start : start + 3] for start in range(0, len(rounds), 3)]
    assert {"".join(sorted(three)) for three in threes} == {"abc"}
    assert len(set(threes)) == 6


def test_in_turns_a_call_of_200_us_is_a_sample_and_one_of_20_us_goes_in_blocks(fake: Fake) -> None:
    in_turns({"a": fake.call("a", 2e-4), "b": fake.call("b", 2e-5)}, 0.1, random.Random(0))
    runs = [len(run) for run in re.findall("a+", fake.order)[1:]]
    blocks = [len(run) for run in re.findall("b+", fake.order)[1:]]
    # Two rounds in a row may end and begin with the same call.
    assert set(runs) == {1, 2}
    assert min(blocks) == pytest.approx(51, abs=1)


@pytest.mark.parametrize(
    ("seconds", "alone", "among"), [(2e-5, 51, 51), (9e-5, 12, 12), (1.1e-4, 10, 1), (0.02, 1, 1)]
)
def test_only_calls_under_100_us_are_timed_in_blocks_in_turns(
    fake: Fake, seconds: float, alone: int, among: int
) -> None:
    call = fake.call("a", seconds)
    assert calls_a_sample(call, references.BLOCK_S) == pytest.approx(alone, abs=1)
    assert calls_a_sample(call, references.SINGLE_S) == pytest.approx(
        among, abs=1 if among > 1 else 0
    )


def test_calls_longer_than_their_time_still_have_five_samples(fake: Fake) -> None:
    samples, _, _ = hot(fake.call("a", 1.0), 0.1, ORDER)
    assert len(samples) == 5
    # One call to warm up, since it lasts 25 ms, and one to see how many fill a sample.
    assert fake.order == "a" * 7


def test_the_seconds_of_a_case_are_shared_by_its_calls(fake: Fake) -> None:
    calls = {"a": fake.call("a", 0.01), "b": fake.call("b", 0.03)}
    first, second = in_turns(calls, 0.8, random.Random(0))
    # 0.8 s of rounds, and 0.1 s to warm up.
    assert first["measure_s"] == second["measure_s"] == pytest.approx(0.45, abs=0.03)
    assert (first["estimate_s"], second["estimate_s"]) == pytest.approx((0.01, 0.03))
