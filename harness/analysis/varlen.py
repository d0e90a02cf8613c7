"""Varlen: the rule that packing sequences without padding takes less time than padding them."""

from __future__ import annotations

from collections import defaultdict

from harness.analysis.cells import SeriesKey
from harness.analysis.concord import concord_part, is_asked
from harness.analysis.evidence import Claim, Evidence, judge_above_one
from harness.analysis.ratio import Ratio
from harness.analysis.verdict import NOTHING, Verdict, combine, series_of
from harness.record import Record

PACKED, PADDED = "packed-sdpa", ("sdpa", "sdpa-flash", "sdpa-math", "naive")


def varlen_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Make one verdict per packed series, against the fastest padded call of the same batch."""
    groups: defaultdict[SeriesKey, list[Record]] = defaultdict(list)
    for record in evidence.records:
        if claim.scope.covers(record) and is_asked(record):
            groups[SeriesKey.of(record)].append(record)
    found = []
    for key in sorted(groups, key=SeriesKey.sort_key):
        cells, ratios = groups[key], over_packed(evidence, key)
        if ratios or any(cell.failed for cell in cells):
            found.append(varlen_verdict(claim.id, key, cells=cells, ratios=ratios))
    return found


def over_packed(evidence: Evidence, key: SeriesKey) -> dict[str, Ratio]:
    """Return the time of each padded backend over the packed call's, at the largest T of both."""
    padded = {name: key.with_(backend=name, work="attention") for name in PADDED}
    found = {name: evidence.ratios(other, key) for name, other in padded.items()}
    return {name: ratios[-1] for name, ratios in found.items() if ratios}


def varlen_verdict(
    claim: str, key: SeriesKey, *, cells: list[Record], ratios: dict[str, Ratio]
) -> Verdict:
    """Make the verdict; observed is the ratio of the fastest padded call."""
    part, cell = concord_part(cells), max(cells, key=lambda cell: cell.length_query)
    text, observed = part.reason, NOTHING
    if ratios:
        name, least = min(ratios.items(), key=lambda item: item[1].value)
        told = ", ".join(f"{other} {ratio}" for other, ratio in ratios.items())
        time = judge_above_one([least], f"padded {name} over packed")
        part = combine([part, time]).noting(f"padded over packed: {told}")
        text, observed = time.reason, (least.value, least.low, least.high)
    shape = f"{saving(cell):.2f}x fewer pairs, B={cell.batch} H={cell.heads} D={cell.dim_key}"
    return Verdict.on(
        claim,
        series_of(key),
        part=part.noting(shape),
        text=text,
        observed=observed,
        expected=1.0,
    )


def saving(cell: Record) -> float:
    """Return the pairs of the padded square over those of the packed sequences.

    The useful operations of the packed call are counted in the record; under a causal mask the
    padded square counts half.
    """
    pairs = cell.batch * cell.length_query**2 * cell.heads / (2 if "causal" in cell.mask else 1)
    return pairs * 2 * (cell.dim_key + cell.dim_value) / (cell.flops or 1)
