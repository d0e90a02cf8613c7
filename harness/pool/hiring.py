"""Hiring: how the workers of a run are set up: their cores, their memory, their heap."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from harness.attention.backends import BACKENDS
from harness.grid import Cell
from harness.measure.machine import available_memory
from harness.measure.refusal import wanted_bytes
from harness.pool.orders import WorkerSpec, share_cores
from harness.pool.pool import Pool, make_pool
from harness.settings import Settings

LARGEST_HEAP = 2**31
# The rest is for this process, the page cache, and what grows between two looks.
GUARD_SHARE = 0.9


def hire(settings: Settings, cells: Iterable[Cell]) -> Pool:
    """Start the workers for these cells, and keep this process off their cores."""
    on_cpu = settings.device == "cpu"
    cores, others = share_cores(settings.threads) if on_cpu else ((), ())
    spec = WorkerSpec(
        device=settings.device,
        threads=settings.threads,
        cores=cores,
        memory_limit=settings.memory_limit,
        memory_guard=settings.memory_limit or round(GUARD_SHARE * available_memory()),
        heap_bytes=heap_bytes(cells, replicas=settings.replicas) if on_cpu else 0,
        extra_backends=settings.extra_backends,
    )
    pool = make_pool(settings.pool, spec, replicas=settings.replicas, timeout_s=settings.timeout_s)
    if others:
        with suppress(OSError):
            os.sched_setaffinity(0, others)
    return pool


def heap_bytes(cells: Iterable[Cell], *, replicas: int) -> int:
    """Return twice what the largest cell wants, within a quarter of the memory there is."""
    wanted = [
        wanted_bytes(BACKENDS[cell.backend], cell.case)
        for cell in cells
        if cell.backend in BACKENDS
    ]
    room = available_memory() // (4 * replicas)
    return min(2 * max(wanted, default=0), room, LARGEST_HEAP)
