"""Memory: claims on who stores the scores (C3, C4), and the bytes predicted."""

from __future__ import annotations

import math
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from harness.analysis.claims.evidence import (
    ANY_MASK,
    FUSED,
    INCONCLUSIVE,
    REFUTED,
    STORING,
    SUPPORTED,
    T_SWEEP,
    Claim,
    Evidence,
    Part,
    Scope,
    Verdict,
    combine,
    series_of,
)
from harness.analysis.claims.growth import extent, judge_memory, shape_text, time_part
from harness.analysis.fits.memory_fit import MemoryFit
from harness.analysis.fits.series import LengthSeries, SeriesFit, SeriesKey, is_ok, is_square
from harness.cases.shape import ITEM_SIZES
from harness.records.record import Record
from harness.records.tables import records_of

if TYPE_CHECKING:
    import pandas as pd

# What plain `sdpa` was seen to run when it chose a kernel that stores no scores.
FUSED_KERNEL = re.compile("flash|efficient|cudnn|fmha", re.IGNORECASE)
# How far from a whole number of score matrices the smaller buffers of a call may take the T² term.
WHOLE = 0.01
# A peak's law is right within 1 % of every point.
SLACK = 1.01
# The lengths that the article works out by hand, at 2 bytes, for one head and for eight.
ARTICLE_LENGTHS, ARTICLE_HEADS, ARTICLE_ITEMSIZE = (1000, 8000, 32000), (1, 8), 2
MEASURED_BY = "naive"
COLUMN_TYPES = {
    "length": "Int64", "heads": "Int64", "itemsize": "Int64", "predicted_bytes": "Int64",
    "measured_bytes": "Int64", "matrices": "Float64", "batch": "Int64",
    "device": "str", "dtype": "str", "mask": "str", "phase": "str",
}  # fmt: skip


def storing_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C3: the peak of a backend that stores scores has a T² term."""
    return [
        storing_verdict(claim.id, fit.series, fit=fit.memory)
        for fit in evidence.sweeps(claim.scope)
        if fit.memory
    ]


def storing_verdict(claim: str, series: LengthSeries, *, fit: MemoryFit) -> Verdict:
    """Make the verdict on one peak that should grow as T²."""
    part, text = storing_part(series, fit), peak_text(series, fit)
    return memory_verdict(claim, series, fit=fit, part=part, expected=2, text=text)


def storing_part(series: LengthSeries, fit: MemoryFit) -> Part:
    """Judge that a peak has a T² term, and say how many score matrices it is worth."""
    part, count = Part(*judge_memory(fit, 2)), matrices(series, fit)
    if count is None or math.isnan(count):
        return part
    broken = abs(count - round(count)) > WHOLE
    note = ": no whole number, so a mask or another dtype lives beside them" if broken else ""
    return part.noting(f"{count:.2f} score matrices alive at the peak{note}")


def fused_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C4: no T² term in the peak, while the time of the same sweep has exponent 2."""
    return [
        fused_verdict(claim.id, fit, memory=fit.memory)
        for fit in evidence.fits
        if fit.memory and within(claim.scope, fit.series.key) and is_fused(fit.series)
    ]


def within(scope: Scope, key: SeriesKey) -> bool:
    """Whether a sweep has the mask and the phase that a claim speaks of, whatever its backend."""
    return key.mask in scope.masks and key.phase in scope.phases


def fused_verdict(claim: str, fit: SeriesFit, *, memory: MemoryFit) -> Verdict:
    """Join the two halves of C4; the line is about the half that decides."""
    peak, text = linear_part(fit.series, memory), peak_text(fit.series, memory)
    time = time_part(fit.time, 2) if fit.time else Part(INCONCLUSIVE, "not measured")
    part = combine([peak, Part(time.verdict, f"time: {time.reason}")])
    if peak.verdict == SUPPORTED != part.verdict:
        text = f"peak is linear, but {part.reason}"
    return memory_verdict(claim, fit.series, fit=memory, part=part, expected=1, text=text)


def is_fused(series: LengthSeries) -> bool:
    """Whether a sweep ran a kernel that stores no scores; plain `sdpa` shows it by its kernel."""
    if series.key.backend == "sdpa":
        return bool(FUSED_KERNEL.search(series.kernel or ""))
    return any(fnmatchcase(series.key.backend, pattern) for pattern in FUSED)


def linear_part(series: LengthSeries, fit: MemoryFit) -> Part:
    """Judge that a peak has no T² term; one that a copy of an explicit mask explains is open."""
    if fit.degree == 0:
        return Part(SUPPORTED, "the peak does not grow with T")
    part = Part(*judge_memory(fit, 1))
    if part.verdict == REFUTED and 0 < square_bytes(fit) <= SLACK * mask_bytes(series):
        return Part(INCONCLUSIVE, f"a copy of the explicit mask may be all of it: {part.reason}")
    return part


