"""Window: the rule on sliding windows: who skips hidden keys is linear in T, who masks is not."""

from __future__ import annotations

from harness.analysis.evidence import Claim, Evidence
from harness.analysis.growth import time_notes, time_part, time_text
from harness.analysis.scaling import TimeFit
from harness.analysis.series import LengthSeries
from harness.analysis.verdict import REFUTED, Verdict, series_of

# Backends that never look at a hidden block of keys, and those that mask the whole of T x T.
SKIPPING = ("rowwise", "tiled", "xformers*", "flash-attn*", "flex*")
MASKING = ("naive", "sdpa*")


def window_rule(
    evidence: Evidence, claim: Claim, *, expected: float, other: float
) -> list[Verdict]:
    """Judge the exponent of time on sliding-window sweeps, and say what it makes of the other."""
    return [
        window_verdict(claim.id, fit.series, fit=fit.time, expected=expected, other=other)
        for fit in evidence.sweeps(claim.scope)
        if fit.time
    ]


def window_verdict(
    claim: str, series: LengthSeries, *, fit: TimeFit, expected: float, other: float
) -> Verdict:
    """Make the verdict of one sweep: the contrast shows that the test can refute either power."""
    part = time_part(fit, expected)
    word = time_part(fit, other).verdict
    told = f", T^{other:g} refuted" if word == REFUTED else ""
    contrast = f"T^{other:g} {word} by the same test"
    return Verdict.on(
        claim,
        series_of(series.key),
        part=part.noting(contrast, f"window {series.key.window}", *time_notes(series, fit)),
        text=f"{series.key.backend} {time_text(fit, part)}{told}",
        observed=(fit.exponent, fit.low, fit.high),
        expected=expected,
    )
