"""Pools: replicas that take turns; a lost worker costs one cell and is replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from harness.measure.protocol import Visit, WorkerSpec, finding
from harness.records.record import CRASHES, Finding, Observation, Question
from harness.run.process import WorkerLost, WorkerProcess

# A tiny call or an example takes no longer, even where a backend compiles.
PROBING_TIMEOUT_S = 120.0


class Replica(Protocol):
    """One holder of a device that answers orders."""

    def ask(self, order: dict[str, Any]) -> dict[str, Any]: ...  # noqa: D102
    def restart(self) -> None: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102


class InlineReplica:
    """Answer orders in this very process: for debugging; nothing guards against a crash."""

    def __init__(self, spec: WorkerSpec) -> None:
        from harness.measure.worker import Worker

        self._worker = Worker(replace(spec, cores=()), lambda index: None, in_child=False)

    def ask(self, order: dict[str, Any]) -> dict[str, Any]:
        """Carry out the order here."""
        return self._worker.answer(order)

    def restart(self) -> None:
        """There is nothing to replace."""

    def close(self) -> None:
        """There is nothing to end."""


class Pool:
    """Hold the replicas of one device; only one is asked at a time, or they would interfere."""

    def __init__(self, replicas: list[Replica]) -> None:
        self.replicas = replicas
        self.spent_s: dict[str, float] = {}

    def hello(self) -> dict[str, Any]:
        """Wait until every worker is up and return the facts of the first."""
        first, *_ = [self._ask(replica, {"do": "hello"}) for replica in self.replicas]
        return first

    def probe(self, backends: list[str]) -> dict[str, str]:
        """Return {backend: reason} for those that fail a tiny call, even by a crash."""
        reasons: dict[str, str] = {}
        todo = list(backends)
        while todo:
            try:
                return reasons | self.replicas[0].ask({"do": "probe", "backends": todo})
            except WorkerLost as lost:
                self.replicas[0].restart()
                if lost.index < 0:
                    raise
                name = todo.pop(lost.index)
                reasons[name] = f"its tiny call failed: {lost.reason}"
                # Those before it have answered, but their answers died with the worker.
        return reasons

    def ceilings(self, dtypes: list[str], seconds: float) -> dict[str, Any]:
        """Measure the device's ceilings in the first replica."""
        order = {"do": "ceilings", "dtypes": dtypes, "seconds": seconds}
        return self._ask(self.replicas[0], order)

    def _ask(self, replica: Replica, order: dict[str, Any]) -> dict[str, Any]:
        try:
            return replica.ask(order)
        except WorkerLost as lost:
            self.close()
            raise ValueError(f"a worker could not answer {order['do']}: {lost.reason}") from None

    def visit(self, visit: Visit) -> dict[str, Observation]:
        """Measure a visit in the replica it names."""
        return ask_visit(self.replicas[visit.replica], visit, self.spent_s)

    def conform(self, question: Question, device: str) -> Finding:
        """Ask one behaviour of one backend in the first replica; a crash is its answer."""
        order = {"do": "conform", "backend": question.backend, "behaviour": question.behaviour}
        try:
            found = Finding.from_dict(self.replicas[0].ask(order))
        except WorkerLost as lost:
            found = unasked(question, device, verdict=CRASHES, reason=lost.reason)
        if found.verdict == CRASHES:
            self.replicas[0].restart()
        return found

    def explain(self, order: dict[str, Any], backends: list[str]) -> dict[str, dict[str, Any]]:
        """Return each backend's answer to an example, or the reason why there is none."""
        answers = {}
        for name in backends:
            try:
                answers[name] = self.replicas[0].ask(order | {"backend": name})
            except WorkerLost as lost:
                self.replicas[0].restart()
                answers[name] = {"reason": lost.reason}
        return answers

    def close(self) -> None:
        """End every replica; a second call does nothing."""
        for replica in self.replicas:
            replica.close()
        self.replicas = []


def ask_visit(replica: Replica, visit: Visit, spent_s: dict[str, float]) -> dict[str, Observation]:
    """Ask one replica until every backend has an observation; add to the seconds by purpose.

    When the worker is lost, the backend at work gets the blame and the others are asked again
    in a fresh worker; a loss outside any backend (inputs, oracle) is blamed on all of them.
    """
    seen: dict[str, Observation] = {}
    todo = list(visit.backends)
    while todo:
        try:
            answer = replica.ask(replace(visit, backends=tuple(todo)).as_dict())
        except WorkerLost as lost:
            replica.restart()
            guilty = [todo[lost.index]] if lost.index >= 0 else todo
            answer = {"seen": {name: observation_of(name, lost).as_dict() for name in guilty}}
        else:
            for purpose, seconds in answer["spent_s"].items():
                spent_s[purpose] = spent_s.get(purpose, 0.0) + seconds
            if answer["broken"]:
                replica.restart()
        seen |= {name: Observation.from_dict(one) for name, one in answer["seen"].items()}
        todo = [name for name in todo if name not in seen]
    return seen


def observation_of(name: str, lost: WorkerLost) -> Observation:
    """Return what a lost worker says of the backend that was at work."""
    return Observation(backend=name, status=lost.status, reason=lost.reason)


def unasked(question: Question, device: str, *, verdict: str, reason: str) -> Finding:
    """Make the finding of a question that nobody answered."""
    from harness.attention.behaviours import BEHAVIOURS

    behaviour = BEHAVIOURS[question.behaviour]
    return finding(question.backend, behaviour, device, verdict=verdict, reason=reason)


def make_pool(kind: str, spec: WorkerSpec, *, replicas: int, timeout_s: float) -> Pool:
    """Start a pool: `local` (worker processes) or `inline` (this process, for debugging)."""
    makers: dict[str, Callable[[], Replica]] = {
        "local": lambda: WorkerProcess(spec, timeout_s=timeout_s),
        "inline": lambda: InlineReplica(spec),
    }
    if kind not in makers:
        raise ValueError(f"unknown pool {kind!r}; valid: {', '.join(makers)}")
    return Pool([makers[kind]() for _ in range(replicas)])


@contextmanager
def probing_pool(device: str) -> Iterator[Pool]:
    """Hold one worker that times nothing: it tells what works here, or works out an example."""
    spec = WorkerSpec(device=device)
    pool = make_pool("local", spec, replicas=1, timeout_s=PROBING_TIMEOUT_S)
    try:
        yield pool
    finally:
        pool.close()
