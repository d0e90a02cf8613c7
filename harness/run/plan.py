"""Plan: which cases a run visits in which order, and which backends each visit still has to ask.

It keeps what every visit saw, since that decides what is asked next.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from harness.cases.case import Case, cell_name
from harness.cases.grid import Cell
from harness.records.record import Observation, Question, Status

# A cell costs at least this in each replica, and a long call is made about 6 times at 2e10 FLOP/s.
CELL_SECONDS, FLOPS_PER_SECOND = 0.1, 2e10 / 6
QUESTION_SECONDS = 0.02
# Each loss costs a new worker, or the time after which one counts as hung.
MOST_LOSSES = 3
LOSSES = (Status.CRASHED, Status.TIMED_OUT)


class Plan:
    """Hold the cells of a run by case, and what its replicas have seen of each.

    `seen` is what a run that goes on has seen before. After the `deadline`, in seconds of
    time.monotonic, only the first replica is measured.
    """

    def __init__(
        self,
        cells: Iterable[Cell],
        *,
        replicas: int,
        deadline: float,
        seen: dict[str, list[Observation]],
    ) -> None:
        self.replicas, self.deadline, self.seen = replicas, deadline, seen
        self.cells: dict[Case, list[Cell]] = {}
        for cell in cells:
            self.cells.setdefault(cell.case, []).append(cell)
        # {backend: why it cannot run here}: known once the workers have tried.
        self.unavailable: dict[str, str] = {}
        self.losses: Counter[str] = Counter()
        # Backends that have been asked with other values and gave another answer.
        self.trusted: set[str] = set()

    def first_passes(self) -> Iterator[tuple[Case, int]]:
        """Yield (case, replica) for all passes but the last, every other pass backwards."""
        cases = list(self.cells)
        for replica in range(self.replicas - 1):
            for case in reversed(cases) if replica % 2 else cases:
                yield case, replica

    def guesses(self, questions: Sequence[Question]) -> list[float]:
        """Guess the seconds of each question and each visit of each pass; only ratios count."""
        one_pass = [self._guess(case) for case in self.cells]
        asked = [one for one in questions if one.backend not in self.unavailable]
        return [QUESTION_SECONDS] * len(asked) + one_pass * self.replicas

    def _guess(self, case: Case) -> float:
        asked = sum(cell.backend not in self.unavailable for cell in self.cells[case])
        return asked * (CELL_SECONDS + case.flops() / FLOPS_PER_SECOND)

    def backends_to_ask(self, case: Case, replica: int) -> tuple[str, ...]:
        """List the backends of a case that can run, lack this replica, and have not failed at it.

        One that has lost three workers is not asked again.
        """
        return tuple(
            cell.backend for cell in self.cells[case] if self._lacks_replica(cell, replica)
        )

    def _lacks_replica(self, cell: Cell, replica: int) -> bool:
        before = self.seen.get(cell.name, [])
        able = cell.backend not in self.unavailable and self.losses[cell.backend] < MOST_LOSSES
        return able and len(before) <= replica and all(one.status is Status.OK for one in before)

    def has_time_for(self, replica: int) -> bool:
        """Whether there is time left; every cell gets its first replica all the same."""
        return not replica or time.monotonic() <= self.deadline

    def keep(self, case: Case, replica: int, seen: dict[str, Observation]) -> None:
        """Take over what a visit saw of each backend."""
        for backend, one in seen.items():
            self.losses[backend] += one.status in LOSSES
            self.seen.setdefault(cell_name(backend, case), []).append(one)
        if not replica:
            self.trusted |= {name for name, one in seen.items() if one.status is Status.OK}

    def seen_of(self, cell: Cell) -> list[Observation]:
        """Return what the replicas saw of a cell, or why nobody looked."""
        return self.seen.get(cell.name) or [self._not_asked(cell.backend)]

    def _not_asked(self, backend: str) -> Observation:
        if backend not in self.unavailable:
            reason = f"not tried: it lost {MOST_LOSSES} workers at other cells"
            return Observation(backend=backend, status=Status.CRASHED, reason=reason)
        reason = self.unavailable[backend]
        return Observation(backend=backend, status=Status.UNAVAILABLE, reason=reason)
