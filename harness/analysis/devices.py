"""Devices: the rule that every figure names the device it was measured on (C14)."""

from __future__ import annotations

from harness.analysis.evidence import Claim, Evidence
from harness.analysis.verdict import (
    NOT_MEASURED,
    REFUTED,
    SUPPORTED,
    Verdict,
    line,
    no_series,
)


def device_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C14: every cell and every verdict reached before names the one device it is of."""
    cells = evidence.records
    if not cells:
        return []
    names = ", ".join(sorted({cell.device for cell in cells if cell.device}))
    measured = [each for each in evidence.verdicts if each.verdict != NOT_MEASURED]
    nameless = [record.cell for record in cells if not record.device]
    nameless += [each.claim for each in measured if not each.series["device"]]
    word = REFUTED if nameless else SUPPORTED
    text = f"{len(cells)} cells and {len(measured)} verdicts each name one device"
    if nameless:
        text = f"{len(nameless)} cells or verdicts name no device, {nameless[0]} first"
    run = f"run {evidence.facts['run']}: " if evidence.facts.get("run") else ""
    where = no_series(device=names or None)
    return [
        Verdict(
            claim=claim.id,
            series=where,
            verdict=word,
            reason=f"{run}{text}; times on two devices are refused as a ratio",
            sentence=line(claim.id, word, text, where),
        )
    ]
