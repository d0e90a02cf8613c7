"""What the card was doing around a visit: clocks, power, temperature, and why it held back.

Reads only; the card's settings are never changed.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.measure.nvml import (
    CHIP_SENSOR,
    CLOCK_MEMORY,
    CLOCK_SM,
    Nvml,
    open_nvml,
    tell,
    visible_cards,
)

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
    power = tell(nvml, "nvmlDeviceGetPowerUsage", card)
    return Reading(
        clock_sm_mhz=tell(nvml, "nvmlDeviceGetClockInfo", card, CLOCK_SM),
        clock_memory_mhz=tell(nvml, "nvmlDeviceGetClockInfo", card, CLOCK_MEMORY),
        power_w=power / 1000 if power is not None else None,
        temperature_c=tell(nvml, "nvmlDeviceGetTemperature", card, CHIP_SENSOR),
        reasons=_reasons(nvml, card),
    )


def flags(before: Reading | None, after: Reading | None) -> tuple[str, ...]:
    """Return `power_capped` if the card held its clocks down at its power limit, else nothing."""
    return ("power_capped",) if "power_cap" in _both(before, after) else ()


def must_cool(before: Reading | None, after: Reading | None) -> bool:
    """Whether heat or a fault slowed the card: let it cool and measure the visit again."""
    return bool(MUST_COOL & _both(before, after))


def _both(before: Reading | None, after: Reading | None) -> set[str]:
    return {reason for reading in (before, after) if reading for reason in reading.reasons}


def _reasons(nvml: Nvml, card: object) -> tuple[str, ...]:
    """Name the set bits; the question was called ThrottleReasons before driver 535."""
    mask = tell(nvml, "nvmlDeviceGetCurrentClocksEventReasons", card)
    if mask is None:
        mask = tell(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", card) or 0
    return tuple(name for bit, name in REASONS.items() if mask & bit)
