"""Child: a fresh process that measures cells with one tool and writes the outcomes as JSON.

Order: {tool, device, threads, settings: {cell: setting}, target, seed, answer: path}.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cells import Call, by_case, ready_call, start_torch
from benchmarks.outcome import Outcome, outcome, quartiles
from benchmarks.references import Found, hot, turns

# As in the engine: no cap that a converging cell would reach.
ENGINE_CAP_S = 10.0


def main() -> None:
    """Carry out the order given as the only argument."""
    order = json.loads(sys.argv[1])
    measure = TOGETHER.get(order["tool"], one_by_one)
    start_torch(order["device"], order["threads"])
    Path(order["answer"]).write_text(json.dumps(measure(order)), encoding="utf-8")


def one_by_one(order: dict[str, Any]) -> list[Outcome]:
    """Measure each cell by itself, in the order given."""
    tool = TOOLS[order["tool"]]
    return [one(name, tool, setting, order=order) for name, setting in order["settings"].items()]


def one(
    name: str, tool: Callable[..., Found], setting: float, *, order: dict[str, Any]
) -> Outcome:
    """Measure one cell."""
    call = ready_call(name, order["device"])
    begin = time.perf_counter()
    samples, estimate, stated = tool(call, setting, order)
    spent = time.perf_counter() - begin
    return outcome(name, [samples], estimate_s=estimate, stated_s=stated, measure_s=spent)


def blocked(call: Call, setting: float, order: dict[str, Any]) -> Found:
    """Ask torch's Timer for blocks until `setting` seconds are spent (its default: 0.2)."""
    return torch_found(torch_timer(call, order).blocked_autorange(min_run_time=setting))


def adaptive(call: Call, setting: float, order: dict[str, Any]) -> Found:
    """Ask torch's Timer for blocks until their quartiles are close, after `setting` seconds."""
    return torch_found(torch_timer(call, order).adaptive_autorange(min_run_time=setting))


def torch_timer(call: Call, order: dict[str, Any]) -> Any:
    """Make torch's Timer; it waits for a GPU by itself."""
    from torch.utils.benchmark import Timer

    return Timer(stmt="call()", globals={"call": call}, num_threads=order["threads"])


def torch_found(measurement: Any) -> Found:
    """Take over what torch's Timer shows: the median and the quartiles."""
    return measurement.times, measurement.median, quartiles(measurement.times)


def do_bench(call: Call, setting: float, order: dict[str, Any]) -> Found:
    """Ask Triton for `setting` seconds of samples (its default: 0.1), cold cache, device time."""
    from triton.testing import do_bench as bench

    samples = [one / 1e3 for one in bench(call, rep=setting * 1e3, return_mode="all")]
    low, middle, high = np.quantile(samples, [0.2, 0.5, 0.8])
    return samples, float(middle), (float(low), float(high))


def engine(order: dict[str, Any]) -> list[Outcome]:
    """Time the cells with this project's rounds, all backends of a case together."""
    found = []
    for case, names in by_case(order["settings"], order["device"]).items():
        found += rounds(names, order, device=case.device)
    return found


def rounds(names: list[str], order: dict[str, Any], *, device: str) -> list[Outcome]:
    """Time the backends of one case; each is charged its own samples and a share of the rest."""
    from harness.measure.device import device_for
    from harness.measure.rounds import measure_rounds
    from harness.measure.setup import clock_for

    calls = {name: ready_call(name, device) for name in names}
    clock, target = clock_for(device_for(device)), order["target"]
    begin = time.perf_counter()
    seen = measure_rounds(calls, clock, target=target, cap_s=ENGINE_CAP_S, seed=order["seed"])
    spent = time.perf_counter() - begin
    shared = (spent - sum(one.spent_s for one in seen.values())) / len(names)
    return [from_rounds(name, one, shared=shared) for name, one in seen.items()]


def from_rounds(name: str, seen: Any, *, shared: float) -> Outcome:
    """Take over what the rounds saw; `shared` are the seconds of warm-up and of the loop."""
    if seen.failure is not None:
        raise ValueError(f"{name}: {seen.failure.reason}")
    middle, spent = float(np.median(seen.samples_s)), seen.spent_s + shared
    return outcome(name, [seen.samples_s], estimate_s=middle, stated_s=None, measure_s=spent)


TOOLS: dict[str, Callable[..., Found]] = {
    "torch-blocked": blocked,
    "torch-adaptive": adaptive,
    "do_bench": do_bench,
    "reference": hot,
    # Device times with a cold cache are another quantity than the host's: its own long run.
    "device-reference": do_bench,
}
# What takes the cells of a case at once.
TOGETHER: dict[str, Callable[[dict[str, Any]], list[Outcome]]] = {
    "engine": engine,
    "turns": turns,
}

if __name__ == "__main__":
    main()
