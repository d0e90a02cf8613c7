"""Checks of this machine: what would spoil a measurement here, with advice."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil

from harness.measure.cards import (
    MUST_COOL,
    Handle,
    Nvml,
    ask,
    open_nvml,
    read_card,
    visible_cards,
)
from harness.measure.contention import core_seconds
from harness.measure.host_memory import available_memory
from harness.measure.machine import facts, read_line

Facts = Mapping[str, Any]
Level = Literal["ok", "warn", "fail"]

# A tenth of a core elsewhere is the least that moved medians here by more than 1 %.
BUSY_CORES = 0.1
STEAL_CORES = 0.05
NAMED_NEIGHBOURS = 3
GIB = 2**30
LEAST_MEMORY_BYTES = 2 * GIB
LEAST_DISK_BYTES = GIB
# A block lasts 5 ms and reads the clock twice: 1 us would be 0.04 %.
COARSEST_CLOCK_S = 1e-6
OLDEST_PYTHON, OLDEST_TORCH = (3, 11), (2, 11)
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
NO_TURBO = Path("/sys/devices/system/cpu/intel_pstate/no_turbo")
BOOST = Path("/sys/devices/system/cpu/cpufreq/boost")
# Cards slow themselves from about 85 degrees on; a card this warm at rest gets there under load.
WARM_CELSIUS = 75
WHO_RUNS = ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses")


@dataclass(frozen=True)
class Check:
    """What was seen of one thing; `advice` is empty where there is nothing to do.

    `warn` means that numbers may be off, `fail` that measuring cannot work.
    """

    name: str
    level: Level
    observed: str
    advice: str = ""


def judge(name: str, observed: str, *, warn: str = "", fail: str = "") -> Check:
    """Return a check that fails with the advice `fail`, else warns with `warn`, else is ok."""
    if fail:
        return Check(name, "fail", observed, fail)
    return Check(name, "warn", observed, warn) if warn else Check(name, "ok", observed)


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
        info: dict[str, Any] = process.info
        if info["cpu_times"] and info["pid"] != own:
            times = info["cpu_times"]
            found[f"{info['name']} ({info['pid']})"] = times.user + times.system
    return found


def host_checks(known: Facts, results: Path) -> list[Check]:
    """Return the checks of the host; `known` is what machine.facts() found."""
    return [*(check(known) for check in HOST_CHECKS), disk(results)]


def threads(known: Facts) -> Check:
    """Warn where threads would fill every core: they then tick at exact 4 ms steps."""
    cores, wanted = known["cores"], known["threads"]
    seen = f"{cores} of {known['cores_logical']} cores, OMP_NUM_THREADS {wanted or 'unset'}"
    full = bool(wanted) and wanted >= cores > 1
    return judge("threads", seen, warn="leave one core free" if full else "")


def frequency(known: Facts) -> Check:
    """Warn of a governor that saves power; turbo is told, since its clocks depend on heat."""
    governor = known["governor"]
    turbo = {"0": "on", "1": "off"}.get(read_line(NO_TURBO) or "")
    turbo = turbo or {"1": "on", "0": "off"}.get(read_line(BOOST) or "", "unknown")
    seen = f"governor {governor or 'unknown'}, turbo {turbo}, {known['frequency_mhz']} MHz"
    slow = governor not in (None, "performance")
    return judge("frequency", seen, warn="set the governor to performance" if slow else "")


def virtual(known: Facts) -> Check:
    """Tell whether this is a virtual machine; that alone is no fault."""
    return judge("virtual machine", known["hypervisor"] or "no")


def memory(known: Facts) -> Check:
    """Warn of little free memory: cells that would not fit are refused by estimate."""
    free = available_memory()
    limit = known["memory_limit_bytes"]
    whole = min(known["memory_bytes"], limit or known["memory_bytes"])
    seen = f"{free / GIB:.1f} of {whole / GIB:.1f} GiB free"
    little = free < LEAST_MEMORY_BYTES
    return judge("memory", seen, warn="free memory, or lower the lengths" if little else "")


def swap(known: Facts) -> Check:
    """Warn of swap in use: a page that comes back from disk takes milliseconds."""
    used = known["swap_used_bytes"]
    return judge("swap", f"{used / GIB:.2f} GiB used", warn="free memory first" if used else "")


def clock(known: Facts) -> Check:
    """Warn of a coarse clock."""
    step = time.get_clock_info("perf_counter").resolution
    coarse = step > COARSEST_CLOCK_S
    return judge("clock", f"resolution {step:.0e} s", warn="short calls blur" if coarse else "")


def python(known: Facts) -> Check:
    """Fail below the oldest Python that is supported."""
    old = sys.version_info[:2] < OLDEST_PYTHON
    return judge("python", known["python"], fail="use Python 3.11 or newer" if old else "")


def torch(known: Facts) -> Check:
    """Fail without torch or with one that is too old."""
    found = known["packages"].get("torch")
    number = tuple(int(word) for word in (found or "0.0").split(".")[:2] if word.isdigit())
    old = number < OLDEST_TORCH
    return judge("torch", found or "absent", fail="pip install 'torch>=2.11'" if old else "")


def compiler(known: Facts) -> Check:
    """Warn without a C++ compiler: FlexAttention on the CPU compiles its kernel."""
    names = (os.environ.get("CXX"), "g++", "clang++")
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    advice = "" if found else "install g++; without it FlexAttention is unavailable on the CPU"
    return judge("C++ compiler", found or "absent", warn=advice)


def allocator(known: Facts) -> Check:
    """Tell huge pages and malloc settings; workers set their own, a preload changes them."""
    preload = os.environ.get("LD_PRELOAD")
    seen = f"huge pages {read_line(HUGE_PAGES) or 'unknown'}"
    advice = f"LD_PRELOAD={preload} replaces the allocator the figures are known for"
    return judge("allocator", seen, warn=advice if preload else "")


def disk(results: Path) -> Check:
    """Fail where results cannot be written; warn of little room."""
    folder = results.absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    locked = not folder.is_dir() or not os.access(folder, os.W_OK)
    fail = f"make {folder} a writable folder or set ATTN_RESULTS" if locked else ""
    advice = "free some space" if free < LEAST_DISK_BYTES else ""
    return judge("disk", f"{free / GIB:.1f} GiB free at {folder}", warn=advice, fail=fail)


HOST_CHECKS: tuple[Callable[[Facts], Check], ...] = (
    *(threads, frequency, virtual, memory, swap, clock, allocator),
    *(python, torch, compiler),
)


def gpu_checks(known: Facts, nvml: Nvml | None) -> list[Check]:
    """Return the checks of every visible card; without one, a single line that says so."""
    cards = visible_cards(nvml)
    if nvml is None or not cards:
        return [judge("gpu", "none visible: cells run on the CPU", warn=_no_card_advice(known))]
    found: list[Check] = []
    for index, card in enumerate(cards):
        found += [_card(known["gpus"][index], index), _card_state(nvml, index)]
        found.append(_card_processes(nvml, card, index))
    return found


def _no_card_advice(known: Facts) -> str:
    """Advise where torch was built for CUDA but no card is to be seen."""
    built_for_cuda = "+cu" in known["packages"].get("torch", "")
    return "check the driver and CUDA_VISIBLE_DEVICES" if built_for_cuda else ""


def _card(known: Facts, index: int) -> Check:
    seen = f"{known['name']}, driver {known['driver']}, limit {known['power_limit_w']} W"
    shared = "the card is split (MIG): its cache and bandwidth are shared" if known["mig"] else ""
    return judge(f"gpu {index}", seen, warn=shared)


def _card_state(nvml: Nvml, index: int) -> Check:
    reading = read_card(index, nvml=nvml)
    assert reading is not None
    warm = (reading.temperature_c or 0) >= WARM_CELSIUS or MUST_COOL & set(reading.reasons)
    held = ", ".join(reading.reasons) or "nothing"
    seen = f"{reading.clock_sm_mhz} MHz, {reading.power_w} W, {reading.temperature_c} C"
    advice = "let it cool, or improve the airflow" if warm else ""
    return judge(f"gpu {index} state", f"{seen}, held by {held}", warn=advice)


def _card_processes(nvml: Nvml, card: Handle, index: int) -> Check:
    running = [
        process.pid
        for question in WHO_RUNS
        for process in ask(nvml, question, card) or ()
        if process.pid != os.getpid()
    ]
    seen = f"processes {', '.join(map(str, sorted(set(running))))}" if running else "no process"
    advice = "end them or choose another card with CUDA_VISIBLE_DEVICES" if running else ""
    return judge(f"gpu {index} company", seen, warn=advice)
