"""Start: how a run begins: its facts, its workers, the ceilings of its device."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from harness.attention.backends import BACKENDS
from harness.cases.grid import Cell, grid_digest
from harness.measure.machine import available_memory, facts, fingerprint, own_bytes, wanted_bytes
from harness.measure.protocol import WorkerSpec, share_cores
from harness.records.record import Record, Status
from harness.records.remote.address import redact
from harness.run.pool import Pool, make_pool
from harness.run.settings import Settings

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


def run_facts(settings: Settings, *, cells: int) -> dict[str, Any]:
    """Return the facts that hold for the whole run."""
    machine = facts(threads=settings.threads)
    return {
        "started": now(),
        "ended": None,
        "complete": False,
        "command": redact(" ".join(["pytest", *sys.argv[1:]])),
        "grid": settings.grid.model_dump(include={"name", "description", "longest"}),
        "grid_digest": grid_digest(settings.grid),
        "device": settings.device,
        "machine": machine,
        "fingerprint": fingerprint(machine, device=settings.device),
        "settings": settings.facts(),
        "backends": list(settings.backends),
        "baseline": settings.baseline,
        "cells": cells,
    }


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def peak_rss() -> int | None:
    """Return the most memory that this process has held, in bytes; None where nobody tells.

    Linux hands `ru_maxrss` down to children: a process started by a big one would seem big.
    """
    return own_bytes("VmHWM")


SECONDS = 0.2
# Twice the rate of the fastest matrix product of the device; looked at again a few times a run.
IMPOSSIBLE, SECOND_LOOKS = 2.0, 3
TIMES = (
    *("time_median_s", "time_low_s", "time_high_s", "time_min_s"),
    *("samples", "replicas", "replica_medians_s"),
)
# Measures {"flops_per_s": {dtype: FLOP/s}, ...} of some dtypes in so many seconds each.
Look = Callable[[list[str], float], dict[str, Any]]


class Ceilings:
    """Hold the measured rates of a matrix product, and judge rates by them."""

    def __init__(self, look: Look, dtypes: list[str]) -> None:
        self.look, self.dtypes = look, dtypes
        self.measured = look(dtypes, SECONDS)
        self.fastest = self._fastest(self.measured)
        self.looks_left = SECOND_LOOKS

    @staticmethod
    def _fastest(measured: dict[str, Any]) -> float:
        return max(measured.get("flops_per_s", {}).values(), default=0.0)

    def judge(self, record: Record) -> Record:
        """Add the rate over the ceiling of the same dtype; a cell far above all is an error.

        A kernel may well beat the product of its own dtype, which CPUs do slowly in half
        precision, so the fastest dtype decides. The ceiling was measured in one moment, and
        neighbours can halve what it saw: it is measured again before a cell is called too fast.
        """
        rate = (record.flops or 0) / record.time_median_s if record.time_median_s else 0.0
        while rate > IMPOSSIBLE * self.fastest > 0:
            if not self.looks_left:
                return too_fast(record, rate / self.fastest)
            self.looks_left -= 1
            self.fastest = max(self.fastest, self._fastest(self.look(self.dtypes, SECONDS)))
        ceiling = self.measured.get("flops_per_s", {}).get(record.dtype)
        return replace(record, rate_share=rate / ceiling) if rate and ceiling else record


def too_fast(record: Record, times: float) -> Record:
    """Return the record of a cell that took too little time to have computed anything."""
    reason = f"too fast to have computed it: {times:.3g} times the rate of a matrix product"
    untimed: dict[str, Any] = dict.fromkeys(TIMES)
    return replace(record, status=Status.ERROR.value, reason=reason, **untimed)