def square_bytes(fit: MemoryFit) -> float:
    """Return the bytes per T² of a peak, 0 where no law fits."""
    return fit.coefficients[2] if fit.coefficients else 0.0


def mask_bytes(series: LengthSeries) -> float:
    """Return the bytes per T² of one copy of an explicit T×T mask, 0 without one.

    It is copied as it is, or in the dtype of the scores, once for all heads.
    """
    pairs = zip(series.lengths, series.mask_bytes, strict=False)
    held = max((size / length**2 for length, size in pairs if size), default=0.0)
    return max(held, series.key.batch * ITEM_SIZES[series.key.dtype]) if held >= 1 else 0.0


def memory_verdict(
    claim: str, series: LengthSeries, *, fit: MemoryFit, part: Part, expected: int, text: str
) -> Verdict:
    """Make the verdict on one peak; it is exact, so its interval is a point."""
    return Verdict.on(
        claim,
        series_of(series.key),
        part=part.noting(shape_text(series)),
        text=f"{series.key.backend} {text}",
        observed=(fit.exponent,) * 3,
        expected=expected,
    )


def peak_text(series: LengthSeries, fit: MemoryFit) -> str:
    """Say the growth of a peak over its range and what its T² term is worth, or why not."""
    if fit.exponent is None:
        return f"peak {judge_memory(fit, 2)[1]}"
    count = matrices(series, fit)
    held = f"{count:.2f} score matrices" if count else "no T² term"
    return f"peak grows as T^{fit.exponent:.2f} over T in {extent(fit)}, {held}"


def matrices(series: LengthSeries, fit: MemoryFit) -> float | None:
    """Return how many score matrices [batch, heads, T, T] the T² term is worth."""
    key = series.key
    size = ITEM_SIZES[key.dtype]
    return fit.score_matrices(batch=key.batch, heads=key.heads, itemsize=size)


def predicted_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Return the bytes of one score matrix beside the measured peak of the naive backend.

    One row for each of the article's lengths, measured or not, and one for each measured cell;
    `matrices` is measured over predicted, absent where nothing was measured. Sorted by length.
    """
    import pandas as pd

    rows = [measured_row(record) for record in records_of(table) if stores(record)]
    seen = {(row["length"], row["heads"], row["itemsize"], row["batch"]) for row in rows}
    for length in ARTICLE_LENGTHS:
        for heads in ARTICLE_HEADS:
            if (length, heads, ARTICLE_ITEMSIZE, 1) not in seen:
                rows.append(score_row(length, heads, itemsize=ARTICLE_ITEMSIZE, batch=1))
    rows.sort(key=lambda row: (row["length"], row["heads"], row["itemsize"], row["batch"]))
    columns = {
        name: pd.Series([row.get(name) for row in rows], dtype=kind)
        for name, kind in COLUMN_TYPES.items()
    }
    return pd.DataFrame(columns)


def stores(record: Record) -> bool:
    """Whether a cell's peak shows the score matrix: a measured forward of the naive backend."""
    measured = is_ok(record) and record.peak_bytes is not None
    forward = record.phase == "forward"
    return measured and forward and record.backend == MEASURED_BY and is_square(record)


def score_row(length: int, heads: int, *, itemsize: int, batch: int) -> dict[str, Any]:
    """Make the row of a prediction: batch x heads x length² x itemsize bytes."""
    predicted = batch * heads * length**2 * itemsize
    sizes = {"length": length, "heads": heads, "itemsize": itemsize, "batch": batch}
    return sizes | {"predicted_bytes": predicted}


def measured_row(record: Record) -> dict[str, Any]:
    """Make the row of a measured cell."""
    size = ITEM_SIZES[record.dtype]
    row = score_row(record.length_query, record.heads, itemsize=size, batch=record.batch)
    assert record.peak_bytes is not None
    names = ("device", "dtype", "mask", "phase")
    found = {
        "measured_bytes": record.peak_bytes,
        "matrices": record.peak_bytes / row["predicted_bytes"],
    }
    return row | found | {name: getattr(record, name) for name in names}


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="C3",
        sentence="storing the score matrix costs T² memory",
        quantity="peak memory",
        series=T_SWEEP,
        prediction="exponent 2, explained as a number of score matrices",
        scope=Scope(STORING, ANY_MASK),
        rule=storing_rule,
        shown_in=("Peak memory", "Score matrices: predicted and measured"),
    ),
    Claim(
        id="C4",
        sentence="a fused kernel computes the same dense attention without storing T×T",
        quantity="peak memory and time",
        series=T_SWEEP,
        prediction="no T² term in the peak, while the time has exponent 2",
        scope=Scope(FUSED),
        rule=fused_rule,
        shown_in=("Peak memory", "Time"),
    ),
)
