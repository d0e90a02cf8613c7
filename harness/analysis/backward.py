"""Backward: the rule on what backward costs beside forward (D-backward)."""

from __future__ import annotations

from harness.analysis.cells import SeriesKey
from harness.analysis.evidence import Claim, Evidence
from harness.analysis.ratio import Ratio, time_ratio
from harness.analysis.storage import FUSED_KERNEL
from harness.analysis.verdict import (
    INCONCLUSIVE,
    REFUTED,
    SUPPORTED,
    Part,
    Verdict,
    series_of,
)
from harness.attention.backends import BACKENDS
from harness.record import Record

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
