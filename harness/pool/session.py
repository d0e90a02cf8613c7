"""Session: one run from its cells to its files: plan the visits, send them out, store."""

from __future__ import annotations

import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness.attention.extra import extra_name
from harness.attention.known import with_known
from harness.case import Case
from harness.conformance import CRASHES, REFUSES, Finding, Question
from harness.grid import Cell
from harness.noise import noise_facts
from harness.pool.combine import combine, rate_of, too_fast, with_rate
from harness.pool.facts import now, peak_rss, run_facts
from harness.pool.orders import Visit, WorkerSpec, share_cores
from harness.pool.pool import Pool, make_pool, unasked
from harness.record import Observation, Record, Status, cell_name
from harness.remote.address import run_label
from harness.remote.publish import Publisher, check_writable
from harness.resume import read_cut_run, resumed_facts
from harness.settings import Settings
from harness.store import find_run
from harness.writer import RunWriter, new_folder

CEILING_SECONDS = 0.2
QUESTION_SECONDS = 0.02
LOSSES_MOST = 3
LARGEST_HEAP = 2**31
# A cell costs at least this in each replica, and a long call is made about 6 times at 2e10 FLOP/s.
CELL_SECONDS, FLOPS_PER_SECOND = 0.1, 2e10 / 6
# The rest is for this process, the page cache, and what grows between two looks.
GUARD_SHARE = 0.9
# Twice the rate of the fastest matrix product of the device; looked at again a few times a run.
IMPOSSIBLE, SECOND_LOOKS = 2.0, 3
LOSSES = (Status.CRASHED, Status.TIMED_OUT)
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
        self.fastest, self.second_looks = 0.0, 0
        self.lost: Counter[str] = Counter()
        self.trusted: set[str] = set()
        self.spent_s: defaultdict[str, float] = defaultdict(float)
        check_writable(settings.url)
        self.writer = self._open()
        self.publisher = Publisher(self.folder, settings.url)
        self.timed_before = self._timed_s()
        self.pool: Pool | None = None

    def _open(self) -> RunWriter:
        """Make the run's folder, or go on in that of the run to resume."""
        settings = self.settings
        names = [cell.name for cells in self.visits.values() for cell in cells]
        facts = run_facts(settings, cells=len(names))
        facts["noise"] = noise_facts(settings.results, facts["fingerprint"], cells=names)
        if settings.resume is None:
            label = f"{settings.device}-{settings.grid.name}"
            label = run_label(label, settings.url)
            return RunWriter(new_folder(settings.results, label), facts)
        folder = find_run(settings.results, newest_or(settings.resume))
        self.seen = read_cut_run(folder, facts)
        return RunWriter(folder, resumed_facts(folder, facts))

    def _discard(self) -> None:
        """Leave no trace of a run that could not start."""
        if self.settings.resume is None:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def folder(self) -> Path:
        """Folder of this run's results."""
        return self.writer.folder

    def start(self) -> None:
        """Start the workers, find out what is available, and measure the ceilings."""
        begin = time.monotonic()
        try:
            self._start()
        except BaseException:
            self._discard()
            raise
        self.writer.announce()
        self.spent_s["start"] = time.monotonic() - begin

    def _start(self) -> None:
        settings = self.settings
        cores, others = share_cores(settings.threads) if settings.device == "cpu" else ((), ())
        spec = WorkerSpec(
            device=settings.device,
            threads=settings.threads,
            cores=cores,
            memory_limit=settings.memory_limit,
            memory_guard=self._memory_guard(),
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
        # No tiny call writes off a backend of the user's own: its cells say what it does.
        asked -= set(map(extra_name, settings.extra_backends))
        self.unavailable = self.pool.probe([name for name in settings.backends if name in asked])
        dtypes = sorted({case.dtype for case in self.visits})
        self.ceilings = self.pool.ceilings(dtypes, CEILING_SECONDS)
        self.fastest = max(self.ceilings.get("flops_per_s", {}).values(), default=0.0)
        self.writer.facts |= {
            "worker": device,
            "unavailable": self.unavailable,
            "ceilings": self.ceilings,
        }
        self.writer.save_facts()

    def _memory_guard(self) -> int:
        """Return the bytes that a worker may take: the limit given, or most of what is free."""
        from harness.measure.machine import available_memory

        return self.settings.memory_limit or round(GUARD_SHARE * available_memory())

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
        names = tuple(cell.backend for cell in cells if self._wants_more(cell, replica))
        if names and not (replica and self._late()):
            for name, seen in self._ask(case, names, replica).items():
                self.lost[name] += seen.status in LOSSES
                self.seen.setdefault(cell_name(name, case), []).append(seen)
        for cell in cells:
            seen_before = self.seen.get(cell.name) or [self._absent(cell.backend)]
            if cell.name not in self.seen or cell.backend in names:
                self._record(cell, seen_before)
        self.tell(f"{cells[0].suite} {case.id}")
        self.publisher.tick()

    def _wants_more(self, cell: Cell, replica: int) -> bool:
        """Whether a backend can run here, lacks this replica, and has not failed at this case.

        One that has lost three workers is not asked again: each costs a new one, or the time
        after which it counts as hung.
        """
        before = self.seen.get(cell.name, [])
        able = cell.backend not in self.unavailable and self.lost[cell.backend] < LOSSES_MOST
        return able and len(before) <= replica and all(one.status is Status.OK for one in before)

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
            trusted=tuple(self.trusted & set(names)),
        )
        seen = self.pool.visit(visit)
        if not replica:
            self.trusted |= {name for name, one in seen.items() if one.status is Status.OK}
        return seen

    def _absent(self, name: str) -> Observation:
        if name not in self.unavailable:
            reason = f"not tried: it lost {LOSSES_MOST} workers at other cells"
            return Observation(backend=name, status=Status.CRASHED, reason=reason)
        reason = self.unavailable[name]
        return Observation(backend=name, status=Status.UNAVAILABLE, reason=reason)

    def _record(self, cell: Cell, seen: list[Observation]) -> None:
        record, samples = combine(
            cell.case, cell.backend, seen, run=self.folder.name, suite=cell.suite
        )
        record = with_rate(record, self.ceilings.get("flops_per_s", {}))
        if self._impossible(record):
            record = too_fast(record, self.fastest)
        self.writer.append(record, samples)

    def _impossible(self, record: Record) -> bool:
        """Whether a call beat every matrix product by far, also those measured now.

        The ceiling was measured in one moment, and neighbours can halve what it saw.
        """
        while rate_of(record) > IMPOSSIBLE * self.fastest > 0:
            if self.second_looks >= SECOND_LOOKS:
                return True
            assert self.pool is not None
            self.second_looks += 1
            seen = self.pool.ceilings([*self.ceilings["flops_per_s"]], CEILING_SECONDS)
            self.fastest = max(self.fastest, *seen["flops_per_s"].values())
        return False

    def conform(self, question: Question) -> Finding:
        """Ask one behaviour of one backend, say whether a fault is known, and write it down.

        A backend that has crashed three times is not asked again: each crash costs a new worker.
        """
        assert self.pool is not None
        known = self.writer.findings.get((question.backend, question.behaviour))
        if known is not None:
            return known
        if self.crashes[question.backend] >= LOSSES_MOST:
            reason = f"not asked: it crashed {LOSSES_MOST} times"
            found = unasked(question, self.settings.device, verdict=REFUSES, reason=reason)
        else:
            begin = time.monotonic()
            found = with_known(self.pool.conform(question, self.settings.device))
            self.spent_s["behaviours"] += time.monotonic() - begin
        self.crashes[question.backend] += found.verdict == CRASHES
        self.writer.append_finding(found)
        self.tell(f"conformance {question.name}")
        self.publisher.tick()
        return found

    def finish(self) -> None:
        """End the workers and write the tables; a run is complete if every pass ended."""
        if self.pool is not None:
            self.spent_s |= self.pool.spent_s
            self.pool.close()
        self.writer.finish(
            ended=now(),
            complete=self.finished == set(self.visits),
            wall_s=time.monotonic() - self.started,
            timed_s=self._timed_s() - self.timed_before,
            spent_s=dict(self.spent_s),
            peak_rss_bytes=peak_rss(),
        )

    def _timed_s(self) -> float:
        return sum(
            sum(map(sum, samples)) * (record.calls_per_sample or 1)
            for record, samples in self.writer.cells.values()
        )


def newest_or(name: str) -> str | None:
    """Return None, which means the newest run, for `latest`."""
    return None if name == "latest" else name


def stay_on(cores: tuple[int, ...]) -> None:
    """Keep this process off the workers' cores."""
    if cores:
        import os

        with suppress(OSError):
            os.sched_setaffinity(0, cores)
