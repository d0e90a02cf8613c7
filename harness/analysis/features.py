"""Features: the rule that scores cost T²·d_k and the weighted sum T²·d_v (C2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from harness.analysis.cells import SeriesKey, is_ok, is_square
from harness.analysis.evidence import Claim, Evidence
from harness.analysis.line import RANGE_LEAST, VALUES_LEAST, LineFit, fit_line
from harness.analysis.scaling import TOLERANCE
from harness.analysis.time_fit import RMS_USELESS
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

AXES = {"dim_key": "d_k", "dim_value": "d_v"}
SWEPT_LEAST = 3  # fewer values of a dim are two cells, not a sweep
DOMINANT = 0.5
# A term below a tenth of the time at the largest d does not count as growth.
SHARE_LEAST = 0.10

Sweep = dict[int, Record]


def features_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C2 on the widest sweep over d_k and the one over d_v of every series."""
    cells = [each for each in evidence.records if claim.scope.covers(each) and is_timed(each)]
    return [
        line_verdict(claim.id, key, axis=axis, sweep=sweep)
        for axis in AXES
        for key, sweep in widest_sweeps(cells, axis)
    ]


def is_timed(record: Record) -> bool:
    """Whether a cell is self-attention with the times of its replicas."""
    return is_ok(record) and is_square(record) and bool(record.replica_medians_s)


def widest_sweeps(cells: Iterable[Record], axis: str) -> list[tuple[SeriesKey, Sweep]]:
    """Return (key, {value: cell}) of the sweep with the most values for what a verdict names.

    All but the axis is fixed, the kernel too: where d_v differs from d_k torch may choose
    another. Of sweeps with as many values the largest T counts.
    """
    groups: defaultdict[tuple[SeriesKey, int, str], Sweep] = defaultdict(dict)
    for cell in cells:
        key = SeriesKey.of(cell).with_(**{axis: 1})
        groups[key, cell.length_query, cell.kernel or ""][getattr(cell, axis)] = cell
    best: dict[str, tuple[SeriesKey, Sweep]] = {}
    ordered = sorted(groups.items(), key=lambda item: (len(item[1]), item[0][1], item[0][2]))
    for (key, *_), sweep in ordered:
        if len(sweep) >= SWEPT_LEAST:
            best[str(series_of(key))] = key, dict(sorted(sweep.items()))
    return [best[name] for name in sorted(best)]


def line_verdict(claim: str, key: SeriesKey, *, axis: str, sweep: Sweep) -> Verdict:
    """Make the verdict of one sweep; observed is the share of the d term at the largest d."""
    fit = fit_line(list(sweep), [cell.replica_medians_s or () for cell in sweep.values()])
    name, known = AXES[axis], fit.reason is None
    part = judge_line(fit, name)
    return Verdict.on(
        claim,
        series_of(key),
        part=part.noting(*notes(fit, sweep) if known else (), shape(sweep, axis)),
        text=f"{key.backend} {line_text(fit, name) if known else part.reason}",
        observed=fit.share if known else NOTHING,
        expected=DOMINANT,
    )


def judge_line(fit: LineFit, name: str) -> Part:
    """Judge that time is a + b·d with b above 0 and the d term more than half at the largest d.

    Refuted where the time does not grow with d, or grows as another power of it; a term that is
    there but below half is left open: larger dims would have to tell.
    """
    if fit.reason is not None:
        text = f"{len(fit.values)} values of {name}; {VALUES_LEAST} over {RANGE_LEAST:g}x needed"
        return Part(INCONCLUSIVE, f"few: {text}")
    share, low, high = fit.share
    if fit.slope_s[2] <= 0 or high < SHARE_LEAST:
        return Part(REFUTED, f"flat: the {name} term is {share:.0%} of the time at the largest")
    if fit.curve is not None and (fit.curve[1] > 1 + TOLERANCE or fit.curve[2] < 1 - TOLERANCE):
        power = "{:.2f} [{:.2f}, {:.2f}]".format(*fit.curve)
        return Part(REFUTED, f"curved: time grows as {name}^{power}")
    if fit.rms > RMS_USELESS:
        return Part(INCONCLUSIVE, f"misfit: no straight line is closer than {fit.rms:.0%} rms")
    seen = f"the {name} term is {share:.0%} [{low:.0%}, {high:.0%}] of the time at the largest"
    if fit.slope_s[1] > 0 and low > DOMINANT:
        return Part(SUPPORTED, f"linear: {seen}")
    return Part(INCONCLUSIVE, f"small: {seen}, above half is needed")


def line_text(fit: LineFit, name: str) -> str:
    """Say the law with the interval of its slope, and the share of its d term."""
    slope, low, high = (1e6 * each for each in fit.slope_s)
    law = f"{1e3 * fit.floor_s:.3g} ms + {slope:.3g} [{low:.3g}, {high:.3g}] µs·{name}"
    return f"{law}, {fit.share[0]:.0%} linear at {fit.values[-1]}"


def notes(fit: LineFit, sweep: Sweep) -> list[str]:
    """Return the residual and what the slope is worth as a rate."""
    first, last = sweep[fit.values[0]], sweep[fit.values[-1]]
    work = (last.flops or 0) - (first.flops or 0)
    per_value = work / (fit.values[-1] - fit.values[0])
    rate = [f"the slope is worth {per_value / fit.slope_s[0]:.2g} FLOP/s"]
    return [f"residual {fit.rms:.1%} rms", *rate * (work > 0 and fit.slope_s[0] > 0)]


def shape(sweep: Sweep, axis: str) -> str:
    """Say the values of the sweep and what was fixed."""
    cell = next(iter(sweep.values()))
    (other,) = (each for each in AXES if each != axis)
    fixed = f"{AXES[other]}={getattr(cell, other)} T={cell.length_query}"
    kernel = f", kernel {cell.kernel}" if cell.kernel else ""
    seen = ", ".join(map(str, sweep))
    return f"{AXES[axis]} in {{{seen}}}, B={cell.batch} H={cell.heads} {fixed}{kernel}"
