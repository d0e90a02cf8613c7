"""Machine: its facts and fingerprint, its memory and limits, and what would not fit."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from harness.attention.backend import Backend
from harness.attention.backends import BACKENDS
from harness.cases.case import Case
from harness.measure.cards import Nvml, card_facts, gpu_count, open_nvml, visible_cards

ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")
# An unlimited group of version 1 shows the largest page-aligned integer.
UNLIMITED = 2**60


@dataclass(frozen=True)
class Limit:
    """The tightest limit found, and what may still be taken under it; both in bytes."""

    limit_bytes: int
    headroom_bytes: int


def memory_limit(root: Path = ROOT, membership: Path = MEMBERSHIP) -> Limit | None:
    """Return the limit with the least headroom among the group and its parents, or None.

    Reads version 2 (memory.max) and version 1 (memory.limit_in_bytes). Cached file pages count as
    free, since the kernel drops them before it refuses memory.
    """
    limits = [found for folder in _folders(root, membership) if (found := _limit(folder))]
    return min(limits, key=lambda found: found.headroom_bytes, default=None)


def _folders(root: Path, membership: Path) -> list[Path]:
    """Return the folders of this process's memory group and of every parent."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return []
    found: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        base = root / "memory" if controllers else root
        # Inside a container the path may be the host's: its tail is absent, the root is not.
        parts = Path(path.lstrip("/"))
        found += [base / parts, *(base / parent for parent in parts.parents)]
    return found


def _limit(folder: Path) -> Limit | None:
    newer = _number(folder / "memory.max"), _number(folder / "memory.current")
    older = _number(folder / "memory.limit_in_bytes"), _number(folder / "memory.usage_in_bytes")
    limit, used = newer if newer[0] is not None else older
    if limit is None or used is None or limit >= UNLIMITED:
        return None
    return Limit(limit, max(0, limit - used + _reclaimable(folder / "memory.stat")))


def _number(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _reclaimable(file: Path) -> int:
    try:
        pairs = dict(line.split() for line in file.read_text().splitlines())
    except (OSError, ValueError):
        return 0
    return int(pairs.get("total_inactive_file", pairs.get("inactive_file", 0)))


PACKAGES = ("torch", "triton", "numpy", "scipy", "pandas", "attention-bench")
VARIABLES = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_PROC_BIND"),
    *("MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "LD_PRELOAD"),
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "PYTORCH_CUDA_ALLOC_CONF"),
    "NVIDIA_TF32_OVERRIDE",
)
STATUS = Path("/proc/self/status")
FREQUENCY = Path("/sys/devices/system/cpu/cpu0/cpufreq")
# What would change numbers; load, time and free memory would not, or not for long.
CPU_IDENTITY = ("cpu_model", "cores", "threads")
GPU_IDENTITY = ("name", "driver", "power_limit_w")

__all__ = ["available_memory", "cores", "facts", "fingerprint", "gpu_count"]


def facts(*, threads: int | None = None, nvml: Nvml | None = None) -> dict[str, Any]:
    """Return what is known of the machine as plain JSON values; None where it does not tell.

    `threads` is what the workers use; without it OMP_NUM_THREADS decides, else None.
    """
    nvml = nvml or open_nvml()
    given = os.environ.get("OMP_NUM_THREADS", "")
    return {
        **_processor(),
        **_memory(),
        "threads": threads or (int(given) if given.isdigit() else None),
        "os": platform.platform(),
        "python": platform.python_version(),
        "load_1min": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "gpus": [card_facts(nvml, card) for card in visible_cards(nvml)],
        "packages": {name: found for name in packages() if (found := _version(name))},
        "environment": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }


def packages() -> list[str]:
    """List the packages whose versions a run's facts keep: backends name their own."""
    return [*PACKAGES, *(one.package for one in BACKENDS.values() if one.package)]


def fingerprint(known: Mapping[str, Any], *, device: str | None = None) -> str:
    """Return a short name such as `cpu-amd-epyc-2c-torch2.13.0-1f3a9c` for what facts() found.

    Equal for equal processor, cores, threads and torch; for a `cuda` device (the default where
    there is a GPU) also name, driver and power limit of every card. Runs with different
    fingerprints are not to be compared.
    """
    torch = known["packages"].get("torch", "none")
    identity: dict[str, Any] = {name: known[name] for name in CPU_IDENTITY} | {"torch": torch}
    where = f"cpu-{_slug(known['cpu_model'])}-{known['cores']}c"
    if known["gpus"] and device != "cpu":
        identity["gpus"] = [[card[name] for name in GPU_IDENTITY] for card in known["gpus"]]
        where = f"gpu-{_slug(known['gpus'][0]['name'])}-{len(known['gpus'])}x"
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:6]
    return f"{where}-torch{torch.split('+')[0]}-{digest}"


