"""Held: the rule on what lives between forward and backward (D-training-memory)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase

from harness.analysis.evidence import Claim, Evidence
from harness.analysis.growth import extent, shape_text
from harness.analysis.scaling import MemoryFit
from harness.analysis.series import LengthSeries, memory_fit, sweeps
from harness.analysis.storage import STORING, WHOLE, is_fused, linear_part, matrices, within
from harness.analysis.verdict import (
    INCONCLUSIVE,
    NOTHING,
    REFUTED,
    SUPPORTED,
    Part,
    Verdict,
    series_of,
)
from harness.record import Record


def held_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge D-training-memory on every sweep over T with a backward."""
    found = []
    for series in held_sweeps(evidence.records):
        named = any(fnmatchcase(series.key.backend, name) for name in STORING)
        fit = memory_fit(series)
        if fit and within(claim.scope, series.key) and (named or is_fused(series)):
            found.append(held_verdict(claim.id, series, fit=fit, stores=named))
    return found


def held_sweeps(records: Iterable[Record]) -> list[LengthSeries]:
    """Return the sweeps over T whose `peaks` are the bytes held instead."""
    kept = [record for record in records if record.held_bytes is not None]
    return sweeps(replace(record, peak_bytes=record.held_bytes) for record in kept)


def held_verdict(claim: str, series: LengthSeries, *, fit: MemoryFit, stores: bool) -> Verdict:
    """Make the verdict of one sweep; observed is the score matrices held, exact to the byte."""
    count = None if fit.reason else matrices(series, fit)
    part = storing_part(fit, count) if stores else linear_part(series, fit)
    return Verdict.on(
        claim,
        series_of(series.key),
        part=part.noting(law_note(fit), shape_text(series)),
        text=f"{series.key.backend} {held_text(fit, count)}",
        observed=NOTHING if count is None else (count,) * 3,
        expected=1.0 if stores else 0.0,
    )


def storing_part(fit: MemoryFit, count: float | None) -> Part:
    """Judge that at least one score matrix is held: the weights."""
    if count is None:
        return Part(INCONCLUSIVE, f"{fit.reason}: {len(fit.lengths)} lengths give no law")
    if count < 1 - WHOLE:
        return Part(REFUTED, f"below: {count:.2f} score matrices are held, not the weights")
    return Part(SUPPORTED, f"the T² term is {count:.2f} score matrices: the weights are kept")


def held_text(fit: MemoryFit, count: float | None) -> str:
    """Say how many score matrices are held over which lengths."""
    if count is None:
        return f"held bytes follow no law ({fit.reason}) over T in {extent(fit)}"
    held = f"{count:.2f} score matrices" if count else "no T² term"
    return f"holds {held} between forward and backward over T in {extent(fit)}"


def law_note(fit: MemoryFit) -> str:
    """Say the linear term in bytes per position: saved inputs, the output, the row sums."""
    if fit.reason or not fit.coefficients[1]:
        return ""
    return f"{fit.coefficients[1]:,.0f} bytes per position beside it"
