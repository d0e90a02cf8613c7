"""Session: one run from its cells to its files: plan the visits, send them out, store."""

from __future__ import annotations

import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from harness.attention.backend import extra_name
from harness.attention.behaviours.known import with_known
from harness.cases.case import Case, cell_name
from harness.cases.grid import Cell
from harness.measure.protocol import Visit
from harness.records.noise import noise_facts
from harness.records.record import CRASHES, REFUSES, Finding, Observation, Question, Record, Status
from harness.records.remote.address import run_label
from harness.records.store import find_run
from harness.records.writer import RunWriter, new_folder
from harness.run.pool import Pool, unasked
from harness.run.publish import Publisher, check_writable
from harness.run.replicas import combine
from harness.run.resume import read_cut_run, resumed_facts
from harness.run.settings import Settings
from harness.run.start import Ceilings, hire, now, peak_rss, run_facts

QUESTION_SECONDS = 0.02
LOSSES_MOST = 3
# A cell costs at least this in each replica, and a long call is made about 6 times at 2e10 FLOP/s.
CELL_SECONDS, FLOPS_PER_SECOND = 0.1, 2e10 / 6
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
        self.ceilings: Ceilings | None = None
        self.crashes: Counter[str] = Counter()
        self.started = time.monotonic()
        self.lost: Counter[str] = Counter()
        self.trusted: set[str] = set()
        self.spent_s: defaultdict[str, float] = defaultdict(float)
        check_writable(settings.url)
        self.writer = self._open()
        self.recorded = set(self.seen)
        self.publisher = Publisher(self.folder, settings.url)
        self.timed_before = self._timed_s()
        self.pool: Pool | None = None

    def _open(self) -> RunWriter:
        """Make the run's folder, or go on in that of the run to resume."""
        settings = self.settings
        names = [cell.name for cells in self.visits.values() for cell in cells]
        facts = run_facts(settings, cells=len(names))
        facts["noise"] = noise_facts(settings.results, facts["fingerprint"], cells=names)
        if settings.look is not None:
            facts["confirms"] = settings.look.run
        if settings.resume is None:
            kind = "confirm-" if settings.look else ""
            label = run_label(f"{settings.device}-{kind}{settings.grid.name}", settings.url)
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
        cells = [cell for cells in self.visits.values() for cell in cells]
        self.pool = hire(settings, cells)
        device = self.pool.hello()
        asked = {cell.backend for cell in cells}
        asked |= {question.backend for question in self.questions}
        # No tiny call writes off a backend of the user's own: its cells say what it does.
        asked -= set(map(extra_name, settings.extra_backends))
        self.unavailable = self.pool.probe([name for name in settings.backends if name in asked])
        dtypes = sorted({case.dtype for case in self.visits})
        self.ceilings = Ceilings(self.pool.ceilings, dtypes)
        self.writer.facts |= {
            "worker": device,
            "unavailable": self.unavailable,
            "ceilings": self.ceilings.measured,
        }
        self.writer.save_facts()

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
            if cell.name not in self.recorded or cell.backend in names:
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
        assert self.ceilings is not None
        self.writer.append(self.ceilings.judge(record), samples)
        self.recorded.add(cell.name)

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
