"""Masks: claims on what a mask and what padding cost (C9, D-varlen)."""

from __future__ import annotations

import math
from collections import defaultdict

from harness.analysis.claims.agreement import agreement_part, is_asked
from harness.analysis.claims.evidence import (
    DENSE,
    DENSE_MASKS,
    INCONCLUSIVE,
    NOTHING,
    REFUTED,
    SUPPORTED,
    T_SWEEP,
    Claim,
    Evidence,
    Part,
    Scope,
    Verdict,
    combine,
    judge_above_one,
    series_of,
)
from harness.analysis.claims.growth import shape_text, time_part
from harness.analysis.claims.rowwise import ROWS
from harness.analysis.fits.ratio import Ratio
from harness.analysis.fits.series import LengthSeries, SeriesFit, SeriesKey, time_fit
from harness.analysis.fits.time_fit import TimeFit
from harness.attention.backend import BACKENDS
from harness.cases.masks import MASKS
from harness.records.record import Record

TOLERANCE = 0.15
Difference = tuple[float, float, float]
PACKED = "packed-sdpa"
ONE_PRODUCT = "naive"
MASKED = tuple(name for name in DENSE_MASKS if name != "full" and not MASKS[name].biased)


def masked_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C9 on every masked sweep beside the unmasked one of the same shape."""
    return [
        masked_verdict(evidence, claim.id, fit=fit)
        for fit in evidence.sweeps(claim.scope)
        if fit.time
    ]


def masked_verdict(evidence: Evidence, claim: str, *, fit: SeriesFit) -> Verdict:
    """Make the verdict of one masked sweep; observed is the difference of the exponents."""
    key = fit.series.key
    apart, growth = compare_growth(fit, unmasked(evidence, fit.series))
    part = combine([growth, race(evidence, fit.series)])
    ratios = within(fit.series, evidence.ratios(key, key.with_(mask="full")))
    cost = f"masked over unmasked {ratios[-1]} at T={ratios[-1].length}" if ratios else ""
    return Verdict.on(
        claim,
        series_of(key),
        part=part.noting(cost, shape_text(fit.series)),
        text=say(key.backend, apart, ratios=ratios, part=part),
        observed=apart or NOTHING,
        expected=0.0,
    )


def race(evidence: Evidence, series: LengthSeries) -> Part:
    """Judge that row by row under the same mask takes longer at every length."""
    rows = evidence.ratios(series.key.with_(backend=ROWS), series.key)
    what = f"{ROWS} under the same mask, over {series.key.backend}"
    return judge_above_one(within(series, rows), what)


def within(series: LengthSeries, ratios: list[Ratio]) -> list[Ratio]:
    """Keep the ratios of a sweep's own lengths: another kernel may have run the others."""
    return [ratio for ratio in ratios if ratio.length in series.lengths]


def say(backend: str, apart: Difference | None, *, ratios: list[Ratio], part: Part) -> str:
    """Put the difference of exponents and the cost of the mask in one phrase, or what decides."""
    if part.verdict != SUPPORTED or apart is None or not ratios:
        return f"{backend}: {part.reason}"
    last = ratios[-1]
    return f"{backend} exponent {apart_text(apart)}, time {last.value:.2f}x at T={last.length}"


def apart_text(apart: Difference) -> str:
    """Say a difference of exponents with its interval, without a minus zero."""
    value, low, high = (round(each, 2) + 0.0 for each in apart)
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"


def unmasked(evidence: Evidence, series: LengthSeries) -> SeriesFit | None:
    """Return the unmasked sweep of the same shape with the most lengths in common."""
    key = series.key.with_(mask="full")
    beside = [fit for fit in evidence.fits if fit.series.key == key and fit.time]
    common = set(series.lengths)
    return max(beside, key=lambda fit: len(common & set(fit.series.lengths)), default=None)


def compare_growth(fit: SeriesFit, other: SeriesFit | None) -> tuple[Difference | None, Part]:
    """Judge "exponent unchanged" from the two fits, taken to the same largest length."""
    if other is None:
        return None, Part(INCONCLUSIVE, "no unmasked sweep beside it")
    first, second = fit.time, other.time
    if first and second and first.length_max != second.length_max:
        common = set(fit.series.lengths) & set(other.series.lengths)
        first, second = (time_fit(each.series.only(common)) for each in (fit, other))
    if not first or not second:
        return None, Part(INCONCLUSIVE, "no length timed with and without the mask")
    return judge_difference(first, second)


