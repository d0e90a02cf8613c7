"""Machine: its facts, and the fingerprint by which runs are compared or not."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from harness.attention.backends import BACKENDS
from harness.measure.cards import Nvml, card_facts, open_nvml, visible_cards
from harness.measure.host_memory import memory_limit

PACKAGES = ("torch", "triton", "numpy", "scipy", "pandas", "attention-bench")
VARIABLES = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_PROC_BIND"),
    *("MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "LD_PRELOAD"),
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "PYTORCH_CUDA_ALLOC_CONF"),
    "NVIDIA_TF32_OVERRIDE",
)
FREQUENCY = Path("/sys/devices/system/cpu/cpu0/cpufreq")
# What would change numbers; load, time and free memory would not, or not for long.
CPU_IDENTITY = ("cpu_model", "cores", "threads")
GPU_IDENTITY = ("name", "driver", "power_limit_w")


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
