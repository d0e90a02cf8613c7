"""Growth: claims on the exponent of time over T (C1, D-window)."""

from __future__ import annotations

from functools import partial

from harness.analysis.claims.evidence import (
    DENSE,
    INCONCLUSIVE,
    MASKING,
    REFUTED,
    SKIPPING,
    T_SWEEP,
    Claim,
    Evidence,
    Part,
    Scope,
    Verdict,
    series_of,
)
from harness.analysis.fits.choice import RMS_GOOD
from harness.analysis.fits.laws import LENGTHS_LEAST, RANGE_LEAST
from harness.analysis.fits.memory_fit import MemoryFit
from harness.analysis.fits.series import LengthSeries
from harness.analysis.fits.time_fit import TimeFit

TOLERANCE = 0.15
# A T² term below a tenth of the time at the largest length does not count as quadratic growth.
SHARE_LEAST = 0.10
WINDOW_SWEEP = "sliding-window sweep of at least 4 values of T"


def judge_exponent(
    fit: TimeFit, expected: float, *, tolerance: float = TOLERANCE, axis: str = "T"
) -> tuple[str, str]:
    """Return (verdict, reason) on the claim that time grows as `axis` to the power `expected`.

    The verdict is "supported" when the whole interval lies within `tolerance` of `expected`,
    "refuted" when all of it lies outside on one side, else "inconclusive". The reason is one
    sentence that starts with its kind: inside, above, below, floor, few, misfit, mixed, rough or
    wide. A law that misses the times by over 5 % supports, its interval being wide for it, but it
    refutes nothing.
    All of it holds over the range measured and for the exponent at its upper end, never for T
    without limit.
    """
    if fit.reason is not None or fit.low is None or fit.high is None:
        return "inconclusive", _unjudged(fit, axis)
    seen = f"the interval [{fit.low:.2f}, {fit.high:.2f}] over {_span(fit.lengths, axis)}"
    band = f"{expected:g} ± {tolerance:g}"
    if expected - tolerance <= fit.low and fit.high <= expected + tolerance:
        return "supported", f"inside: {seen} lies within {band}"
    if fit.low <= expected + tolerance and fit.high >= expected - tolerance:
        return "inconclusive", f"wide: {seen} reaches beyond {band}{_jump(fit, axis)}"
    if fit.rms is not None and fit.rms > RMS_GOOD:
        return "inconclusive", f"rough: {seen} lies outside {band}, but {_misses(fit)}"
    if fit.low > expected + tolerance:
        return "refuted", f"above: {seen} lies above {band}"
    share = fit.quadratic_share
    if expected == 2 and share is not None and share >= SHARE_LEAST:
        part = f"a {axis}² term may make up {share:.0%} of the time at {axis} = {fit.length_max}"
        return "inconclusive", f"mixed: {seen} lies below {band}, but {part}"
    return "refuted", f"below: {seen} lies below {band}"


def judge_memory(fit: MemoryFit, expected: int, *, axis: str = "T") -> tuple[str, str]:
    """Return (verdict, reason) on the claim that peak memory grows as `axis` to `expected`.

    `expected` is 0, 1 or 2. Supported when the law's highest power is `expected` and rules the
    growth at the largest length (e* within 0.15), refuted when that power is missing or a higher
    one rules. The reason is a sentence starting with its kind: inside, above, below, mixed, few or
    misfit. ValueError for another power.
    """
    if expected not in (0, 1, 2):
        raise ValueError(f"memory is fitted with the powers 0, 1 and 2, not {expected!r}")
    if fit.reason == "few" or fit.degree is None or fit.exponent is None:
        return "inconclusive", _unjudged_memory(fit, axis)
    law = f"e* = {fit.exponent:.2f} over {_span(fit.lengths, axis)}"
    if fit.degree < expected:
        return "refuted", f"below: {law}, without {_term(expected, axis)}"
    if abs(fit.exponent - expected) <= TOLERANCE and fit.degree == expected:
        return "supported", f"inside: {law}, led by {_term(expected, axis)}"
    if fit.exponent > expected + TOLERANCE:
        return "refuted", f"above: {law}, led by {_term(fit.degree, axis)}"
    return "inconclusive", f"mixed: {law}, {_term(fit.degree, axis)} beside lower ones"


def _misses(fit: TimeFit) -> str:
    """Say why a law that fits roughly refutes nothing: kernels that start to skip bend a curve."""
    least, most = min(fit.local_exponents), max(fit.local_exponents)
    slopes = f"local exponents run from {least:.2f} to {most:.2f}"
    return f"the law misses the times by {fit.rms:.0%} rms; {slopes}"


def _span(lengths: tuple[int, ...], axis: str) -> str:
    return f"{axis} in [{lengths[0]}, {lengths[-1]}]" if lengths else f"no {axis} at all"


def _term(power: int, axis: str) -> str:
    return {0: "the constant", 1: f"the {axis} term", 2: f"the {axis}² term"}[power]


