"""Training: claims on backward: its time and what it keeps in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase

from harness.analysis.claims.evidence import (
    DENSE,
    DENSE_MASKS,
    FUSED,
    INCONCLUSIVE,
    NOTHING,
    REFUTED,
    STORING,
    SUPPORTED,
    Claim,
    Evidence,
    Part,
    Scope,
    Verdict,
    series_of,
)
from harness.analysis.claims.growth import extent, shape_text
from harness.analysis.claims.memory import (
    FUSED_KERNEL,
    WHOLE,
    is_fused,
    linear_part,
    matrices,
    within,
)
from harness.analysis.fits.memory_fit import MemoryFit
from harness.analysis.fits.ratio import Ratio, time_ratio
from harness.analysis.fits.series import LengthSeries, SeriesKey, memory_fit, sweeps
from harness.attention.backends import BACKENDS
from harness.records.record import Record

# Backward has four products to forward's two; one that computes the scores anew has five.
KEEPS, RECOMPUTES = 2.0, 2.5
# From three quarters of the smaller prediction to 1.6 times the larger. The count of products
# leaves out all that moves T x T numbers about: softmax forward, its gradient backward.
BAND = (1.5, 4.0)


def recomputes(record: Record) -> bool:
    """Whether a cell's backward computes the scores anew; plain `sdpa` shows it by its kernel."""
    if record.backend == "sdpa":
        return bool(FUSED_KERNEL.search(record.kernel or ""))
    known = BACKENDS.get(record.backend)
    return known is not None and known.recomputes


def backward_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge D-backward on every backend, at the largest T timed both ways."""
    keys = {key for key, _ in evidence.timed if claim.scope.covers(key)}
    found = []
    for key in sorted(keys, key=SeriesKey.sort_key):
        forward = key.with_(phase="forward")
        lengths = [length for other, length in evidence.timed if other == key]
        both = [length for length in lengths if (forward, length) in evidence.timed]
        if both:
            pair = (evidence.timed[key, max(both)], evidence.timed[forward, max(both)])
            found.append(backward_verdict(claim.id, *pair))
    return found


def backward_verdict(claim: str, backward: Record, forward: Record) -> Verdict:
    """Make the verdict of one pair of cells; observed is backward's time over forward's."""
    ratio = time_ratio(backward, forward)
    expected = RECOMPUTES if recomputes(backward) else KEEPS
    part = judge_band(ratio)
    return Verdict.on(
        claim,
        series_of(backward),
        part=part.noting(*notes(backward, forward, ratio)),
        text=f"{backward.backend} backward takes {ratio} forward's time at T={ratio.length}",
        observed=(ratio.value, ratio.low, ratio.high),
        expected=expected,
    )


def judge_band(ratio: Ratio) -> Part:
    """Judge that a ratio lies in the band: all of its interval in, all of it out, or open.

    A ratio below says as much of forward as of backward: torch's `math` kernel goes over the
    scores so often in its forward that backward is 1.15 times it (CPU, torch 2.13, T=1024).
    """
    low, high = BAND
    band = f"[{low:g}, {high:g}]"
    if low <= ratio.low and ratio.high <= high:
        return Part(SUPPORTED, f"inside: {ratio} lies within {band}")
    if ratio.high < low:
        return Part(REFUTED, f"below: {ratio} lies below {band}")
    if ratio.low > high:
        return Part(REFUTED, f"above: {ratio} lies above {band}")
    return Part(INCONCLUSIVE, f"wide: {ratio} reaches beyond {band}")


def notes(backward: Record, forward: Record, ratio: Ratio) -> list[str]:
    """Say what the prediction rests on, and what weakens the comparison."""
    kind = "computes the scores anew: 2.5" if recomputes(backward) else "keeps the weights: 2"
    found = [f"it {kind} forwards by products"]
    if backward.kernel != forward.kernel and backward.kernel and forward.kernel:
        found.append(f"two kernels: {forward.kernel} forward, {backward.kernel} in training")
    if not ratio.paired:
        found.append("too few replicas to pair")
    return found


def kept_bytes_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge D-training-memory on every sweep over T with a backward."""
    found = []
    for series in kept_bytes_sweeps(evidence.records):
        named = any(fnmatchcase(series.key.backend, name) for name in STORING)
        fit = memory_fit(series)
        if fit and within(claim.scope, series.key) and (named or is_fused(series)):
            found.append(kept_bytes_verdict(claim.id, series, fit=fit, stores=named))
    return found


def kept_bytes_sweeps(records: Iterable[Record]) -> list[LengthSeries]:
    """Return the sweeps over T whose `peaks` are the bytes held instead."""
    kept = [record for record in records if record.held_bytes is not None]
    return sweeps(replace(record, peak_bytes=record.held_bytes) for record in kept)


def kept_bytes_verdict(
    claim: str, series: LengthSeries, *, fit: MemoryFit, stores: bool
) -> Verdict:
    """Make the verdict of one sweep; observed is the score matrices held, exact to the byte."""
    count = None if fit.reason else matrices(series, fit)
    part = storing_part(fit, count) if stores else linear_part(series, fit)
    return Verdict.on(
        claim,
        series_of(series.key),
        part=part.noting(law_note(fit), shape_text(series)),
        text=f"{series.key.backend} {kept_text(fit, count)}",
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


def kept_text(fit: MemoryFit, count: float | None) -> str:
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


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="D-backward",
        sentence="backward takes 2 to 2.5 times forward: four products, five if it recomputes",
        quantity="time",
        series="cell timed both forward and backward",
        prediction="2 where the weights are kept, 2.5 where recomputed; in [1.5, 4]",
        scope=Scope(DENSE, phases=("backward",)),
        rule=backward_rule,
        shown_in=("Training",),
    ),
    Claim(
        id="D-training-memory",
        sentence="between forward and backward naive holds the T×T weights, fused kernels do not",
        quantity="bytes held",
        series="sweep of at least 4 values of T with a backward",
        prediction="one score matrix held by who stores, no T² term in fused kernels",
        scope=Scope((*STORING, *FUSED), DENSE_MASKS, ("forward_backward",)),
        rule=kept_bytes_rule,
        shown_in=("Training",),
    ),
)
