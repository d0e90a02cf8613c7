"""Recurrence: the rule on steps that wait for one another, beside attention (C8)."""

from __future__ import annotations

import math

from harness.analysis.evidence import Claim, Evidence, judge_above_one
from harness.analysis.growth import time_notes, time_part, time_text
from harness.analysis.scaling import TimeFit
from harness.analysis.series import SeriesFit
from harness.analysis.verdict import SUPPORTED, Verdict, combine, series_of

BESIDE = "layer-sdpa"


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
