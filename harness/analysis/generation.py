"""Generation: the rules on a whole pass against one pass per token (A11, A12, C10, C11, C12)."""

from __future__ import annotations

from harness.analysis.cells import SeriesKey
from harness.analysis.evidence import Claim, Evidence, Scope, judge_above_one, span
from harness.analysis.growth import time_verdict
from harness.analysis.races import race_verdict
from harness.analysis.ratio import Ratio
from harness.analysis.verdict import (
    INCONCLUSIVE,
    NOTHING,
    REFUTED,
    SUPPORTED,
    Estimate,
    Part,
    Verdict,
    series_of,
)
from harness.record import Record

WHOLE, PREFIXES, DECODED = "one-pass", "prefix-passes", "cached-steps"
STEP_EXPONENTS = {"step-cached": 1.0, "step-recompute": 2.0}
# Two ends that lie less far apart say nothing about growth.
RANGE_LEAST = 4


def is_taught(record: Record) -> bool:
    """Whether a cell shows teacher forcing: all logits in one pass, or prefix by prefix."""
    return record.work == "sequence" and record.backend in (WHOLE, PREFIXES)


def is_cached(record: Record) -> bool:
    """Whether a cell shows decoding with kept keys and values, greedily or one step of it."""
    return record.work in ("sequence", "step") and record.backend in (DECODED, "step-cached")


def keys_of(evidence: Evidence, scope: Scope) -> list[SeriesKey]:
    """Return the keys of the timed cells in a scope, in their order."""
    return sorted({key for key, _ in evidence.timed if scope.covers(key)}, key=SeriesKey.sort_key)


def growing_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C10: the time of a pass per prefix over that of one pass grows with T."""
    return [
        growing_verdict(claim.id, key, evidence.ratios(key, key.with_(backend=WHOLE)))
        for key in keys_of(evidence, claim.scope)
    ]


def growing_verdict(claim: str, key: SeriesKey, ratios: list[Ratio]) -> Verdict:
    """Make the verdict on one pair of sweeps; observed is the last ratio over the first."""
    part = growing_part(ratios, f"{key.backend} over {WHOLE}")
    observed = grown(ratios[0], ratios[-1]) if ratios else NOTHING
    text = f"{key.backend}: {part.reason}"
    if part.verdict == SUPPORTED:
        text = part.reason
    return Verdict.on(claim, series_of(key), part=part, text=text, observed=observed, expected=1.0)


def growing_part(ratios: list[Ratio], what: str) -> Part:
    """Judge by the ends: the intervals of the first and the last ratio must lie apart."""
    if not ratios or ratios[-1].length < RANGE_LEAST * ratios[0].length:
        return Part(INCONCLUSIVE, f"few: {what}: needs two T, {RANGE_LEAST}x apart, in both")
    first, last = ratios[0], ratios[-1]
    text = f"{what}: {first} at T={first.length}, {last} at T={last.length}"
    if last.low > first.high:
        return Part(SUPPORTED, text)
    return Part(REFUTED if last.high < first.low else INCONCLUSIVE, text)


def grown(first: Ratio, last: Ratio) -> Estimate:
    """Return how many times larger the last ratio is, between the extremes of both intervals."""
    return last.value / first.value, last.low / first.high, last.high / first.low


def decode_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C11: decoding T tokens step by step takes longer than one pass over them."""
    verdicts = []
    for key in keys_of(evidence, claim.scope):
        ratios = evidence.ratios(key, key.with_(backend=WHOLE))
        part = judge_above_one(ratios, f"{key.backend} over {WHOLE}")
        text = f"{key.backend} takes {span(ratios)} of {WHOLE}" if ratios else part.reason
        where = series_of(key)
        verdicts.append(race_verdict(claim.id, where, part=part, text=text, ratios=ratios))
    return verdicts


def step_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C12: the time of one step has exponent 1 with a cache and 2 without."""
    return [
        time_verdict(
            claim.id, fit.series, fit=fit.time, expected=STEP_EXPONENTS[fit.series.key.backend]
        )
        for fit in evidence.sweeps(claim.scope)
        if fit.time
    ]
