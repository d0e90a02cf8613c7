"""Session: one run from its cells to its files: plan the visits, send them out, store."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.case import Case
from harness.grid import Cell
from harness.pool.combine import combine
from harness.pool.orders import Visit, WorkerSpec, share_cores
from harness.pool.pool import Pool, make_pool
from harness.record import Observation, Record, Status
from harness.settings import Settings
from harness.store import RunWriter, new_folder

CEILING_SECONDS = 0.2
# A cell costs at least this in each replica, and a long call is made about 6 times at 2e10 FLOP/s.
CELL_SECONDS, FLOPS_PER_SECOND = 0.1, 2e10 / 6
Outcome = tuple[Record, list[list[float]]]


class Session:
    """Run cells. `outcome` measures on demand: the first cell of a case measures them all."""

    def __init__(self, settings: Settings, cells: Iterable[Cell]) -> None:
        self.settings = settings
        self.visits: dict[Case, list[Cell]] = {}
        for cell in cells:
            self.visits.setdefault(cell.case, []).append(cell)
        self.outcomes: dict[str, Outcome] = {}
        self.ceilings: dict[str, Any] = {}
        self.started = time.monotonic()
        self.writer = self._open()
        self.pool: Pool | None = None

    def _open(self) -> RunWriter:
        from harness.measure.machine import facts, fingerprint

        settings = self.settings
        folder = new_folder(settings.results, f"{settings.device}-{settings.grid.name}")
        machine = facts(threads=settings.threads)
        return RunWriter(
            folder,
            {
                "started": now(),
                "ended": None,
                "complete": False,
                "command": " ".join(["pytest", *sys.argv[1:]]),
                "grid": settings.grid.model_dump(include={"name", "description", "longest"}),
                "device": settings.device,
                "machine": machine,
                "fingerprint": fingerprint(machine, device=settings.device),
                "settings": settings.facts(),
                "backends": list(settings.backends),
                "baseline": settings.baseline,
                "cells": sum(len(cells) for cells in self.visits.values()),
            },
        )

    @property
    def folder(self) -> Path:
        """Folder of this run's results."""
        return self.writer.folder

    def start(self) -> None:
        """Start the workers, find out what is available, and measure the ceilings."""
        settings = self.settings
        cores, others = share_cores(settings.threads) if settings.device == "cpu" else ((), ())
        spec = WorkerSpec(
            device=settings.device,
            threads=settings.threads,
            cores=cores,
            memory_limit=settings.memory_limit,
            extra_backends=settings.extra_backends,
        )
        self.pool = make_pool(
            settings.pool, spec, replicas=settings.replicas, timeout_s=settings.timeout_s
        )
        stay_on(others)
        device = self.pool.hello()
        asked = {cell.backend for cells in self.visits.values() for cell in cells}
        self.unavailable = self.pool.probe([name for name in settings.backends if name in asked])
        dtypes = sorted({case.dtype for case in self.visits})
        self.ceilings = self.pool.ceilings(dtypes, CEILING_SECONDS)
        self.writer.facts |= {
            "worker": device,
            "unavailable": self.unavailable,
            "ceilings": self.ceilings,
        }
        self.writer.save_facts()

    def expected_seconds(self) -> dict[str, float]:
        """Guess the seconds of each cell, to share out the progress bar by; only ratios count."""
        replicas = self.settings.replicas
        return {
            cell.name: 0.0
            if cell.backend in self.unavailable
            else replicas * (CELL_SECONDS + case.flops() / FLOPS_PER_SECOND)
            for case, cells in self.visits.items()
            for cell in cells
        }

    def outcome(self, cell: Cell) -> Outcome:
        """Return a cell's record and samples, measuring its whole visit if need be."""
        if cell.name not in self.outcomes:
            self._visit(cell.case)
        return self.outcomes[cell.name]

    def _visit(self, case: Case) -> None:
        assert self.pool is not None
        cells = self.visits[case]
        names = [cell.backend for cell in cells if cell.backend not in self.unavailable]
        seen: dict[str, list[Observation]] = {}
        if names:
            settings = self.settings
            visit = Visit(
                case=case,
                backends=tuple(names),
                seed=settings.seed,
                target=settings.target,
                cap_s=settings.cap_s,
                redo=settings.grid.redo,
            )
            seen = self.pool.visit(visit)
        for cell in cells:
            self._record(cell, seen.get(cell.backend) or [self._absent(cell.backend)])

    def _absent(self, name: str) -> Observation:
        reason = self.unavailable[name]
        return Observation(backend=name, status=Status.UNAVAILABLE, reason=reason)

    def _record(self, cell: Cell, seen: list[Observation]) -> None:
        record, samples = combine(
            cell.case, cell.backend, seen, run=self.folder.name, suite=cell.suite
        )
        record = replace(record, rate_share=self._rate_share(record))
        self.writer.append(record, samples)
        self.outcomes[cell.name] = (record, samples)

    def _rate_share(self, record: Record) -> float | None:
        ceiling = self.ceilings.get("flops_per_s", {}).get(record.dtype)
        if not (ceiling and record.time_median_s and record.flops):
            return None
        return record.flops / record.time_median_s / float(ceiling)

    def finish(self) -> None:
        """End the workers and write the tables; the run is complete if every cell has a row."""
        if self.pool is not None:
            self.pool.close()
        wanted = sum(len(cells) for cells in self.visits.values())
        timed = sum(
            sum(map(sum, samples)) * (record.calls_per_sample or 1)
            for record, samples in self.outcomes.values()
        )
        self.writer.finish(
            ended=now(),
            complete=len(self.outcomes) == wanted,
            wall_s=time.monotonic() - self.started,
            timed_s=timed,
        )


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def stay_on(cores: tuple[int, ...]) -> None:
    """Keep this process off the workers' cores."""
    if cores:
        import os

        with suppress(OSError):
            os.sched_setaffinity(0, cores)
