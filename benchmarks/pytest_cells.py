"""The cells as pytest-benchmark's user would write them; `tools.py` runs this file with pytest.

The order comes in PEERS_ORDER: {device, threads, settings: {cell: seconds}, precise: fraction or
null}; a setting is pytest-benchmark's max_time.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from benchmarks.cells import awaited, ready_call, start_torch

ORDER = json.loads(os.environ["PEERS_ORDER"])


@pytest.fixture(scope="session")
def device() -> str:
    """Load torch once and return the device."""
    start_torch(ORDER["device"], ORDER["threads"])
    return str(ORDER["device"])


def marks(setting: float) -> pytest.MarkDecorator:
    """Set the seconds of one test, and its precision if asked for."""
    options = {"max_time": setting}
    if ORDER["precise"]:
        # Its default level is 99 %; every other interval here is a 95 % one.
        options |= {"precision": ORDER["precise"], "confidence": 0.95}
    return pytest.mark.benchmark(**options)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=marks(one)) for name, one in ORDER["settings"].items()]
)
def test_cell(benchmark: Any, device: str, name: str) -> None:
    """Time one cell the plain way."""
    call = awaited(ready_call(name, device), device)
    begin = time.perf_counter()
    benchmark(call)
    benchmark.extra_info.update(cell=name, measure_s=time.perf_counter() - begin)
