"""Checks of the graphics cards through NVML: who else uses them, and what holds them back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from harness.measure.finding import Check, judge
from harness.measure.nvml import Handle, Nvml, tell, visible_cards
from harness.measure.telemetry import MUST_COOL, read_card

# Cards slow themselves from about 85 degrees on; a card this warm at rest gets there under load.
WARM_CELSIUS = 75
WHO_RUNS = ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses")


def gpu_checks(known: Mapping[str, Any], nvml: Nvml | None) -> list[Check]:
    """Return the checks of every visible card; without one, a single line that says so."""
    cards = visible_cards(nvml)
    if nvml is None or not cards:
        return [judge("gpu", "none visible: cells run on the CPU", warn=_hidden(known))]
    found: list[Check] = []
    for index, card in enumerate(cards):
        found += [_card(known["gpus"][index], index), _state(nvml, index)]
        found.append(_company(nvml, card, index))
    return found


def _hidden(known: Mapping[str, Any]) -> str:
    """Advise where torch was built for CUDA but no card is to be seen."""
    built_for_cuda = "+cu" in known["packages"].get("torch", "")
    return "check the driver and CUDA_VISIBLE_DEVICES" if built_for_cuda else ""


def _card(told: Mapping[str, Any], index: int) -> Check:
    seen = f"{told['name']}, driver {told['driver']}, limit {told['power_limit_w']} W"
    shared = "the card is split (MIG): its cache and bandwidth are shared" if told["mig"] else ""
    return judge(f"gpu {index}", seen, warn=shared)


def _state(nvml: Nvml, index: int) -> Check:
    reading = read_card(index, nvml=nvml)
    assert reading is not None
    warm = (reading.temperature_c or 0) >= WARM_CELSIUS or MUST_COOL & set(reading.reasons)
    held = ", ".join(reading.reasons) or "nothing"
    seen = f"{reading.clock_sm_mhz} MHz, {reading.power_w} W, {reading.temperature_c} C"
    advice = "let it cool, or improve the airflow" if warm else ""
    return judge(f"gpu {index} state", f"{seen}, held by {held}", warn=advice)


def _company(nvml: Nvml, card: Handle, index: int) -> Check:
    running = [
        process.pid
        for question in WHO_RUNS
        for process in tell(nvml, question, card) or ()
        if process.pid != os.getpid()
    ]
    seen = f"processes {', '.join(map(str, sorted(set(running))))}" if running else "no process"
    advice = "end them or choose another card with CUDA_VISIBLE_DEVICES" if running else ""
    return judge(f"gpu {index} company", seen, warn=advice)
