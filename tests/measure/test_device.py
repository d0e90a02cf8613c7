import pytest
import torch

from harness.measure.device import CpuDevice, device_for


def test_the_host_is_synchronous() -> None:
    device = device_for("cpu")
    assert isinstance(device, CpuDevice)
    assert (device.name, device.asynchronous) == ("cpu", False)
    device.synchronize()
    device.empty_cache()
    assert device_for("cpu") is device


@pytest.mark.parametrize("name", ["tpu", "", "CUDA", "cpu:1"])
def test_an_unknown_device_is_named(name: str) -> None:
    with pytest.raises(ValueError, match="valid: cpu, cuda, cuda:N"):
        device_for(name)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_cuda_times_a_spin_and_counts_memory() -> None:
    device = device_for("cuda")
    assert device.asynchronous
    start, end = device.event(), device.event()
    device.flush_l2()
    start.record()
    device.spin(20_000_000)
    end.record()
    assert not start.query() or not end.query()
    device.synchronize()
    assert 0.005 < device.elapsed_s(start, end) < 0.05
    before = device.memory_allocated()
    device.reset_peak()
    held = torch.empty(2**20, dtype=torch.uint8, device="cuda")
    assert device.max_memory_allocated() - before == held.numel()
    assert device.max_memory_reserved() >= held.numel()
    assert device.l2_bytes > 2**20
