"""The cells as pyperf's user would write them; pyperf starts this file once per worker.

The order comes in PEERS_ORDER: {device, threads, settings: {cell: any}}.
"""

from __future__ import annotations

import json
import os
import time
from functools import lru_cache, partial

import pyperf

from benchmarks.cells import Call, awaited, ready_call, start_torch

ORDER = json.loads(os.environ["PEERS_ORDER"])


@lru_cache
def prepared(name: str) -> Call:
    """Load torch and make the inputs, in the worker that needs them alone."""
    start_torch(ORDER["device"], ORDER["threads"])
    return awaited(ready_call(name, ORDER["device"]), ORDER["device"])


def spend(name: str, loops: int) -> float:
    """Return the seconds of that many calls."""
    call = prepared(name)
    begin = time.perf_counter()
    for _ in range(loops):
        call()
    return time.perf_counter() - begin


if __name__ == "__main__":
    runner = pyperf.Runner()
    for cell in ORDER["settings"]:
        runner.bench_time_func(cell, partial(spend, cell))
