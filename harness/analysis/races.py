"""Races: the rules that put all positions at once against row by row (C6, C7)."""

from __future__ import annotations

from collections import defaultdict

from harness.analysis.cells import SeriesKey
from harness.analysis.evidence import Claim, Evidence, judge_above_one
from harness.analysis.growth import shape_text
from harness.analysis.ratio import Ratio
from harness.analysis.series import SeriesFit
from harness.analysis.storage import linear_part
from harness.analysis.verdict import (
    INCONCLUSIVE,
    NOTHING,
    SUPPORTED,
    Part,
    Series,
    Verdict,
    combine,
    series_of,
)

ROWS, TOGETHER = "rowwise", "naive"


def rowwise_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C6: row by row takes memory linear in T, and longer than together at every T."""
    return [
        rowwise_verdict(evidence, claim.id, fit=fit)
        for fit in evidence.sweeps(claim.scope)
        if fit.memory or fit.time
    ]


def together(key: SeriesKey) -> SeriesKey:
    """Return the key of the same question asked of the one big product."""
    return key.with_(backend=TOGETHER)


def rowwise_verdict(evidence: Evidence, claim: str, *, fit: SeriesFit) -> Verdict:
    """Make the verdict of one row-by-row sweep; the observed ratio is the smallest."""
    memory = Part(INCONCLUSIVE, "not measured")
    if fit.memory:
        memory = linear_part(fit.series, fit.memory)
    memory = Part(memory.verdict, f"peak: {memory.reason}")
    ratios = evidence.ratios(fit.series.key, together(fit.series.key))
    ratios = [ratio for ratio in ratios if ratio.length in fit.series.lengths]
    part = combine([memory, judge_above_one(ratios, f"time over {TOGETHER}'s")])
    text = f"{ROWS} {part.reason}"
    if part.verdict == SUPPORTED:
        low, high = (pick(ratio.value for ratio in ratios) for pick in (min, max))
        lengths = f"[{ratios[0].length}, {ratios[-1].length}]"
        text = f"{ROWS} takes {low:.3g}x to {high:.3g}x {TOGETHER}'s time over T in {lengths}"
    noted = part.noting(shape_text(fit.series))
    return race_verdict(claim, series_of(fit.series.key), part=noted, text=text, ratios=ratios)


def race_verdict(
    claim: str, where: Series, *, part: Part, text: str, ratios: list[Ratio]
) -> Verdict:
    """Make the verdict of ratios that should lie above 1; observed is the lowest."""
    least = min(ratios, key=lambda ratio: ratio.low, default=None)
    observed = (least.value, least.low, least.high) if least else NOTHING
    return Verdict.on(claim, where, part=part, text=text, observed=observed, expected=1.0)


def positions_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C7 for each number of heads, so that heads and positions are told apart."""
    groups: defaultdict[tuple[SeriesKey, int], list[Ratio]] = defaultdict(list)
    keys = {key for key, _ in evidence.timed if claim.scope.covers(key)}
    for key in sorted(keys, key=SeriesKey.sort_key):
        groups[plain(key), key.heads] += evidence.ratios(key, together(key))
    return [
        positions_verdict(claim.id, key, heads=heads, ratios=ratios)
        for (key, heads), ratios in groups.items()
    ]


def plain(key: SeriesKey) -> SeriesKey:
    """Return a key that keeps what a verdict's series names, shapes set to 1."""
    return key.with_(batch=1, heads=1, heads_kv=1, dim_key=1, dim_value=1, window=None)


def positions_verdict(claim: str, key: SeriesKey, *, heads: int, ratios: list[Ratio]) -> Verdict:
    """Make the verdict for one number of heads over all its shapes and lengths."""
    part = judge_above_one(ratios, f"H={heads}: {ROWS}'s time over {TOGETHER}'s")
    text = part.reason
    if ratios:
        least = min(ratios, key=lambda ratio: ratio.low)
        text = f"row by row takes {least} together's time or more, H={heads}"
    return race_verdict(claim, series_of(key), part=part, text=text, ratios=ratios)