def judge_difference(first: TimeFit, second: TimeFit) -> tuple[Difference | None, Part]:
    """Judge the difference of two exponents against 0 by the band of a single exponent.

    Two exponents that are both 2 are unchanged; one that is open leaves a difference open.
    """
    words = [time_part(each, 2).verdict for each in (first, second)]
    apart = difference(first, second)
    if apart is None or first.reason or second.reason:
        return apart, Part(INCONCLUSIVE, open_reason(first, second))
    _, low, high = apart
    text = f"exponent changed by {apart_text(apart)}"
    if words == [SUPPORTED, SUPPORTED] or (low >= -TOLERANCE and high <= TOLERANCE):
        return apart, Part(SUPPORTED, text)
    outside = low > TOLERANCE or high < -TOLERANCE
    return apart, Part(REFUTED if outside and REFUTED in words else INCONCLUSIVE, text)


def open_reason(first: TimeFit, second: TimeFit) -> str:
    """Say which of the two exponents is open."""
    pairs = (("masked", first), ("unmasked", second))
    return ", ".join(f"{name}: {time_part(fit, 2).reason}" for name, fit in pairs if fit.reason)


def difference(first: TimeFit, second: TimeFit) -> Difference | None:
    """Return the difference of two exponents with a 95 % interval.

    The distances from each estimate to its ends add as squares (MOVER; Zou and Donner 2008),
    which holds for intervals that are not symmetric.
    """
    values = (first.exponent, first.low, first.high, second.exponent, second.low, second.high)
    if any(value is None for value in values):
        return None
    one, low_one, high_one, two, low_two, high_two = (value or 0.0 for value in values)
    value = one - two
    return (
        value,
        value - math.hypot(one - low_one, high_two - two),
        value + math.hypot(high_one - one, two - low_two),
    )


def varlen_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Make one verdict per packed series, against the fastest padded call of the same batch."""
    groups: defaultdict[SeriesKey, list[Record]] = defaultdict(list)
    for record in evidence.records:
        if claim.scope.covers(record) and is_asked(record):
            groups[SeriesKey.of(record)].append(record)
    found = []
    for key in sorted(groups, key=SeriesKey.sort_key):
        cells, ratios = groups[key], over_packed(evidence, key)
        if ratios or any(cell.failed for cell in cells):
            found.append(varlen_verdict(claim.id, key, cells=cells, ratios=ratios))
    return found


def over_packed(evidence: Evidence, key: SeriesKey) -> dict[str, Ratio]:
    """Return the time of each padded backend over the packed call's, at the largest T of both."""
    names = sorted(
        (one.name for one in BACKENDS.values() if one.dense and not one.skips_hidden),
        key=lambda name: (name == ONE_PRODUCT, name),
    )
    padded = {name: key.with_(backend=name, work="attention") for name in names}
    found = {name: evidence.ratios(other, key) for name, other in padded.items()}
    return {name: ratios[-1] for name, ratios in found.items() if ratios}


def varlen_verdict(
    claim: str, key: SeriesKey, *, cells: list[Record], ratios: dict[str, Ratio]
) -> Verdict:
    """Make the verdict; observed is the ratio of the fastest padded call."""
    part, cell = agreement_part(cells), max(cells, key=lambda cell: cell.length_query)
    text, observed = part.reason, NOTHING
    if ratios:
        name, least = min(ratios.items(), key=lambda item: item[1].value)
        told = ", ".join(f"{other} {ratio}" for other, ratio in ratios.items())
        time = judge_above_one([least], f"padded {name} over packed")
        part = combine([part, time]).noting(f"padded over packed: {told}")
        text, observed = time.reason, (least.value, least.low, least.high)
    shape = f"{saving(cell):.2f}x fewer pairs, B={cell.batch} H={cell.heads} D={cell.dim_key}"
    return Verdict.on(
        claim,
        series_of(key),
        part=part.noting(shape),
        text=text,
        observed=observed,
        expected=1.0,
    )


def saving(cell: Record) -> float:
    """Return the pairs of the padded square over those of the packed sequences.

    The useful operations of the packed call are counted in the record; under a causal mask the
    padded square counts half.
    """
    pairs = (
        cell.batch
        * cell.length_query**2
        * cell.heads
        / (1 if MASKS[cell.mask].causal is None else 2)
    )
    return pairs * 2 * (cell.dim_key + cell.dim_value) / (cell.flops or 1)


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="C9",
        sentence="a causal or padding mask does not take the parallelism away",
        quantity="time",
        series="masked " + T_SWEEP,
        prediction="exponent unchanged, masked together faster than masked row by row",
        scope=Scope(DENSE, MASKED),
        rule=masked_rule,
        shown_in=("Masks", "Time"),
    ),
    Claim(
        id="D-varlen",
        sentence="packing sequences without their padding takes less time than padding them",
        quantity="agreement and time",
        series="cell timed both padded and packed",
        prediction="real tokens agree; padded time over packed above 1",
        scope=Scope((PACKED,)),
        rule=varlen_rule,
        shown_in=("Masks",),
    ),
)
