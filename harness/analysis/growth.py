"""Growth: the rule on exponents of time over T (C1, D-window), and the words for one sweep."""

from __future__ import annotations

from harness.analysis.evidence import Claim, Evidence
from harness.analysis.scaling import MemoryFit, TimeFit, judge_exponent
from harness.analysis.series import LengthSeries
from harness.analysis.verdict import INCONCLUSIVE, Part, Verdict, series_of

DENSE = ("naive", "tiled", "sdpa*", "xformers*", "flash-attn*", "flex*")


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
