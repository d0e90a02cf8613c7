"""What would spoil numbers on this machine: one `Check` each, with advice. Prints nothing.

Loads no torch and changes nothing but a probe file in the results folder, which it removes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from harness.measure.contention import core_seconds
from harness.measure.doctor_gpu import gpu_checks
from harness.measure.doctor_host import host_checks
from harness.measure.finding import Check, judge
from harness.measure.machine import facts
from harness.measure.nvml import Nvml, open_nvml

__all__ = ["Check", "checks"]

# A tenth of a core elsewhere is the least that moved medians here by more than 1 %.
BUSY_CORES = 0.1
STEAL_CORES = 0.05
NAMED_NEIGHBOURS = 3


def checks(
    results: Path = Path("results"), *, interval_s: float = 0.5, nvml: Nvml | None = None
) -> list[Check]:
    """Return every check; watches the other processes for `interval_s` seconds."""
    nvml = nvml or open_nvml()
    known = facts(nvml=nvml)
    return [*load_checks(interval_s), *host_checks(known, results), *gpu_checks(known, nvml)]


def load_checks(interval_s: float) -> list[Check]:
    """Watch the processor for a while: who else runs, and what the hypervisor takes."""
    before, begin = core_seconds(), time.perf_counter()
    neighbours = busiest(interval_s)
    wall = time.perf_counter() - begin
    spent = [late - early for early, late in zip(before, core_seconds(), strict=True)]
    return [load(neighbours), steal(spent[2] / max(wall, 1e-9))]


def load(neighbours: Mapping[str, float]) -> Check:
    """Warn of other processes; `neighbours` is {name: cores used}."""
    total = sum(neighbours.values())
    top = sorted(neighbours.items(), key=lambda item: -item[1])[:NAMED_NEIGHBOURS]
    names = ", ".join(f"{name} {used:.2f}" for name, used in top if used >= 0.01)
    seen = f"others use {total:.2f} cores" + (f": {names}" if names else "")
    advice = "close these programs, or flags and wide intervals will follow"
    return judge("load", seen, warn=advice if total > BUSY_CORES else "")


def steal(cores: float) -> Check:
    """Warn where the hypervisor takes time; `cores` is how many cores' worth."""
    advice = "the virtual machine shares its cores: compare only paired ratios"
    return judge("steal", f"{cores:.2f} cores", warn=advice if cores > STEAL_CORES else "")


def busiest(interval_s: float) -> dict[str, float]:
    """Return {process name and number: cores used} of all other processes over an interval."""
    before = _processor_seconds()
    begin = time.perf_counter()
    time.sleep(interval_s)
    wall = max(time.perf_counter() - begin, 1e-9)
    after = _processor_seconds()
    used = {name: (after[name] - before[name]) / wall for name in before.keys() & after.keys()}
    return {name: cores for name, cores in used.items() if cores > 0}


def _processor_seconds() -> dict[str, float]:
    """Return {process: processor seconds}; processes that end or hide meanwhile are left out."""
    own = psutil.Process().pid
    found: dict[str, float] = {}
    for process in psutil.process_iter(["pid", "name", "cpu_times"]):
        told: dict[str, Any] = process.info
        if told["cpu_times"] and told["pid"] != own:
            times = told["cpu_times"]
            found[f"{told['name']} ({told['pid']})"] = times.user + times.system
    return found
