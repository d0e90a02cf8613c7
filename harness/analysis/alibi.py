"""Alibi: the rule on a linear bias per head: right, and what it costs beside plain causal."""

from __future__ import annotations

from collections import defaultdict

from harness.analysis.cells import SeriesKey
from harness.analysis.concord import concord_part, is_asked
from harness.analysis.evidence import Claim, Evidence
from harness.analysis.ratio import Ratio
from harness.analysis.verdict import NOTHING, SUPPORTED, Verdict, series_of
from harness.record import Record

ALIBI, PLAIN = "alibi", "causal"


def alibi_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Make one verdict per series on its cells under the bias."""
    groups: defaultdict[tuple[str, ...], list[Record]] = defaultdict(list)
    for record in evidence.records:
        if claim.scope.covers(record) and is_asked(record):
            where = (record.backend, record.device, record.dtype, record.phase)
            groups[where].append(record)
    return [alibi_verdict(evidence, claim.id, groups[where]) for where in sorted(groups)]


def alibi_verdict(evidence: Evidence, claim: str, cells: list[Record]) -> Verdict:
    """Make the verdict of one series; observed is the ratio to plain causal at the largest T."""
    part, ratios = concord_part(cells), over_plain(evidence, cells)
    cost = "no causal cell of the same shape to compare with"
    if ratios:
        cost = f"time over plain causal {ratios[-1]} at T={ratios[-1].length}"
    last = ratios[-1] if ratios else None
    right = f"{cells[0].backend} agrees under ALiBi, {cost}"
    return Verdict.on(
        claim,
        series_of(cells[0]),
        part=part.noting(cost),
        text=right if part.verdict == SUPPORTED else f"{cells[0].backend}: {part.reason}",
        observed=(last.value, last.low, last.high) if last else NOTHING,
    )


def over_plain(evidence: Evidence, cells: list[Record]) -> list[Ratio]:
    """Return the ratios to the causal cells of the same shapes, by length."""
    found = []
    for key in dict.fromkeys(map(SeriesKey.of, cells)):
        found += evidence.ratios(key, key.with_(mask=PLAIN))
    return sorted(found, key=lambda ratio: ratio.length)
