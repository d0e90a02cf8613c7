"""Protocol: all that parent and worker share: orders, findings, environment, the heartbeat."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from harness.cases.case import Case
from harness.records.record import REFUSES, Finding

if TYPE_CHECKING:
    from harness.attention.behaviours.behaviour import Behaviour

# What a worker is at when it is at no backend.
STARTING, IDLE, SETUP = -3, -2, -1
WORDS = 2
# The heap grows in steps of this.
HEAP_STEP_BYTES = 2**29
HOME = str(Path(__file__).resolve().parents[2])
# Told the number of the backend at work, or one of the above.
Mark = Callable[[int], None]


class Heartbeat:
    """Share (index of the backend at work, monotonic nanoseconds) through a small file.

    A mark costs under a microsecond and no system call, so that it can be set before every
    timed sample; after a crash or a hang it names the culprit. CLOCK_MONOTONIC is the same in
    every process of the machine. Each word is stored whole (struct.pack_into would zero the
    bytes first, and a reader in that moment saw a worker that had hung since 1970), the time
    before the index, so that a reader between the two blames the earlier backend for nothing.
    """

    def __init__(self, path: Path) -> None:
        new = not path.exists()
        if new:
            path.write_bytes(bytes(8 * WORDS))
        with path.open("r+b") as file:
            self._words = memoryview(mmap.mmap(file.fileno(), 8 * WORDS)).cast("q")
        if new:
            self.mark(IDLE)

    def mark(self, index: int) -> None:
        """Say that backend number `index` (or SETUP, IDLE, STARTING) starts something now."""
        self._words[1] = time.monotonic_ns()
        self._words[0] = index

    def read(self) -> tuple[int, float]:
        """Return (index, seconds since its last mark)."""
        index, started = self._words
        return index, (time.monotonic_ns() - started) / 1e9


@dataclass(frozen=True, kw_only=True)
class WorkerSpec:
    """Say how a worker runs: its device, threads, cores, and the backends beside the built-in.

    `heap_bytes` of the host's heap are touched at the start, so that no timed call is the one
    that makes it grow. `memory_limit` refuses cells by estimate; what takes more than
    `memory_guard` bytes all the same fails, before the system runs out. Both in bytes.
    """

    device: str
    threads: int = 1
    cores: tuple[int, ...] = ()
    memory_limit: int | None = None
    memory_guard: int | None = None
    heap_bytes: int = 0
    extra_backends: tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild a spec from its JSON form."""
        tuples = {name: tuple(values[name]) for name in ("cores", "extra_backends")}
        return cls(**values | tuples)


@dataclass(frozen=True, kw_only=True)
class Visit:
    """Ask for one case on some backends.

    Replica 0 checks agreement and peak memory before it times; the others only time. `seed`
    draws the inputs, the same in every replica; seed and replica shuffle the rounds.
    `redo` is how often a visit is timed again if the machine was busy or hot. `trusted` are
    backends that have been asked with other values before, and gave another answer.
    """

    case: Case
    backends: tuple[str, ...]
    replica: int = 0
    seed: int
    target: float
    cap_s: float
    redo: int = 0
    trusted: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the order as plain JSON values."""
        return asdict(self) | {"do": "visit"}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild an order from its JSON form."""
        fields = {name: value for name, value in values.items() if name != "do"}
        tuples = {name: tuple(fields[name]) for name in ("backends", "trusted")}
        return cls(**fields | tuples | {"case": Case(**fields["case"])})


def finding(
    backend: str,
    behaviour: Behaviour,
    device: str,
    *,
    verdict: str = REFUSES,
    dtype: str | None = None,
    expected: str | None = None,
    observed: str | None = None,
    reason: str | None = None,
) -> Finding:
    """Make a finding; its dtype is the first that the behaviour asks for, unless given."""
    return Finding(
        backend=backend,
        behaviour=behaviour.id,
        device=device,
        dtype=dtype or behaviour.dtypes[0],
        expected=expected or behaviour.sentence,
        observed=observed,
        verdict=verdict,
        reason=reason,
    )


def worker_environment(spec: WorkerSpec, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a worker; it must be set before the worker starts.

    The malloc settings keep freed pages: without them a large tensor faults its pages in on
    every call, which triples the time of the naive backend and bends its exponent (measured).
    """
    threads = str(spec.threads)
    return {
        **environment,
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": "4294967296",
        "MALLOC_TOP_PAD_": str(HEAP_STEP_BYTES),
        "KINETO_LOG_LEVEL": "99",
        "PYTHONUNBUFFERED": "1",
        # A checkout need not be installed: workers find the suite where the parent found it.
        "PYTHONPATH": os.pathsep.join(filter(None, (HOME, environment.get("PYTHONPATH")))),
    }


def share_cores(threads: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Split this process's cores into (the worker's, the parent's).

    Workers get the last `threads` cores, the parent the rest, so that drawing a progress bar
    does not disturb a timing. Both are empty where pinning is not possible or leaves nothing.
    """
    if not hasattr(os, "sched_getaffinity"):
        return (), ()
    cores = tuple(sorted(os.sched_getaffinity(0)))
    if threads >= len(cores):
        return (), ()
    return cores[-threads:], cores[:-threads]


def default_threads() -> int:
    """Return all usable cores but one, at least one.

    With every core busy any neighbour makes a call wait for the scheduler's tick.
    """
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)) - 1)
    return max(1, (os.cpu_count() or 1) - 1)
