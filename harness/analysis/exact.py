"""Exact: the claims that hold or do not, judged by the conformance table (A1 to A10, A13, B)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.analysis.evidence import Claim, Evidence, not_measured
from harness.analysis.verdict import (
    NOTHING,
    REFUTED,
    SUPPORTED,
    Estimate,
    Part,
    Verdict,
    no_series,
)
from harness.conformance import CONFORMS, REFUSES, Finding

if TYPE_CHECKING:
    import pandas as pd

# `1.002 [0.997, 1.007]`: a figure with its interval inside the text of what was observed.
INTERVAL = re.compile(r"(-?[\d.]+) \[(-?[\d.]+), (-?[\d.]+)\]")
TOLD = 2  # deviations and refusals told in full in a reason


def exact_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge a claim by its behaviours, on each device: one deviation refutes it.

    Backends that refuse are named in the reason; if all do, nothing was measured.
    """
    from harness.attention.behaviours import BEHAVIOURS

    ids = {one.id for one in BEHAVIOURS.values() if claim.id in one.sources}
    rows = [row for row in evidence.conformance if row.behaviour in ids]
    if not rows:
        return [not_measured(claim.id, "no behaviour of this claim was asked for")]
    devices = sorted({row.device for row in rows})
    return [judge_rows(claim.id, [row for row in rows if row.device == d]) for d in devices]


def judge_rows(claim: str, rows: Sequence[Finding]) -> Verdict:
    """Make the verdict on one device."""
    asked = [row for row in rows if row.verdict != REFUSES]
    if not asked:
        reason = f"every backend refuses: {rows[0].reason}"
        return not_measured(claim, reason, device=rows[0].device)
    wrong = [row for row in asked if row.verdict != CONFORMS]
    part = Part(REFUTED if wrong else SUPPORTED, told(asked, wrong))
    observed, expected = figure(rows)
    where = no_series(device=rows[0].device)
    return Verdict.on(
        claim, where, part=part.noting(*refusals(rows)), text=part.reason, observed=observed,
        expected=expected,
    )  # fmt: skip


def told(asked: Sequence[Finding], wrong: Sequence[Finding]) -> str:
    """Say which backends are right, or what the wrong ones gave."""
    if not wrong:
        names = list(dict.fromkeys(row.backend for row in asked))
        behaviours = len({row.behaviour for row in asked})
        if len(names) == len(asked) == 1:
            return f"expected {asked[0].expected}, observed {asked[0].observed}"
        checks = f"{len(asked)} checks of {behaviours} behaviour{'s' * (behaviours > 1)}"
        return f"as expected in {checks}: {', '.join(names)}"
    parts = [
        f"{row.backend} in {row.behaviour}: expected {row.expected}, "
        f"observed {row.observed or row.reason}"
        for row in wrong[:TOLD]
    ]
    more = len(wrong) - TOLD
    return "; ".join(parts + [f"{more} more deviations"] * (more > 0))


def refusals(rows: Sequence[Finding]) -> list[str]:
    """Name who refuses what, one clause for each reason."""
    names: dict[str, list[str]] = {}
    for row in rows:
        if row.verdict == REFUSES:
            names.setdefault(row.reason or "no reason given", []).append(row.backend)
    return [
        f"refused by {', '.join(dict.fromkeys(who))}: {reason}" for reason, who in names.items()
    ]


def figure(rows: Sequence[Finding]) -> tuple[Estimate, float | None]:
    """Return the figure with its interval that the first row observed, and the expected one."""
    found = INTERVAL.search(rows[0].observed or "")
    expected = re.search(r"-?[\d.]+$", rows[0].expected or "")
    if found is None or expected is None:
        return NOTHING, None
    value, low, high = map(float, found.groups())
    return (value, low, high), float(expected[0])


def read_findings(table: pd.DataFrame | None) -> tuple[Finding, ...]:
    """Turn the rows of a conformance table back into findings."""
    if table is None:
        return ()
    rows = table.astype(object).where(table.notna(), None).to_dict("records")
    return tuple(
        Finding.from_dict({str(name): value for name, value in row.items()}) for row in rows
    )