def _jump(fit: TimeFit, axis: str) -> str:
    if fit.jump is None:
        return ""
    length, ratio = fit.jump
    return f"; a jump of {ratio:.2f}x at {axis} = {length} would explain the times as well"


def _unjudged(fit: TimeFit, axis: str) -> str:
    lengths = (*fit.lengths_dropped, *fit.lengths)
    if fit.reason == "floor":
        grown = f"the time grows only {fit.growth:.1f}x over {_span(lengths, axis)}"
        return f"floor: {grown}, so overhead rules; 5x is needed"
    if fit.reason == "misfit":
        least, most = min(fit.local_exponents), max(fit.local_exponents)
        law = f"no law comes closer than {fit.rms:.0%} rms over {_span(fit.lengths, axis)}"
        return f"misfit: {law}; local exponents run from {least:.2f} to {most:.2f}"
    seen = f"{len(lengths)} usable lengths, {_span(lengths, axis)}"
    return f"few: {seen}; {LENGTHS_LEAST} over {RANGE_LEAST:g}x are needed"


def _unjudged_memory(fit: MemoryFit, axis: str) -> str:
    seen = f"{len(fit.lengths)} usable lengths, {_span(fit.lengths, axis)}"
    if fit.reason == "few":
        return f"few: {seen}; 4 over 4x are needed"
    return f"misfit: no law a + b{axis} + c{axis}² comes within 1 % of every point over {seen}"


def time_rule(evidence: Evidence, claim: Claim, *, expected: float) -> list[Verdict]:
    """Judge the exponent of time on every sweep in the claim's scope."""
    return [
        time_verdict(claim.id, fit.series, fit=fit.time, expected=expected)
        for fit in evidence.sweeps(claim.scope)
        if fit.time
    ]


def time_verdict(claim: str, series: LengthSeries, *, fit: TimeFit, expected: float) -> Verdict:
    """Make the verdict on one exponent of time."""
    part = time_part(fit, expected)
    return Verdict.on(
        claim,
        series_of(series.key),
        part=part.noting(*time_notes(series, fit)),
        text=f"{series.key.backend} time {time_text(fit, part)}",
        observed=(fit.exponent, fit.low, fit.high),
        expected=expected,
    )


def time_part(fit: TimeFit, expected: float) -> Part:
    """Judge the exponent of one fitted time."""
    return Part(*judge_exponent(fit, expected))


def time_text(fit: TimeFit, part: Part) -> str:
    """Say an exponent with its interval and range, or why there is none that counts."""
    if fit.exponent is None or fit.reason is not None:
        return part.reason
    kind = f", {part.reason.split(':')[0]}" if part.verdict == INCONCLUSIVE else ""
    interval = f"{fit.exponent:.2f} [{fit.low:.2f}, {fit.high:.2f}]"
    return f"grows as T^{interval} over T in {extent(fit)}{kind}"


def time_notes(series: LengthSeries, fit: TimeFit) -> list[str]:
    """Return what belongs beside an exponent: shares, residual, replicas, shape."""
    shares = ", ".join(f"{name} {share:.0%}" for name, share in fit.shares.items())
    notes = [f"shares at the largest T: {shares}"] if shares else []
    notes += [] if fit.rms is None else [f"residual {fit.rms:.1%} rms"]
    notes += ["one replica: no spread between processes"] if series.replicas == 1 else []
    return [*notes, shape_text(series)]


def shape_text(series: LengthSeries) -> str:
    """Say what was fixed in a sweep beyond its verdict's series."""
    key = series.key
    groups = f"/{key.heads_kv}" if key.heads_kv != key.heads else ""
    values = f":{key.dim_value}" if key.dim_value != key.dim_key else ""
    kernel = f", kernel {series.kernel}" if series.kernel else ""
    return f"B={key.batch} H={key.heads}{groups} D={key.dim_key}{values}{kernel}"


def extent(fit: TimeFit | MemoryFit) -> str:
    """Say the range of T that was fitted."""
    return f"[{min(fit.lengths)}, {max(fit.lengths)}]"


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


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="C1",
        sentence="dense attention's time grows as T², fused or not",
        quantity="time",
        series=T_SWEEP,
        prediction="exponent 2",
        scope=Scope(DENSE),
        rule=partial(time_rule, expected=2.0),
        shown_in=("Time", "Throughput"),
    ),
    Claim(
        id="D-window",
        sentence="a sliding window makes time linear where hidden keys are skipped",
        quantity="time",
        series=WINDOW_SWEEP,
        prediction="exponent 1, so that 2 is refuted",
        scope=Scope(SKIPPING, ("sliding-window",)),
        rule=partial(window_rule, expected=1.0, other=2.0),
        shown_in=("Time",),
    ),
    Claim(
        id="D-window-mask",
        sentence="a sliding window laid over T×T as a mask saves nothing: time stays T²",
        quantity="time",
        series=WINDOW_SWEEP,
        prediction="exponent 2, so that 1 is refuted",
        scope=Scope(MASKING, ("sliding-window",)),
        rule=partial(window_rule, expected=2.0, other=1.0),
        shown_in=("Time",),
    ),
)
