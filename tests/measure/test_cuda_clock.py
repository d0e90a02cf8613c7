import pytest
import torch

from harness.measure.clock import Paced
from harness.measure.cuda_clock import (
    FIRST_SPIN_CYCLES,
    LAST_SPIN_CYCLES,
    CudaClock,
    warm_up_chip,
)
from tests.support.fakes import FakeCuda


def make(metric: str = "gpu_time", cache: str = "cold") -> tuple[FakeCuda, CudaClock]:
    chip = FakeCuda()
    return chip, CudaClock(chip, metric, cache=cache, now=chip.time)


def sampled(clock: CudaClock, paced: Paced) -> float:
    clock.sample(paced)
    clock.collect()
    return paced.samples_s[-1]


def test_the_order_of_a_sample() -> None:
    chip, clock = make()
    paced = clock.calibrate(chip.kernel(host_ns=10_000, device_ns=300_000))
    chip.log.clear()
    clock.sample(paced)
    assert chip.log == ["flush", f"spin {FIRST_SPIN_CYCLES}", "event", "call", "event"]
    assert paced.samples_s == []
    clock.collect()
    assert chip.log[-1] == "synchronize"
    assert paced.samples_s == [pytest.approx(300e-6)]


def test_a_hot_cache_is_not_flushed() -> None:
    chip, clock = make(cache="hot")
    clock.sample(clock.calibrate(chip.kernel(host_ns=10_000, device_ns=300_000)))
    assert "flush" not in chip.log


def test_pending_samples_are_collected_with_one_wait() -> None:
    chip, clock = make()
    paced = clock.calibrate(chip.kernel(host_ns=10_000, device_ns=300_000))
    chip.log.clear()
    for _ in range(7):
        clock.sample(paced)
    clock.collect()
    clock.collect()
    assert chip.log.count("synchronize") == 1
    assert paced.samples_s == [pytest.approx(300e-6)] * 7


def test_a_late_host_doubles_the_spin_and_launch_gaps_vanish() -> None:
    chip, clock = make()
    # The host needs 0.5 ms to queue ten kernels of 10 us; the chip needs 0.1 ms.
    one = chip.kernel(host_ns=50_000, device_ns=10_000)
    paced = clock.calibrate(lambda: [one() for _ in range(10)])
    assert paced.spin_cycles == FIRST_SPIN_CYCLES * 8
    assert not paced.launch_bound
    assert sampled(clock, paced) == pytest.approx(100e-6)


def test_at_the_cap_a_call_is_launch_bound_and_stops_paying() -> None:
    chip, clock = make()
    slow = chip.kernel(host_ns=80_000_000, device_ns=1_000)
    paced = clock.calibrate(slow)
    assert paced.launch_bound
    spins = [int(line.split()[1]) for line in chip.log if line.startswith("spin")]
    assert max(spins) <= LAST_SPIN_CYCLES < 2 * max(spins)
    chip.log.clear()
    assert sampled(clock, paced) == pytest.approx(80e-3, rel=0.01)
    assert chip.log.count("call") == 1
    assert paced.spin_cycles == FIRST_SPIN_CYCLES


def test_short_calls_share_their_events() -> None:
    chip, clock = make()
    paced = clock.calibrate(chip.kernel(host_ns=4_000, device_ns=5_000))
    assert paced.calls == 20
    assert sampled(clock, paced) == pytest.approx(5e-6)
    assert clock.calibrate(chip.kernel(host_ns=4_000, device_ns=20_000)).calls == 1


def test_a_graph_is_launched_once_for_all_its_calls() -> None:
    chip, clock = make("graph_time")
    paced = clock.calibrate(chip.kernel(host_ns=50_000, device_ns=5_000))
    chip.log.clear()
    clock.sample(paced)
    assert chip.log.count("call") == 1
    clock.collect()
    assert paced.calls > 1


def test_latency_and_dispatch_are_host_times() -> None:
    chip, clock = make("latency")
    call = chip.kernel(host_ns=10_000, device_ns=300_000)
    assert sampled(clock, clock.calibrate(call)) == pytest.approx(310e-6)
    chip, clock = make("dispatch")
    call = chip.kernel(host_ns=10_000, device_ns=300_000)
    assert sampled(clock, clock.calibrate(call)) == pytest.approx(10e-6)


def test_a_late_error_surfaces_on_collecting() -> None:
    chip, clock = make()
    paced = clock.calibrate(chip.kernel(host_ns=10_000, device_ns=300_000))
    clock.sample(paced)
    chip.broken = "CUDA error: an illegal memory access was encountered"
    with pytest.raises(RuntimeError, match="illegal"):
        clock.collect()
    clock.collect()
    assert paced.samples_s == []


def test_unknown_names_are_listed() -> None:
    with pytest.raises(ValueError, match=r"'wall'; valid: gpu_time"):
        CudaClock(FakeCuda(), "wall")
    with pytest.raises(ValueError, match=r"'warm'; valid: cold, hot"):
        CudaClock(FakeCuda(), cache="warm")


def test_the_chip_is_heated_for_two_seconds() -> None:
    chip = FakeCuda()
    warm_up_chip(chip, now=chip.time)
    assert 2_000_000_000 <= chip.time.ns < 2_100_000_000


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("metric", ["gpu_time", "graph_time", "latency", "dispatch"])
def test_real_metrics_are_positive_and_device_time_is_below_latency(metric: str) -> None:
    from harness.measure.device import device_for

    left = torch.rand(2048, 2048, device="cuda")
    device = device_for("cuda")
    clock = CudaClock(device, metric)  # type: ignore[arg-type]
    seconds = sampled(clock, clock.calibrate(lambda: left @ left))
    latency_clock = CudaClock(device, "latency")  # type: ignore[arg-type]
    latency = sampled(latency_clock, latency_clock.calibrate(lambda: left @ left))
    assert 0 < seconds < 2 * latency
