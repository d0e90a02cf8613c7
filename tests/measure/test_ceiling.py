import time
from pathlib import Path

from harness.measure.clock import CpuClock, Paced
from harness.measure.device import CpuDevice
from harness.measure.setup import last_cache_bytes, measure_ceilings


def test_ceilings_are_plausible_and_quick() -> None:
    begin = time.perf_counter()
    found = measure_ceilings(CpuDevice(), ["float32", "float64"], seconds=0.15)
    assert time.perf_counter() - begin < 10
    rates = found["flops_per_s"]
    assert set(rates) == {"float32", "float64"}
    # From a phone to a large server.
    assert all(1e8 < rate < 1e14 for rate in rates.values())
    assert 1e8 < found["copy_bytes_per_s"] < 1e13


class OneSecond(CpuClock):
    """A clock on which every call takes one second."""

    def sample(self, paced: Paced) -> None:
        paced.samples_s.append(1.0)


def test_a_rate_is_two_operations_per_multiply_and_slow_sizes_end_the_search() -> None:
    found = measure_ceilings(CpuDevice(), ["float32"], seconds=0.0, clock=OneSecond())
    assert found["flops_per_s"] == {"float32": 2 * 512**3}


def test_the_largest_cache_is_read(tmp_path: Path) -> None:
    for index, size in enumerate(["32K", "1024K", "32M"]):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(size + "\n")
    assert last_cache_bytes(tmp_path) == 32 * 2**20
    assert last_cache_bytes(tmp_path / "absent") == 0
