"""Tools: each tool with its default, the knob that makes it more precise, and what it states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.outcome import Outcome, merged, reaches
from benchmarks.runner import Answer, Place, Settings, run_child, run_pyperf, run_pytest
from benchmarks.session import run_session
from harness.cases.grid import load_grid

REPLICAS = 3
QUARTILES = "quartiles of the samples"
# The grid whose cap is the session's default.
SESSION_GRID = "quick"


@dataclass(frozen=True, kw_only=True)
class Tool:
    """Hold one tool; `run(place, settings, target)` measures the cells at their settings.

    `default`, `first` and `most` are values of the knob: what the tool takes by itself, where the
    doubling starts and where it ends. Without a knob the tool stops by itself. `a_round` limits
    the cells of one round where each costs several starts; with `every` 3 it runs in each third
    round. `parts` says that every process has to reach the target by itself, instead of all
    samples together.
    """

    name: str
    states: str
    run: Callable[[Place, Settings, float], Answer]
    knob: str = ""
    default: float = 0.0
    first: float = 0.0
    most: float = 0.0
    a_round: int | None = None
    every: int = 1
    parts: bool = False
    clock: str = "host"

    def reached(self, found: Outcome, target: float) -> bool:
        """Whether an outcome holds the median to the target."""
        summaries = found["processes"] if self.parts else [found["pooled"]]
        return all(reaches(one, target) for one in summaries)

    def facts(self) -> dict[str, object]:
        """Return what the table tells of the tool."""
        names = ("states", "knob", "default", "a_round", "clock")
        return {name: getattr(self, name) for name in names}


def run_engine(place: Place, settings: Settings, target: float) -> Answer:
    """Time the cells in three fresh processes, one after another, and join them as a run does."""
    answers = [
        run_child(place, "engine", settings=settings, target=target, seed=seed)
        for seed in range(REPLICAS)
    ]
    replicas = [{one["cell"]: one for one in outcomes} for outcomes, _ in answers]
    joined = [merged([replica[name] for replica in replicas]) for name in settings]
    return joined, sum(spent for _, spent in answers)


def of_child(name: str) -> Callable[[Place, Settings, float], Answer]:
    """Return how to run a tool that needs one process and no more than the child."""

    def run(place: Place, settings: Settings, target: float) -> Answer:
        return run_child(place, name, settings=settings)

    return run


def plain_pytest(place: Place, settings: Settings, target: float) -> Answer:
    """Run pytest-benchmark as it comes: `max_time` decides."""
    return run_pytest(place, settings)


def precise_pytest(place: Place, settings: Settings, target: float) -> Answer:
    """Run pytest-benchmark until its own margin of the mean meets the target."""
    return run_pytest(place, settings, precise=target)


def pyperf(place: Place, settings: Settings, target: float) -> Answer:
    """Run pyperf: three values in each worker process."""
    return run_pyperf(place, settings)


def tools_for(device: str) -> list[Tool]:
    """List the tools for a device, this project's engine first; Triton's only on a GPU."""
    chip = "host" if device == "cpu" else "device"
    timer = partial(Tool, states=QUARTILES, knob="min_run_time")
    known = [
        Tool(name="engine", states="95 % interval", run=run_engine, parts=True, clock=chip),
        Tool(
            name="session", states="95 % interval", run=run_session, parts=True, clock=chip,
            default=load_grid(SESSION_GRID).cap_s, every=3,
        ),
        Tool(
            name="pytest-benchmark", states=QUARTILES, run=plain_pytest,
            knob="max_time", default=1.0, first=1 / 16, most=8.0,
        ),
        # Ten times its default, so that the precision decides and not the time.
        Tool(
            name="pytest-benchmark-precision", states=QUARTILES, run=precise_pytest,
            first=10.0, most=10.0,
        ),
        timer(
            name="torch-blocked", run=of_child("torch-blocked"),
            default=0.2, first=0.0125, most=3.2,
        ),
        timer(
            name="torch-adaptive", run=of_child("torch-adaptive"),
            default=0.01, first=0.0025, most=2.56,
        ),
        # Three processes a cell at least: two of three values, and one that calibrates.
        Tool(
            name="pyperf", states="mean ± standard deviation", run=pyperf,
            knob="processes", default=20, first=2, most=16, a_round=2,
        ),
    ]  # fmt: skip
    triton = Tool(
        name="do_bench", states="20 % and 80 % quantiles", run=of_child("do_bench"),
        knob="rep", default=0.1, first=0.00625, most=3.2, clock="device",
    )  # fmt: skip
    return known if device == "cpu" else [*known, triton]
