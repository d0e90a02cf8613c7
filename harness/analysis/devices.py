"""Devices: the rule that every figure names the device it was measured on (C14)."""

from __future__ import annotations

from harness.analysis.evidence import Claim, Evidence
from harness.analysis.verdict import (
    NOT_MEASURED,
    REFUTED,
    SUPPORTED,
    Part,
    Verdict,
    no_series,
)


def device_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C14: every cell and every verdict reached before names the one device it is of."""
    if not evidence.records:
        return []
    part = names_part(evidence)
    names = ", ".join(sorted({cell.device for cell in evidence.records if cell.device}))
    run = f"run {evidence.facts['run']}" if evidence.facts.get("run") else ""
    notes = ("a ratio of times on two devices is refused", run)
    where = no_series(device=names or None)
    return [Verdict.on(claim.id, where, part=part.noting(*notes), text=part.reason)]


def names_part(evidence: Evidence) -> Part:
    """Count the cells and the verdicts that name no device."""
    measured = [each for each in evidence.verdicts if each.verdict != NOT_MEASURED]
    nameless = [cell.cell for cell in evidence.records if not cell.device]
    nameless += [each.claim for each in measured if not each.series["device"]]
    if nameless:
        text = f"{len(nameless)} cells or verdicts name no device, {nameless[0]} first"
        return Part(REFUTED, text)
    text = f"{len(evidence.records)} cells and {len(measured)} verdicts each name one device"
    return Part(SUPPORTED, text)
