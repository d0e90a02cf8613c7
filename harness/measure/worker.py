"""Worker: the process that owns a device; it takes orders as JSON lines and answers likewise."""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from harness.measure.protocol import (
    HEAP_STEP_BYTES,
    IDLE,
    SETUP,
    Heartbeat,
    Mark,
    Visit,
    WorkerSpec,
)

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve orders from standard input until it ends; answer on the given descriptor."""
    spec = WorkerSpec.from_dict(json.loads(sys.argv[1]))
    answers = os.fdopen(int(sys.argv[2]), "w", buffering=1)
    heartbeat = Heartbeat(Path(sys.argv[3]))
    die_with_parent(int(sys.argv[4]))
    # The parent asks a worker that hangs where it is stuck.
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    orders = os.fdopen(os.dup(0), "r")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    worker = Worker(spec, heartbeat.mark)
    for line in orders:
        heartbeat.mark(SETUP)
        answer = worker.answer(json.loads(line))
        heartbeat.mark(IDLE)
        answers.write(json.dumps(answer, allow_nan=False) + "\n")


def die_with_parent(parent: int) -> None:
    """Ask Linux to kill this process when its parent dies, even by kill -9 during a hang."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


class Worker:
    """Carry out orders on one device; the only holder of torch."""

    def __init__(self, spec: WorkerSpec, mark: Mark, *, in_child: bool = True) -> None:
        if spec.cores:
            os.sched_setaffinity(0, spec.cores)
        self.spec = spec
        self.mark = mark
        self.in_child = in_child
        from harness.attention.backend import extra_name, load_extra
        from harness.attention.backends import BACKENDS
        from harness.measure.host_memory import bound_memory
        from harness.measure.setup import set_up
        from harness.records.noise import with_twins

        set_up(spec.device, spec.threads, heap_bytes=spec.heap_bytes)
        if in_child and spec.memory_guard is not None:
            bound_memory(spec.memory_guard + HEAP_STEP_BYTES, spec.device)
        own = {extra_name(one): load_extra(one) for one in spec.extra_backends}
        self.backends = with_twins(BACKENDS | own)

    def answer(self, order: dict[str, Any]) -> dict[str, Any]:
        """Carry out one order and return a JSON-ready answer."""
        action = {
            "hello": self.hello,
            "probe": self.probe,
            "ceilings": self.ceilings,
            "conform": self.conform,
            "explain": self.explain,
            "visit": self.visit,
        }[order["do"]]
        return action(order)

    def hello(self, order: dict[str, Any]) -> dict[str, Any]:
        """Say what this process is: facts of the machine as torch sees it."""
        from harness.measure.setup import device_facts

        return device_facts(self.spec.device)

    def probe(self, order: dict[str, Any]) -> dict[str, Any]:
        """Make a tiny call on each backend and return {backend: reason it is unavailable}."""
        from harness.attention.probe import probe

        reasons: dict[str, Any] = {}
        for index, name in enumerate(order["backends"]):
            self.mark(index)
            reasons[name] = probe(self.backends[name], self.spec.device)
        return {name: reason for name, reason in reasons.items() if reason is not None}

    def conform(self, order: dict[str, Any]) -> dict[str, Any]:
        """Ask one behaviour of one backend and return the finding."""
        from harness.attention.behaviours import BEHAVIOURS
        from harness.measure.questions import examine

        self.mark(0)
        backend, behaviour = self.backends.get(order["backend"]), BEHAVIOURS[order["behaviour"]]
        found = examine(backend, behaviour, self.spec.device, in_child=self.in_child)
        return found.as_dict() | {"backend": order["backend"]}

    def explain(self, order: dict[str, Any]) -> dict[str, Any]:
        """Give one backend's answer to an example."""
        from harness.measure.questions import answer_example

        self.mark(0)
        return answer_example(self.backends[order["backend"]], order)

    def ceilings(self, order: dict[str, Any]) -> dict[str, Any]:
        """Measure what the device can do at most, for each dtype asked for."""
        from harness.measure.device import device_for
        from harness.measure.setup import measure_ceilings

        device = device_for(self.spec.device)
        return measure_ceilings(device, order["dtypes"], seconds=order["seconds"])

    def visit(self, order: dict[str, Any]) -> dict[str, Any]:
        """Measure one case on some backends.

        Returns {"seen": {backend: observation}, "broken": whether this process is past use,
        "spent_s": seconds by purpose}; a backend that is not in `seen` has to be asked again, in
        a fresh worker.
        """
        from harness.measure.visit import measure_visit

        done = measure_visit(
            Visit.from_dict(order), self.backends, limit=self.spec.memory_limit, mark=self.mark
        )
        seen = {name: one.as_dict() for name, one in done.seen.items()}
        return {"seen": seen, "broken": done.broken, "spent_s": done.spent_s}


if __name__ == "__main__":
    main()
