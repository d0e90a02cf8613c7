"""Exact: claims that hold or do not, by behaviours asked (A1 to A10, A13, B), and C14."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.analysis.claims.evidence import (
    NOT_MEASURED,
    NOTHING,
    REFUTED,
    SUPPORTED,
    Claim,
    Estimate,
    Evidence,
    Part,
    Scope,
    Verdict,
    no_series,
    not_measured,
)
from harness.records.record import CONFORMS, REFUSES, Finding

if TYPE_CHECKING:
    pass


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


def _claim(id: str, sentence: str, prediction: str) -> Claim:
    return Claim(
        id=id,
        sentence=sentence,
        quantity="values",
        series="conformance table",
        prediction=prediction,
        scope=Scope(()),
        rule=exact_rule,
        shown_in=("Behaviour",),
    )


CLAIMS: tuple[Claim, ...] = (
    _claim("A1", "one matrix product = row by row = the library's attention", "17/3, equal rows"),
    _claim("A2", "the weights of one query sum to 1", "1/6, 2/6, 3/6"),
    _claim("A3", "a mask acts before softmax, not after", "1/3, 2/3, 0 and not 1/6, 2/6, 0"),
    _claim(
        "A4",
        "an additive 0/-inf mask = a boolean keep mask",
        "equal; True keeps in SDPA and drops in key_padding_mask",
    ),
    _claim("A5", "causal: position i sees 0..i, itself included", "a lower triangle"),
    _claim(
        "A6",
        "a row with every key forbidden is undefined",
        "naive NaN, a finite minimum the mean of V, others their own rule",
    ),
    _claim(
        "A7",
        "padding hides PAD as keys; PAD query rows still give output",
        "real rows unchanged, PAD rows not 0",
    ),
    _claim(
        "A8",
        "position i of a layer waits for no other output of that layer",
        "row i alone changes",
    ),
    _claim("A9", "shapes are (B, H, T, D), and d_v may differ from d_k", "shapes and values"),
    _claim("A10", "multi-head = concatenation of heads times W^O", "nn.MultiheadAttention"),
    _claim("A13", "cross-attention: queries and keys of two sequences, Tq != Tk", "the oracle"),
    _claim("B1", "Var(q·k) = d_k, and 1 after division by sqrt(d_k)", "slope 1; 0 after scaling"),
    _claim(
        "B2",
        "large scores concentrate softmax and shrink its gradient",
        "without scaling weight -> 1, gradient -> 0; with it flat",
    ),
    Claim(
        id="C14",
        sentence="agreement on a CPU says nothing about speed on a GPU",
        quantity="device names",
        series="row of the table",
        prediction="every table and verdict names its device; none compares two",
        scope=Scope(()),
        rule=device_rule,
        shown_in=("Settings",),
        on_verdicts=True,
    ),
)
