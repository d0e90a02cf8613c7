"""Session: one run from its cells to its files: send out the plan's visits, write what comes."""

from __future__ import annotations

import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from harness.attention.backend import extra_name
from harness.attention.behaviours.known import with_known
from harness.cases.case import Case
from harness.cases.grid import Cell
from harness.measure.protocol import Visit
from harness.records.record import CRASHES, REFUSES, Finding, Observation, Question, Record
from harness.run.ceilings import Ceilings
from harness.run.plan import Plan
from harness.run.pool import Pool, unasked
from harness.run.publish import Publisher, check_writable
from harness.run.replicas import combine
from harness.run.settings import Settings
from harness.run.start import now, open_run, peak_rss, start_workers

# A backend that crashed so often is asked no more questions: each crash costs a new worker.
MOST_CRASHES = 3
Outcome = tuple[Record, list[list[float]]]


class Session:
    """Run cells: each replica in turn through all cases. `on_step` is told of each visit's end.

    In this order: `start`, the questions with `conform`, `run_passes`, `outcome` of each cell,
    and `finish`, which must come whatever went wrong.
    """

    def __init__(
        self,
        settings: Settings,
        cells: Iterable[Cell],
        on_step: Callable[[str], None],
        *,
        questions: Sequence[Question] = (),
    ) -> None:
        self.settings, self.on_step, self.questions = settings, on_step, questions
        self.cells = list(cells)
        self.started = time.monotonic()
        check_writable(settings.url)
        self.writer, seen = open_run(settings, self.cells)
        budget_s = float("inf") if settings.grid.budget_s is None else settings.grid.budget_s
        self.plan = Plan(
            self.cells,
            replicas=settings.replicas,
            deadline=self.started + budget_s,
            seen=seen,
        )
        self.recorded = set(seen)
        self.publisher = Publisher(self.folder, settings.url)
        self.timed_before = self._timed_s()
        self.spent_s: defaultdict[str, float] = defaultdict(float)
        self.crashes: Counter[str] = Counter()
        self.passes_begun = False
        self.finished: set[Case] = set()
        self.pool: Pool | None = None
        self.ceilings: Ceilings | None = None

    @property
    def folder(self) -> Path:
        """Folder of this run's results."""
        return self.writer.folder

    @property
    def unavailable(self) -> dict[str, str]:
        """{backend: why it cannot run here}; known after `start`."""
        return self.plan.unavailable

    def start(self) -> None:
        """Start the workers, find out what is available, and measure the ceilings.

        A new run that cannot start leaves no folder.
        """
        begin = time.monotonic()
        try:
            self._start()
        except BaseException:
            if self.settings.resume is None:
                shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.writer.announce()
        self.spent_s["start"] = time.monotonic() - begin

    def _start(self) -> None:
        settings = self.settings
        self.pool = start_workers(settings, self.cells)
        device = self.pool.hello()
        asked = {cell.backend for cell in self.cells}
        asked |= {question.backend for question in self.questions}
        # No tiny call writes off a backend of the user's own: its cells say what it does.
        asked -= set(map(extra_name, settings.extra_backends))
        tried = [name for name in settings.backends if name in asked]
        self.plan.unavailable = self.pool.probe(tried)
        dtypes = sorted({cell.case.dtype for cell in self.cells})
        self.ceilings = Ceilings(self.pool.ceilings, dtypes)
        self.writer.facts |= {
            "worker": device,
            "unavailable": self.plan.unavailable,
            "ceilings": self.ceilings.measured,
        }
        self.writer.save_facts()

    def steps(self) -> list[float]:
        """Guess the seconds of each question and each visit of each pass; only ratios count."""
        return self.plan.guesses(self.questions)

    def run_passes(self) -> None:
        """Measure every pass but the last, on the first call; later ones do nothing.

        A pass takes one replica through all cases, so that the replicas of a cell lie minutes
        apart: a neighbour that slows the machine for a while then shows as spread between
        replicas instead of bending a curve. The last pass follows the order of `outcome`.
        """
        if self.passes_begun:
            return
        self.passes_begun = True
        for case, replica in self.plan.first_passes():
            self._visit(case, replica)

    def outcome(self, cell: Cell) -> Outcome:
        """Return a cell's record and samples, after its case's visit of the last pass."""
        assert self.passes_begun, "run_passes comes first"
        if cell.case not in self.finished:
            self._visit(cell.case, self.settings.replicas - 1)
            self.finished.add(cell.case)
        return self.writer.cells[cell.name]

    def _visit(self, case: Case, replica: int) -> None:
        """Measure a case in one replica and write its cells, as far as they are known."""
        plan, cells = self.plan, self.plan.cells[case]
        backends = plan.backends_to_ask(case, replica)
        if backends and plan.has_time_for(replica):
            plan.keep(case, replica, self._measure(case, backends, replica))
        for cell in cells:
            if cell.name not in self.recorded or cell.backend in backends:
                self._record(cell)
        self.on_step(f"{cells[0].suite} {case.id}")
        self.publisher.tick()

    def _measure(
        self, case: Case, backends: tuple[str, ...], replica: int
    ) -> dict[str, Observation]:
        assert self.pool is not None
        settings = self.settings
        visit = Visit(
            case=case,
            backends=backends,
            replica=replica,
            seed=settings.seed,
            target=settings.target,
            cap_s=settings.cap_s,
            redo=settings.grid.redo,
            trusted=tuple(self.plan.trusted & set(backends)),
        )
        return self.pool.visit(visit)

    def _record(self, cell: Cell) -> None:
        """Write a cell as its replicas saw it so far; too fast a one may call for a worker."""
        assert self.ceilings is not None
        seen = self.plan.seen_of(cell)
        record, samples = combine(
            cell.case, cell.backend, seen, run=self.folder.name, suite=cell.suite
        )
        self.ceilings.recheck_too_fast(record)
        self.writer.append(self.ceilings.judge(record), samples)
        self.recorded.add(cell.name)

    def conform(self, question: Question) -> Finding:
        """Ask one behaviour of one backend, say whether a fault is known, and write it down."""
        assert self.pool is not None
        known = self.writer.findings.get((question.backend, question.behaviour))
        if known is not None:
            return known
        if self.crashes[question.backend] >= MOST_CRASHES:
            reason = f"not asked: it crashed {MOST_CRASHES} times"
            found = unasked(question, self.settings.device, verdict=REFUSES, reason=reason)
        else:
            begin = time.monotonic()
            found = with_known(self.pool.conform(question, self.settings.device))
            self.spent_s["behaviours"] += time.monotonic() - begin
        self.crashes[question.backend] += found.verdict == CRASHES
        self.writer.append_finding(found)
        self.on_step(f"conformance {question.name}")
        self.publisher.tick()
        return found

    def finish(self) -> None:
        """End the workers and write the tables; a run is complete if every pass ended."""
        if self.pool is not None:
            self.spent_s |= self.pool.spent_s
            self.pool.close()
        self.writer.finish(
            ended=now(),
            complete=self.finished == set(self.plan.cells),
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
