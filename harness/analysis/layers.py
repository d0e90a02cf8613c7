"""Layers: the rule on a layer's projections, beside its attention (C13)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from harness.analysis.cells import SeriesKey
from harness.analysis.evidence import Claim, Evidence
from harness.analysis.generation import keys_of
from harness.analysis.growth import time_part
from harness.analysis.ratio import Ratio
from harness.analysis.series import SeriesFit
from harness.analysis.verdict import (
    INCONCLUSIVE,
    NOTHING,
    REFUTED,
    SUPPORTED,
    Part,
    Verdict,
    combine,
    series_of,
)

PARTS = "projections"
LAYERS = ("layer-naive", "layer-sdpa", "layer-mha")
# The share at which projections and attention take as long.
EVEN = 0.5


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
