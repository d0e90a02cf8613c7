"""Storage: the rules on peak memory over T: who stores the scores (C3) and who does not (C4)."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from harness.analysis.evidence import Claim, Evidence
from harness.analysis.growth import extent, shape_text, time_part
from harness.analysis.scaling import MemoryFit, judge_memory
from harness.analysis.series import LengthSeries, SeriesFit
from harness.analysis.verdict import INCONCLUSIVE, REFUTED, Part, Verdict, combine, line, series_of
from harness.case import ITEM_SIZES

STORING = ("naive", "sdpa-math")
FUSED = (
    "tiled", "sdpa-flash", "sdpa-efficient", "sdpa-cudnn", "xformers*", "flash-attn*", "flex*",
)  # fmt: skip
# What plain `sdpa` was seen to run when it chose a kernel that stores no scores.
FUSED_KERNEL = re.compile("flash|efficient|cudnn|fmha", re.IGNORECASE)
# A boolean mask may be copied in the dtype of the scores, and no wider than double precision.
WIDEST = 8


def storing_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C3: the peak of a backend that stores scores has a T² term."""
    return [
        memory_verdict(claim.id, fit.series, fit.memory, Part(*judge_memory(fit.memory, 2)), 2)
        for fit in evidence.sweeps(claim.scope)
        if fit.memory
    ]


def fused_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C4: no T² term in the peak, while the time of the same sweep has exponent 2."""
    return [
        memory_verdict(claim.id, fit.series, fit.memory, fused_part(fit, fit.memory), 1)
        for fit in evidence.fits
        if fit.memory and fit.series.key.mask in claim.scope.masks and is_fused(fit.series)
    ]


def is_fused(series: LengthSeries) -> bool:
    """Whether a sweep ran a kernel that stores no scores; plain `sdpa` shows it by its kernel."""
    if series.key.backend == "sdpa":
        return bool(FUSED_KERNEL.search(series.kernel or ""))
    return any(fnmatchcase(series.key.backend, pattern) for pattern in FUSED)


def fused_part(fit: SeriesFit, memory: MemoryFit) -> Part:
    """Join the two halves of C4."""
    peak = linear_part(fit.series, memory)
    time = time_part(fit.time, 2) if fit.time else Part(INCONCLUSIVE, "not timed")
    return combine([peak, time._replace(reason=f"time: {time.reason}")])


def linear_part(series: LengthSeries, fit: MemoryFit) -> Part:
    """Judge that a peak has no T² term; one that a copy of an explicit mask explains is open."""
    part = Part(*judge_memory(fit, 1))
    if part.verdict != REFUTED or fit.coefficients[2] > mask_coefficient(series):
        return part
    return Part(INCONCLUSIVE, f"the T² term may be a copy of the explicit mask ({part.reason})")


def mask_coefficient(series: LengthSeries) -> float:
    """Return the largest bytes per T² that one copy of the explicit mask can take."""
    pairs = zip(series.lengths, series.mask_bytes, strict=True)
    per_pair = [held / length**2 for length, held in pairs if held]
    return WIDEST * max(per_pair[-1:], default=0.0)


def memory_verdict(
    claim: str, series: LengthSeries, fit: MemoryFit, part: Part, expected: float
) -> Verdict:
    """Make the verdict on one peak; it is exact, so its interval is a point."""
    where = series_of(series.key)
    grows = memory_exponent(fit)
    text = f"{series.key.backend} peak: {part.reason}"
    if grows is not None:
        held = f"{matrices(series, fit):.2f} score matrices"
        text = f"{series.key.backend} peak grows as T^{grows:.2f} over T in {extent(fit)}, {held}"
    return Verdict(
        claim=claim,
        series=where,
        verdict=part.verdict,
        observed=grows,
        low=grows,
        high=grows,
        expected=expected,
        reason=f"{part.reason}; over T in {extent(fit)}; {shape_text(series)}",
        sentence=line(claim, part.verdict, text, where),
    )


def matrices(series: LengthSeries, fit: MemoryFit) -> float:
    """Return how many score matrices [batch, heads, T, T] the T² term is worth."""
    key = series.key
    size = ITEM_SIZES[key.dtype]
    return float(fit.score_matrices(batch=key.batch, heads=key.heads, itemsize=size))


def memory_exponent(fit: MemoryFit) -> float | None:
    """Return d log(peak - a) / d log T at the largest T; None if the fit is not exact or flat."""
    if not fit.exact:
        return None
    length = max(fit.lengths)
    _, linear, square = (value * length**power for power, value in enumerate(fit.coefficients))
    return (linear + 2 * square) / (linear + square) if linear + square > 0 else 0.0
