"""Cards: what the driver tells of GPUs: facts, and clocks, heat and power by the visit."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

Nvml = Any
Handle = Any
# nvml.h: NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU.
CLOCK_SM, CLOCK_MEMORY, CHIP_SENSOR = 1, 2, 0
# Bits of nvmlDeviceGetCurrentClocksEventReasons (nvml.h, nvmlClocksEventReason*).
REASONS = {
    0x1: "idle",
    0x2: "application_clocks",
    0x4: "power_cap",
    0x8: "hardware_slowdown",
    0x10: "sync_boost",
    0x20: "thermal_slowdown",
    0x40: "hardware_thermal_slowdown",
    0x80: "power_brake",
    0x100: "display_clocks",
}
MUST_COOL = {
    "hardware_slowdown",
    "thermal_slowdown",
    "hardware_thermal_slowdown",
    "power_brake",
}


@lru_cache(maxsize=1)
def open_nvml() -> Nvml | None:
    """Load and start the library once, or return None; a broken driver is silent here."""
    try:
        nvml = import_module("pynvml")
        nvml.nvmlInit()
    except Exception:  # A broken install raises nearly anything; doctor tells about it.
        return None
    return nvml


def visible_cards(nvml: Nvml | None, environ: Mapping[str, str] = os.environ) -> list[Handle]:
    """Return handles of the cards that CUDA would show, in the order of CUDA_VISIBLE_DEVICES.

    NVML itself ignores that variable. As CUDA does, stop at the first entry that names no card.
    NVML counts in PCI order; CUDA does so only under CUDA_DEVICE_ORDER=PCI_BUS_ID, which matters
    on machines with unlike cards.
    """
    if nvml is None:
        return []
    wanted = environ.get("CUDA_VISIBLE_DEVICES")
    if wanted is None:
        names = [str(index) for index in range(ask(nvml, "nvmlDeviceGetCount") or 0)]
    else:
        names = [word.strip() for word in wanted.split(",")]
    found: list[Handle] = []
    for name in names:
        handle = _card(nvml, name)
        if handle is None:
            break
        found.append(handle)
    return found


def gpu_count(nvml: Nvml | None = None, environ: Mapping[str, str] = os.environ) -> int:
    """Return how many cards CUDA would show; 0 without a driver. Loads no torch."""
    return len(visible_cards(nvml or open_nvml(), environ))


def card_facts(nvml: Nvml, card: Handle) -> dict[str, Any]:
    """Return name, driver, memory, power limit and highest clocks; None where it does not tell."""
    memory = ask(nvml, "nvmlDeviceGetMemoryInfo", card)
    power = ask(nvml, "nvmlDeviceGetPowerManagementLimit", card)
    return {
        "name": text(ask(nvml, "nvmlDeviceGetName", card)),
        "driver": text(ask(nvml, "nvmlSystemGetDriverVersion")),
        "uuid": text(ask(nvml, "nvmlDeviceGetUUID", card)),
        "memory_bytes": memory.total if memory else None,
        "power_limit_w": power / 1000 if power else None,
        "clock_sm_max_mhz": ask(nvml, "nvmlDeviceGetMaxClockInfo", card, CLOCK_SM),
        "clock_memory_max_mhz": ask(nvml, "nvmlDeviceGetMaxClockInfo", card, CLOCK_MEMORY),
        "persistence": ask(nvml, "nvmlDeviceGetPersistenceMode", card),
        "mig": bool((ask(nvml, "nvmlDeviceGetMigMode", card) or (0,))[0]),
    }


def ask(nvml: Nvml, question: str, *arguments: Any) -> Any:
    """Ask the library, or return None: versions and cards differ in what they tell."""
    try:
        return getattr(nvml, question)(*arguments)
    except Exception:
        return None


def text(value: str | bytes | None) -> str | None:
    """Return a string; old versions of the library give bytes."""
    return value.decode() if isinstance(value, bytes) else value


def _card(nvml: Nvml, name: str) -> Handle | None:
    """Return the card that one entry of CUDA_VISIBLE_DEVICES names, or None."""
    if name.isdigit():
        return ask(nvml, "nvmlDeviceGetHandleByIndex", int(name))
    if name.startswith("MIG-"):
        return ask(nvml, "nvmlDeviceGetHandleByUUID", name)
    if not name.startswith("GPU-"):
        return None
    # CUDA takes the first letters of a UUID where they name one card only.
    cards = [
        ask(nvml, "nvmlDeviceGetHandleByIndex", index)
        for index in range(ask(nvml, "nvmlDeviceGetCount") or 0)
    ]
    named = [
        card
        for card in cards
        if (text(ask(nvml, "nvmlDeviceGetUUID", card)) or "").startswith(name)
    ]
    return named[0] if len(named) == 1 else None


@dataclass(frozen=True)
class Reading:
    """One look at a card; None where the card does not tell."""

    clock_sm_mhz: int | None
    clock_memory_mhz: int | None
    power_w: float | None
    temperature_c: int | None
    reasons: tuple[str, ...] = ()


def read_card(index: int = 0, *, nvml: Nvml | None = None) -> Reading | None:
    """Read the card that CUDA numbers `index`; None without a driver."""
    nvml = nvml or open_nvml()
    cards = visible_cards(nvml)
    if nvml is None or index >= len(cards):
        return None
    card = cards[index]
    power = ask(nvml, "nvmlDeviceGetPowerUsage", card)
    return Reading(
        clock_sm_mhz=ask(nvml, "nvmlDeviceGetClockInfo", card, CLOCK_SM),
        clock_memory_mhz=ask(nvml, "nvmlDeviceGetClockInfo", card, CLOCK_MEMORY),
        power_w=power / 1000 if power is not None else None,
        temperature_c=ask(nvml, "nvmlDeviceGetTemperature", card, CHIP_SENSOR),
        reasons=_reasons(nvml, card),
    )


def card_flags(before: Reading | None, after: Reading | None) -> tuple[str, ...]:
    """Return `power_capped` if the card held its clocks down at its power limit, else nothing."""
    return ("power_capped",) if "power_cap" in _both(before, after) else ()


def must_cool(before: Reading | None, after: Reading | None) -> bool:
    """Whether heat or a fault slowed the card: let it cool and measure the visit again."""
    return bool(MUST_COOL & _both(before, after))


def _both(before: Reading | None, after: Reading | None) -> set[str]:
    return {reason for reading in (before, after) if reading for reason in reading.reasons}


def _reasons(nvml: Nvml, card: object) -> tuple[str, ...]:
    """Name the set bits; the question was called ThrottleReasons before driver 535."""
    mask = ask(nvml, "nvmlDeviceGetCurrentClocksEventReasons", card)
    if mask is None:
        mask = ask(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", card) or 0
    return tuple(name for bit, name in REASONS.items() if mask & bit)