def available_memory() -> int:
    """Return the host bytes that may still be taken: the system's, or the container's if less."""
    limit = memory_limit()
    free = int(psutil.virtual_memory().available)
    return min(free, limit.headroom_bytes) if limit else free


def own_bytes(name: str) -> int | None:
    """Return one of Linux's counts of this process's memory, e.g. VmHWM; None elsewhere."""
    found = re.search(rf"^{name}:\s*(\d+) kB", _text(STATUS), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def cores() -> list[int]:
    """Return the cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _processor() -> dict[str, Any]:
    frequency = psutil.cpu_freq() if hasattr(psutil, "cpu_freq") else None
    return {
        "cpu_model": _cpu_model(),
        "cores": len(cores()),
        "affinity": cores(),
        "cores_logical": psutil.cpu_count(),
        "cores_physical": psutil.cpu_count(logical=False),
        "frequency_mhz": round(frequency.current) if frequency and frequency.current else None,
        "governor": read_line(FREQUENCY / "scaling_governor"),
        "hypervisor": _hypervisor(),
    }


def _memory() -> dict[str, Any]:
    limit = memory_limit()
    return {
        "memory_bytes": int(psutil.virtual_memory().total),
        "memory_limit_bytes": limit.limit_bytes if limit else None,
        "swap_used_bytes": int(psutil.swap_memory().used),
    }


def _cpu_model() -> str:
    """Return the processor's own name; platform.processor() is empty on most Linux systems."""
    found = re.search(r"^model name\s*:\s*(.+)$", _text(Path("/proc/cpuinfo")), re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


def _hypervisor() -> str | None:
    """Return the vendor of the virtual machine where there is one."""
    if not re.search(r"^flags\s*:.*\bhypervisor\b", _text(Path("/proc/cpuinfo")), re.MULTILINE):
        return None
    return read_line(Path("/sys/class/dmi/id/sys_vendor")) or "unknown"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


def read_line(file: Path) -> str | None:
    """Return the first line of a file of the system, or None where it cannot be read."""
    return next(iter(_text(file).splitlines()), "").strip() or None


def _slug(name: str | None) -> str:
    """Keep letters and digits, without the vendors' trimmings."""
    words = re.sub(r"\((r|tm)\)|\b(cpu|processor|@.*)\b", " ", (name or "unknown").lower())
    return "-".join(re.findall(r"[a-z0-9]+", words)[:4])


# The last tenth of the free memory is for the page cache and for what the estimate leaves out.
USABLE_SHARE = 0.9


class TooLarge(MemoryError):
    """Said of a cell that was not tried, since its memory would not fit."""


def wanted_bytes(backend: Backend, case: Case) -> int:
    """Estimate the peak of a call above its inputs: output, score matrices, mask.

    A backward adds the gradients of the output and of the inputs, and what its forward saved:
    inputs in a layout or scale of its own and, where a backend keeps them, the weights. The
    `backward` phase keeps one forward's from call to call, which is in its peak already.
    """
    mask = 0
    if case.mask not in ("full", "causal"):
        mask = case.batch * case.length_query * case.length_key * case.itemsize
    if case.phase == "forward":
        return round(case.output_bytes() + backend.score_matrices * case.score_bytes() + mask)
    matrices = backend.score_matrices_training * case.score_bytes()
    return round(2 * (case.output_bytes() + case.input_bytes()) + matrices + mask)


def refuse(wanted: int, *, device: str, limit: int | None) -> None:
    """Raise TooLarge if `wanted` bytes are more than the limit or, on the host, than is free.

    A chip says by itself that its memory is full; Linux kills the process instead.
    """
    room = limit
    if device == "cpu":
        free = int(available_memory() * USABLE_SHARE)
        room = free if limit is None else min(free, limit)
    if room is not None and wanted > room:
        raise TooLarge(f"wants {wanted:,} bytes, {room:,} are available")


try:
    import resource
except ImportError:  # Windows has no limits of this kind; the parent still watches.
    resource = None  # type: ignore[assignment]

OOM_SCORE = Path("/proc/self/oom_score_adj")


def bound_memory(extra_bytes: int, device: str) -> None:
    """Let this process's data grow by so many bytes; a call that wants more gets MemoryError.

    Should the system run out of memory first, Linux ends this process before any other. On CUDA
    nothing is bounded: the driver maps far more than it uses, and the chip has its own memory.
    """
    with suppress(OSError):
        OOM_SCORE.write_text("1000")
    used = data_bytes()
    if resource is None or used is None or device != "cpu":
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = used + extra_bytes
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))


def data_bytes() -> int | None:
    """Return the bytes of private writable memory, as RLIMIT_DATA counts (man 2 getrlimit)."""
    return own_bytes("VmData")
