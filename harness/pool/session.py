"""Session: one run from its cells to its files: plan the visits, send them out, store."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.attention.known import with_known
from harness.case import Case
from harness.conformance import CRASHES, REFUSES, Finding, Question
from harness.grid import Cell
from harness.pool.combine import combine
from harness.pool.orders import Visit, WorkerSpec, share_cores
from harness.pool.pool import Pool, make_pool, unasked
from harness.record import Observation, Record, Status, cell_name
from harness.settings import Settings
from harness.writer import RunWriter, new_folder

CEILING_SECONDS = 0.2
QUESTION_SECONDS = 0.02
CRASHES_MOST = 3
LARGEST_HEAP = 2**31
# A cell costs at least this in each replica, and a long call is made about 6 times at 2e10 FLOP/s.
CELL_SECONDS, FLOPS_PER_SECOND = 0.1, 2e10 / 6
Outcome = tuple[Record, list[list[float]]]


class Session:
    """Run cells: each replica in turn through all cases. `tell` is told of each visit's end."""

    def __init__(
        self,
        settings: Settings,
        cells: Iterable[Cell],
        tell: Callable[[str], None],
        *,
        questions: Sequence[Question] = (),
    ) -> None:
        self.settings, self.tell, self.questions = settings, tell, questions
        self.visits: dict[Case, list[Cell]] = {}
        for cell in cells:
            self.visits.setdefault(cell.case, []).append(cell)
        self.seen: dict[str, list[Observation]] = {}
        self.finished: set[Case] = set()
        self.began = False
        self.unavailable: dict[str, str] = {}
        self.ceilings: dict[str, Any] = {}
        self.crashes: Counter[str] = Counter()
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
            heap_bytes=self._heap_bytes() if settings.device == "cpu" else 0,
            extra_backends=settings.extra_backends,
        )
        self.pool = make_pool(
            settings.pool, spec, replicas=settings.replicas, timeout_s=settings.timeout_s
        )
        stay_on(others)
        device = self.pool.hello()
        asked = {cell.backend for cells in self.visits.values() for cell in cells}
        asked |= {question.backend for question in self.questions}
        self.unavailable = self.pool.probe([name for name in settings.backends if name in asked])
        dtypes = sorted({case.dtype for case in self.visits})
        self.ceilings = self.pool.ceilings(dtypes, CEILING_SECONDS)
        self.writer.facts |= {
            "worker": device,
            "unavailable": self.unavailable,
            "ceilings": self.ceilings,
        }
        self.writer.save_facts()

    def _heap_bytes(self) -> int:
        """Return twice what the largest cell wants, within a quarter of the memory there is."""
        from harness.attention.backends import BACKENDS
        from harness.measure.machine import available_memory
        from harness.measure.refusal import wanted_bytes

        wanted = [
            wanted_bytes(BACKENDS[cell.backend], case)
            for case, cells in self.visits.items()
            for cell in cells
            if cell.backend in BACKENDS
        ]
        room = available_memory() // (4 * self.settings.replicas)
        return min(2 * max(wanted, default=0), room, LARGEST_HEAP)

    def steps(self) -> list[float]:
        """Guess the seconds of each question and each visit of each pass; only ratios count."""
        one_pass = [self._guess(case) for case in self.visits]
        asked = [one for one in self.questions if one.backend not in self.unavailable]
        return [QUESTION_SECONDS] * len(asked) + one_pass * self.settings.replicas

    def _guess(self, case: Case) -> float:
        asked = sum(cell.backend not in self.unavailable for cell in self.visits[case])
        return asked * (CELL_SECONDS + case.flops() / FLOPS_PER_SECOND)

    def outcome(self, cell: Cell) -> Outcome:
        """Return a cell's record and samples; the first call measures every pass but the last.

        A pass takes one replica through all cases, so that the replicas of a cell lie minutes
        apart: a neighbour that slows the machine for a while then shows as spread between
        replicas instead of bending a curve. The last pass follows the caller's order.
        """
        if not self.began:
            self.began = True
            for number in range(self.settings.replicas - 1):
                self._pass(number)
        if cell.case not in self.finished:
            self._visit(cell.case, self.settings.replicas - 1)
            self.finished.add(cell.case)
        return self.writer.cells[cell.name]

    def _pass(self, number: int) -> None:
        """Take one replica through all cases, every other pass backwards."""
        cases = list(self.visits)
        for case in reversed(cases) if number % 2 else cases:
            self._visit(case, number)

    def _visit(self, case: Case, replica: int) -> None:
        """Measure a case in one replica and write its cells, as far as they are known."""
        cells = self.visits[case]
        names = tuple(cell.backend for cell in cells if self._wants_more(cell))
        if names and not (replica and self._late()):
            for name, seen in self._ask(case, names, replica).items():
                self.seen.setdefault(cell_name(name, case), []).append(seen)
        for cell in cells:
            seen_before = self.seen.get(cell.name) or [self._absent(cell.backend)]
            if cell.name not in self.writer.cells or cell.backend in names:
                self._record(cell, seen_before)
        self.tell(f"{cells[0].suite} {case.id}")

    def _wants_more(self, cell: Cell) -> bool:
        """Whether a backend can run here and has not failed at this case before."""
        before = self.seen.get(cell.name, [])
        return cell.backend not in self.unavailable and all(
            one.status is Status.OK for one in before
        )

    def _late(self) -> bool:
        """Whether the run's time is up; every cell still gets its first replica."""
        budget = self.settings.grid.budget_s
        return budget is not None and time.monotonic() - self.started > budget

    def _ask(self, case: Case, names: tuple[str, ...], replica: int) -> dict[str, Observation]:
        assert self.pool is not None
        settings = self.settings
        visit = Visit(
            case=case,
            backends=names,
            replica=replica,
            seed=settings.seed,
            target=settings.target,
            cap_s=settings.cap_s,
            redo=settings.grid.redo,
        )
        return self.pool.visit(visit)

    def _absent(self, name: str) -> Observation:
        reason = self.unavailable[name]
        return Observation(backend=name, status=Status.UNAVAILABLE, reason=reason)

    def _record(self, cell: Cell, seen: list[Observation]) -> None:
        record, samples = combine(
            cell.case, cell.backend, seen, run=self.folder.name, suite=cell.suite
        )
        self.writer.append(replace(record, rate_share=self._rate_share(record)), samples)

    def _rate_share(self, record: Record) -> float | None:
        ceiling = self.ceilings.get("flops_per_s", {}).get(record.dtype)
        if not (ceiling and record.time_median_s and record.flops):
            return None
        return record.flops / record.time_median_s / float(ceiling)

    def conform(self, question: Question) -> Finding:
        """Ask one behaviour of one backend, say whether a fault is known, and write it down.

        A backend that has crashed three times is not asked again: each crash costs a new worker.
        """
        assert self.pool is not None
        if self.crashes[question.backend] >= CRASHES_MOST:
            reason = f"not asked: it crashed {CRASHES_MOST} times"
            found = unasked(question, self.settings.device, verdict=REFUSES, reason=reason)
        else:
            found = with_known(self.pool.conform(question, self.settings.device))
        self.crashes[question.backend] += found.verdict == CRASHES
        self.writer.append_finding(found)
        self.tell(f"conformance {question.name}")
        return found

    def finish(self) -> None:
        """End the workers and write the tables; a run is complete if every pass ended."""
        if self.pool is not None:
            self.pool.close()
        timed = sum(
            sum(map(sum, samples)) * (record.calls_per_sample or 1)
            for record, samples in self.writer.cells.values()
        )
        self.writer.finish(
            ended=now(),
            complete=self.finished == set(self.visits),
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
