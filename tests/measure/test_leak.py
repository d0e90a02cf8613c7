"""Memory that calls keep is told from memory that they use, and a bound makes a call fail."""

import ctypes
import subprocess
import sys
from typing import Any

import pytest
import torch

from harness.measure.device import CpuDevice
from harness.measure.guard import bytes_in_use, inspect_growth
from harness.measure.host_memory import data_bytes
from harness.measure.outcome import Misconduct
from harness.measure.rounds import no_garbage_collection

DEVICE = CpuDevice()
pytestmark = pytest.mark.skipif(not bytes_in_use(DEVICE), reason="this libc has no mallinfo2")


def test_what_is_in_use_is_told_to_the_byte() -> None:
    before = bytes_in_use(DEVICE)
    kept = torch.empty(10_000_000, dtype=torch.uint8)
    assert 10_000_000 <= bytes_in_use(DEVICE) - before < 10_000_000 + 50_000
    del kept
    assert abs(bytes_in_use(DEVICE) - before) < 50_000


@pytest.mark.parametrize(
    "make", [lambda: torch.ones(4096), lambda: ctypes.create_string_buffer(16384)]
)
def test_a_call_that_keeps_memory_is_found(make: Any) -> None:
    kept: list[Any] = []
    # What other tests left behind must not be freed in between.
    with (
        no_garbage_collection(),
        pytest.raises(Misconduct, match=r"every call keeps 16,\d{3} bytes for good"),
    ):
        inspect_growth(lambda: kept.append(make()), DEVICE)


def test_a_call_that_gives_back_what_it_took_is_not() -> None:
    inspect_growth(lambda: torch.ones(4_000_000).sum(), DEVICE)


def test_a_cache_filled_once_is_not_a_leak() -> None:
    cache: dict[int, torch.Tensor] = {}
    inspect_growth(lambda: cache.setdefault(0, torch.ones(4096)), DEVICE)


@pytest.mark.skipif(data_bytes() is None, reason="this system does not tell")
@pytest.mark.parametrize("wants", ["torch.ones(2**28)", "bytearray(2**30)"])
def test_a_process_that_wants_more_than_its_bound_goes_on(wants: str) -> None:
    code = f"""
import torch
from harness.measure.host_memory import bound_memory
from harness.measure.outcome import attempt
bound_memory(2**28, "cpu")
torch.ones(2**24)
print(attempt(lambda: {wants}).status)
torch.ones(2**24)
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["out_of_memory", "alive"], done.stderr
