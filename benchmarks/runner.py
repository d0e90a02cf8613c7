"""Runner: start each tool in fresh processes, all in one environment and on the same core."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.outcome import Outcome, outcome, quartiles
from harness.measure.protocol import HOME, WorkerSpec, share_cores, worker_environment

LAST_LINES = 5
Settings = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Say where tools run: device, threads, and a folder for what they write."""

    device: str
    threads: int
    folder: Path

    def run(self, command: list[str], order: Mapping[str, Any], *, pinned: bool = True) -> float:
        """Run a command to its end and return its seconds; ValueError with its last words."""
        environment = worker_environment(
            WorkerSpec(device=self.device, threads=self.threads), os.environ
        )
        environment["PEERS_ORDER"] = json.dumps(order)
        begin = time.perf_counter()
        with pin(self.threads if pinned and self.device == "cpu" else 0):
            done = subprocess.run(
                command, env=environment, cwd=HOME, capture_output=True, text=True
            )
        spent = time.perf_counter() - begin
        if done.returncode:
            words = (done.stdout + done.stderr).strip().splitlines()[-LAST_LINES:]
            raise ValueError(f"{' '.join(command[1:4])} failed: {' | '.join(words)[-400:]}")
        return spent

    def order(self, settings: Settings, **more: Any) -> dict[str, Any]:
        """Make the order that a tool's process reads."""
        known = {"device": self.device, "threads": self.threads, "settings": dict(settings)}
        return known | more


class pin:
    """Keep what is started inside on the cores that the pool gives to its workers."""

    def __init__(self, threads: int) -> None:
        self.cores = share_cores(threads)[0] if threads else ()

    def __enter__(self) -> None:
        """Move this process, so that its children are born there."""
        if self.cores:
            self.before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, self.cores)

    def __exit__(self, *_: object) -> None:
        """Move it back."""
        if self.cores:
            os.sched_setaffinity(0, self.before)


Answer = tuple[list[Outcome], float]


def run_child(place: Place, tool: str, *, settings: Settings, **more: Any) -> Answer:
    """Measure all cells in one fresh process; return the outcomes and its wall time in seconds."""
    answer = place.folder / "answer.json"
    order = place.order(settings, tool=tool, answer=str(answer), **more)
    command = [sys.executable, "-m", "benchmarks.child", json.dumps(order)]
    spent = place.run(command, order)
    return json.loads(answer.read_text(encoding="utf-8")), spent


def run_pytest(place: Place, settings: Settings, *, precise: float | None = None) -> Answer:
    """Measure all cells with pytest-benchmark, in one run of pytest that knows nothing else."""
    answer, bare = place.folder / "benchmark.json", place.folder / "pytest.ini"
    answer.unlink(missing_ok=True)
    bare.write_text("[pytest]\n", encoding="utf-8")
    script = str(Path(__file__).with_name("pytest_cells.py"))
    command = [sys.executable, "-m", "pytest", script, "-q", "-c", str(bare), "--noconftest"]
    command += [f"--benchmark-json={answer}", "-p", "no:cacheprovider", "-W", "ignore"]
    spent = place.run(command, place.order(settings, precise=precise))
    found = json.loads(answer.read_text(encoding="utf-8"))["benchmarks"]
    return [from_pytest(one) for one in found], spent


def from_pytest(found: Mapping[str, Any]) -> Outcome:
    """Take over what pytest-benchmark prints of one test: the median and the quartiles."""
    stats, extra = found["stats"], found["extra_info"]
    return outcome(
        extra["cell"],
        [stats["data"]],
        estimate_s=stats["median"],
        stated_s=quartiles(stats["data"]),
        measure_s=extra["measure_s"],
    )


def run_pyperf(place: Place, settings: Settings) -> Answer:
    """Measure cells with pyperf; cells of one number of processes share a start of its manager."""
    outcomes: list[Outcome] = []
    spent = 0.0
    for processes in sorted(set(settings.values())):
        group = {name: one for name, one in settings.items() if one == processes}
        answer = place.folder / "pyperf.json"
        answer.unlink(missing_ok=True)
        command = [sys.executable, str(Path(__file__).with_name("pyperf_cells.py")), "--quiet"]
        command += ["--copy-env", f"--processes={processes:.0f}", "-o", str(answer)]
        spent += place.run(command, place.order(group))
        outcomes += read_pyperf(answer)
    return outcomes, spent


def read_pyperf(answer: Path) -> list[Outcome]:
    """Read pyperf's file with pyperf, which knows where it keeps what."""
    import pyperf

    return [from_pyperf(one) for one in pyperf.BenchmarkSuite.load(str(answer)).get_benchmarks()]


def from_pyperf(found: Any) -> Outcome:
    """Take over what pyperf prints of one benchmark: mean and standard deviation of the values."""
    runs = found.get_runs()
    middle, spread = found.mean(), found.stdev()
    return outcome(
        found.get_name(),
        [run.values for run in runs if run.values],
        estimate_s=middle,
        stated_s=(middle - spread, middle + spread),
        measure_s=sum(map(timed_seconds, runs)),
    )


def timed_seconds(run: Any) -> float:
    """Return the seconds that a worker of pyperf timed, to warm up and to calibrate included."""
    warm = sum(loops * value for loops, value in run.warmups)
    return float(warm + run.get_total_loops() * sum(run.values))
