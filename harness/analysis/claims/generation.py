"""Generation: claims on layers, whole passes and steps (A11, A12, C10 to C13)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from harness.analysis.claims.agreement import agreement_rule
from harness.analysis.claims.evidence import (
    INCONCLUSIVE,
    NOTHING,
    REFUTED,
    SUPPORTED,
    Claim,
    Estimate,
    Evidence,
    Part,
    Scope,
    Verdict,
    combine,
    judge_above_one,
    series_of,
    span,
)
from harness.analysis.claims.growth import time_part, time_verdict
from harness.analysis.claims.rowwise import above_one_verdict
from harness.analysis.fits.ratio import Ratio
from harness.analysis.fits.series import SeriesFit, SeriesKey
from harness.cases.masks import MASK_CODES
from harness.records.record import Record

WHOLE, PREFIXES, DECODED = "one-pass", "prefix-passes", "cached-steps"
STEP_EXPONENTS = {"step-cached": 1.0, "step-recompute": 2.0}
# Two ends that lie less far apart say nothing about growth.
RANGE_LEAST = 4
PARTS = "projections"
LAYERS = ("layer-naive", "layer-sdpa", "layer-mha")
# The share at which projections and attention take as long.
EVEN = 0.5
SECTION = "Layers, recurrence, generation"


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
        verdicts.append(above_one_verdict(claim.id, where, part=part, text=text, ratios=ratios))
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


def projections_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C13 on every way to compute a layer, by the four products of the same shape alone.

    A layer that has no such products beside it was measured for another question.
    """
    fits = {fit.series.key: fit for fit in evidence.fits if fit.series.key.backend == PARTS}
    keys = keys_of(evidence, claim.scope)
    beside = {key: evidence.ratios(alone(key), key) for key in keys}
    return [
        projections_verdict(claim.id, key, shares=shares, fit=fits.get(alone(key)))
        for key, shares in beside.items()
        if shares
    ]


def alone(key: SeriesKey) -> SeriesKey:
    """Return the key of a layer's four products alone."""
    return key.with_(backend=PARTS, work=PARTS)


def projections_verdict(
    claim: str, key: SeriesKey, *, shares: Sequence[Ratio], fit: SeriesFit | None
) -> Verdict:
    """Make the verdict on one layer; observed is the exponent of the projections' time."""
    time = fit.time if fit else None
    growth = Part(INCONCLUSIVE, "few: no sweep of the projections alone")
    if time:
        growth = time_part(time, 1.0)
        growth = Part(growth.verdict, f"projections: {growth.reason}")
    part = combine([growth, share_part(shares)])
    meet = crossing_text(shares)
    return Verdict.on(
        claim,
        series_of(key),
        part=part.noting(meet),
        text=f"{key.backend}: {shares_text(shares)}; {meet}",
        observed=(time.exponent, time.low, time.high) if time else NOTHING,
        expected=1.0,
    )


def share_part(shares: Sequence[Ratio]) -> Part:
    """Judge that the share of the projections falls as T grows: attention overtakes them."""
    if len(shares) < 2:
        return Part(INCONCLUSIVE, "few: no two T measured both with and without attention")
    text, first, last = shares_text(shares), shares[0], shares[-1]
    if last.high < first.low:
        return Part(SUPPORTED, text)
    return Part(REFUTED if last.low > first.high else INCONCLUSIVE, text)


def shares_text(shares: Sequence[Ratio]) -> str:
    """Say the share of the projections at both ends."""
    ends = [
        f"{each.value:.0%} [{each.low:.0%}, {each.high:.0%}] at T={each.length}"
        for each in (shares[0], shares[-1])
    ]
    return f"projections take {' and '.join(ends)}"


def crossing_text(shares: Sequence[Ratio]) -> str:
    """Say the T at which projections and attention take as long, with its interval."""
    if len(shares) < 2:
        return ""
    lengths = [each.length for each in shares]
    middle, low, high = (
        crossing(lengths, [getattr(each, name) for each in shares])
        for name in ("value", "low", "high")
    )
    if middle is None:
        side = "above" if shares[-1].value > EVEN else "below"
        return f"they take as long {side} T in [{lengths[0]}, {lengths[-1]}]"
    left = f"{low:.0f}" if low else f"< {lengths[0]}"
    right = f"{high:.0f}" if high else f"> {lengths[-1]}"
    return f"projections and attention take as long at T={middle:.0f} [{left}, {right}]"


def crossing(lengths: Sequence[int], shares: Sequence[float]) -> float | None:
    """Return where the shares last fall through one half, straight between neighbours in log T."""
    found = None
    pairs = list(zip(lengths, shares, strict=True))
    for (left, above), (right, below) in pairwise(pairs):
        if above >= EVEN > below:
            part = (above - EVEN) / (above - below)
            found = left * (right / left) ** part
    return found


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="A11",
        sentence="teacher forcing: one causal pass gives every position's logits",
        quantity="agreement",
        series="cell of one-pass or prefix-passes",
        prediction="equal to T separate passes over the prefixes, in float64",
        scope=Scope((WHOLE, PREFIXES), ("causal",)),
        rule=partial(agreement_rule, chosen=is_taught),
        shown_in=(SECTION,),
    ),
    Claim(
        id="A12",
        sentence="decoding with a KV cache gives what recomputing everything gives",
        quantity="agreement",
        series="cell of cached-steps or step-cached",
        prediction="same logits, and same greedy tokens: cached-steps feeds on its own",
        scope=Scope((DECODED, "step-cached"), ("causal",)),
        rule=partial(agreement_rule, chosen=is_cached),
        shown_in=(SECTION,),
    ),
    Claim(
        id="C10",
        sentence="training handles all positions at once",
        quantity="time",
        series="pair of sweeps of one-pass and prefix-passes",
        prediction="a pass per prefix over one pass: the ratio grows with T",
        scope=Scope((PREFIXES,), ("causal",), ("forward", "forward_backward")),
        rule=growing_rule,
        shown_in=(SECTION,),
    ),
    Claim(
        id="C11",
        sentence="prefill is one call, decoding is one step per token",
        quantity="time",
        series="cell measured by one-pass and cached-steps",
        prediction="decoding takes longer at every T",
        scope=Scope((DECODED,), ("causal",)),
        rule=decode_rule,
        shown_in=(SECTION,),
    ),
    Claim(
        id="C12",
        sentence="a KV cache saves rebuilding K and V; it does not remove the order",
        quantity="time",
        series="sweep of at least 4 contexts",
        prediction="time of one step: exponent 1 with a cache, 2 without",
        scope=Scope(tuple(STEP_EXPONENTS), ("causal",)),
        rule=step_rule,
        shown_in=(SECTION,),
    ),
    Claim(
        id="C13",
        sentence="making Q, K, V is a separate cost, linear in T",
        quantity="time",
        series="layer measured beside its projections alone",
        prediction="projections: exponent 1; their share of the layer falls with T",
        scope=Scope(LAYERS, tuple(MASK_CODES)),
        rule=projections_rule,
        shown_in=(SECTION,),
    ),
)
