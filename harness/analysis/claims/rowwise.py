"""Row by row: claims on positions and steps taken one after another (C6, C7, C8)."""

from __future__ import annotations

import math
from collections import defaultdict

from harness.analysis.claims.evidence import (
    INCONCLUSIVE,
    NOTHING,
    SUPPORTED,
    T_SWEEP,
    Claim,
    Evidence,
    Part,
    Scope,
    Series,
    Verdict,
    combine,
    judge_above_one,
    series_of,
)
from harness.analysis.claims.growth import shape_text, time_notes, time_part, time_text
from harness.analysis.claims.memory import linear_part
from harness.analysis.fits.ratio import Ratio
from harness.analysis.fits.series import SeriesFit, SeriesKey
from harness.analysis.fits.time_fit import TimeFit
from harness.cases.costs import GATES

ROWS, TOGETHER = "rowwise", "naive"
BESIDE = "layer-sdpa"


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
    return above_one_verdict(
        claim, series_of(fit.series.key), part=noted, text=text, ratios=ratios
    )


def above_one_verdict(
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
    return above_one_verdict(claim, series_of(key), part=part, text=text, ratios=ratios)


def recurrence_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C8 on every sweep of a recurrence, beside an attention layer of the same shape."""
    return [
        recurrence_verdict(evidence, claim.id, fit=fit.time, found=fit)
        for fit in evidence.sweeps(claim.scope)
        if fit.time
    ]


def recurrence_verdict(
    evidence: Evidence, claim: str, *, fit: TimeFit, found: SeriesFit
) -> Verdict:
    """Make the verdict of one recurrence; observed is the exponent of its time."""
    key = found.series.key
    growth = time_part(fit, 1.0)
    beside = evidence.ratios(key, key.with_(backend=BESIDE, work="layer"))[:1]
    race = judge_above_one(beside, f"time over {BESIDE}'s at the smallest T")
    part = combine([growth, race])
    last = max(length for each, length in evidence.timed if each == key)
    seconds = (evidence.timed[key, last].time_median_s or math.nan) / last
    each = f"T steps, one after another, of {seconds * 1e6:.3g} µs each at T={last}"
    text = f"{key.backend} time {time_text(fit, growth)}; {race.reason}"
    if growth.verdict == SUPPORTED != part.verdict:
        text = f"{key.backend} {part.reason}"
    return Verdict.on(
        claim,
        series_of(key),
        part=part.noting(each, *time_notes(found.series, fit)),
        text=text,
        observed=(fit.exponent, fit.low, fit.high),
        expected=1.0,
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="C6",
        sentence="row by row needs no T×T either, but gives up the one big product",
        quantity="peak memory and time",
        series=T_SWEEP,
        prediction="memory exponent 1, longer than together at every T",
        scope=Scope((ROWS,)),
        rule=rowwise_rule,
        shown_in=("Peak memory", "Speed-up over the baseline"),
    ),
    Claim(
        id="C7",
        sentence="the positions of one layer are computed together",
        quantity="time",
        series="cell measured both together and row by row",
        prediction="speed-up above 1 for every number of heads, one included",
        scope=Scope((ROWS,)),
        rule=positions_rule,
        shown_in=("Speed-up over the baseline",),
    ),
    Claim(
        id="C8",
        sentence="an RNN waits for its previous state; attention does not",
        quantity="time",
        series="sweep of at least 4 values of T",
        prediction="T steps: exponent 1; at the smallest T longer than an attention layer",
        scope=Scope(tuple(GATES), ("causal",)),
        rule=recurrence_rule,
        shown_in=("Layers, recurrence, generation",),
    ),
)
