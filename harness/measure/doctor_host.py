"""Checks of the host: threads, clocks, memory, disk, compiler, versions. Loads no torch."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from harness.measure.finding import Check, judge
from harness.measure.machine import available_memory, read_line

Facts = Mapping[str, Any]

GIB = 2**30
LEAST_MEMORY_BYTES = 2 * GIB
LEAST_DISK_BYTES = GIB
# A block lasts 1 ms and reads the clock twice: 1 us would be 0.2 %.
COARSEST_CLOCK_S = 1e-6
OLDEST_PYTHON, OLDEST_TORCH = (3, 11), (2, 11)
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
NO_TURBO = Path("/sys/devices/system/cpu/intel_pstate/no_turbo")
BOOST = Path("/sys/devices/system/cpu/cpufreq/boost")


def host_checks(known: Facts, results: Path) -> list[Check]:
    """Return the checks of the host; `known` is what machine.facts() found."""
    return [*(look(known) for look in CHECKS), disk(results)]


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


CHECKS: tuple[Callable[[Facts], Check], ...] = (
    *(threads, frequency, virtual, memory, swap, clock, allocator),
    *(python, torch, compiler),
)
