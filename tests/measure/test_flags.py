import random

from harness.measure.contention import drifts, on_ticks


def noisy(centre: float, count: int, *, seed: int = 0, spread: float = 0.01) -> list[float]:
    source = random.Random(seed)
    return [centre * (1 + source.gauss(0, spread)) for _ in range(count)]


def test_a_steady_call_does_not_drift() -> None:
    assert not any(drifts(noisy(1.0, 60, seed=seed)) for seed in range(200))


def test_a_slow_down_of_five_percent_is_drift_and_of_two_is_not() -> None:
    assert drifts(noisy(1.0, 20) + noisy(1.025, 20) + noisy(1.05, 20))
    assert drifts(noisy(1.05, 20) + noisy(1.025, 20) + noisy(1.0, 20))
    assert not drifts(noisy(1.0, 20) + noisy(1.01, 20) + noisy(1.02, 20))


def test_few_or_wild_samples_are_no_evidence() -> None:
    assert not drifts([1.0] * 5 + [2.0] * 12)
    assert not drifts(noisy(1.0, 10, spread=0.5) + noisy(1.1, 20, spread=0.5))


def test_multiples_of_a_tick_are_seen() -> None:
    ticks = [0.004 * (1 + index % 3) + 20e-6 * (index % 2) for index in range(24)]
    assert on_ticks(ticks)
    assert on_ticks([0.007, 0.011, 0.009] * 8)
    assert on_ticks([0.004, 0.008] * 5000)
    assert on_ticks([0.004, 0.008, 0.0055] * 1000)


def test_a_steady_call_beside_a_tick_is_innocent() -> None:
    assert not on_ticks(noisy(0.008, 40, spread=0.001))
    assert not on_ticks(noisy(0.001, 40, spread=0.01))


def test_chance_raises_no_flag() -> None:
    for seed in range(300):
        source = random.Random(seed)
        assert not on_ticks([source.uniform(0.0005, 0.05) for _ in range(30)])
    assert not on_ticks([])
    assert not on_ticks([0.004, 0.008])
