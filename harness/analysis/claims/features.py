"""Features, batch and heads: claims on the axes beside T (C2, C5)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from harness.analysis.claims.evidence import (
    ANY_MASK,
    DENSE,
    INCONCLUSIVE,
    NOTHING,
    REFUTED,
    SUPPORTED,
    Claim,
    Evidence,
    Part,
    Scope,
    Verdict,
    not_measured,
    series_of,
)
from harness.analysis.claims.growth import TOLERANCE
from harness.analysis.claims.memory import MEASURED_BY, stores
from harness.analysis.claims.rowwise import ROWS
from harness.analysis.fits.line import RANGE_LEAST, VALUES_LEAST, LineFit, fit_line
from harness.analysis.fits.series import SeriesKey, is_ok, is_square
from harness.analysis.fits.time_fit import RMS_USELESS
from harness.records.record import Record

FEATURE_AXES = {"dim_key": "d_k", "dim_value": "d_v"}
SWEPT_LEAST = 3  # fewer values of a dim are two cells, not a sweep
DOMINANT = 0.5
# A term below a tenth of the time at the largest d does not count as growth.
SHARE_LEAST = 0.10

Sweep = dict[int, Record]
COUNT_AXES = {"batch": "B", "heads": "H"}
COUNTS_LEAST = 3
WORST = 0.01
Point = tuple[int, int]


def features_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C2 on the widest sweep over d_k and the one over d_v of every series."""
    cells = [each for each in evidence.records if claim.scope.covers(each) and is_timed(each)]
    return [
        line_verdict(claim.id, key, axis=axis, sweep=sweep)
        for axis in FEATURE_AXES
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
    name, known = FEATURE_AXES[axis], fit.reason is None
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
    (other,) = (each for each in FEATURE_AXES if each != axis)
    fixed = f"{FEATURE_AXES[other]}={getattr(cell, other)} T={cell.length_query}"
    kernel = f", kernel {cell.kernel}" if cell.kernel else ""
    seen = ", ".join(map(str, sweep))
    return f"{FEATURE_AXES[axis]} in {{{seen}}}, B={cell.batch} H={cell.heads} {fixed}{kernel}"


def proportion_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C5 on the sweep over B and the one over H with the most values, per series."""
    cells = [each for each in evidence.records if claim.scope.covers(each) and stores(each)]
    return [verdict for axis in COUNT_AXES for verdict in over_axis(claim.id, cells, axis=axis)]


def over_axis(claim: str, cells: list[Record], *, axis: str) -> list[Verdict]:
    """Judge the sweeps over one axis; a device without one is told."""
    letter = COUNT_AXES[axis]
    found = longest_sweeps(cells, axis)
    reason = f"no sweep of {COUNTS_LEAST} values of {letter} at one T"
    lacking = {cell.device for cell in cells} - {key.device for key in found}
    judged = [
        proportion_verdict(claim, key, letter=letter, points=points)
        for key, points in found.items()
    ]
    return judged + [
        not_measured(claim, reason, backend=MEASURED_BY, device=device)
        for device in sorted(lacking)
    ]


def longest_sweeps(cells: Iterable[Record], axis: str) -> dict[SeriesKey, list[Point]]:
    """Map what a verdict names to the (value, peak) pairs of its sweep with the most values.

    All but the axis is fixed; key heads go with query heads, and grouped ones are left out.
    Sweeps with as many values are told apart by their T: the largest counts.
    """
    groups: defaultdict[tuple[SeriesKey, int], dict[int, int]] = defaultdict(dict)
    for cell in cells:
        if cell.heads == cell.heads_kv:
            fixed = {"heads": 1, "heads_kv": 1} if axis == "heads" else {"batch": 1}
            key = SeriesKey.of(cell).with_(**fixed)
            assert cell.peak_bytes is not None
            groups[key, cell.length_query][getattr(cell, axis)] = cell.peak_bytes
    best: dict[tuple[str | None, ...], tuple[SeriesKey, list[Point]]] = {}
    ordered = sorted(groups.items(), key=lambda item: (len(item[1]), item[0][1]))
    for (key, _), points in ordered:
        if len(points) >= COUNTS_LEAST:
            best[tuple(series_of(key).values())] = (key, sorted(points.items()))
    return dict(best[name] for name in sorted(best, key=str))


def proportion_verdict(claim: str, key: SeriesKey, *, letter: str, points: list[Point]) -> Verdict:
    """Make the verdict on one sweep; it is exact, so its interval is a point."""
    part, exponent = judge_proportion(points)
    seen = f"over {letter} in [{points[0][0]}, {points[-1][0]}]"
    return Verdict.on(
        claim,
        series_of(key),
        part=Part(part.verdict, f"{seen}: {part.reason}"),
        text=f"{key.backend} peak memory grows as {letter}^{exponent:.2f} {seen}",
        observed=(exponent,) * 3,
        expected=1.0,
    )


def judge_proportion(points: list[Point]) -> tuple[Part, float]:
    """Judge that a + bx gives every peak within 1 % and that bx is nearly all of the last one.

    The exponent is the slope of the logarithms between the two largest values.
    """
    values, peaks = (np.array(column, dtype=np.float64) for column in zip(*points, strict=True))
    exponent = math.log(peaks[-1] / peaks[-2]) / math.log(values[-1] / values[-2])
    columns = np.vander(values, 2) / peaks[:, None]
    slope, start = np.linalg.lstsq(columns, np.ones(len(points)), rcond=None)[0]
    worst = float(np.max(np.abs((slope * values + start) / peaks - 1)))
    share = slope * values[-1] / peaks[-1]
    text = f"a straight line gives every peak within {worst:.2%}, {share:.0%} of it proportional"
    if abs(exponent - 1) > TOLERANCE:
        return Part(REFUTED, f"exponent {exponent:.2f}; {text}"), exponent
    return Part(SUPPORTED if worst <= WORST else INCONCLUSIVE, text), exponent


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="C2",
        sentence="the scores cost T²·d_k, the weighted sum T²·d_v",
        quantity="time",
        series="sweep of at least 5 values of d_k or d_v at one T",
        prediction="time = a + b·d for each dim, more than half of it linear at the largest",
        scope=Scope((*DENSE, ROWS), ANY_MASK),
        rule=features_rule,
        shown_in=("Heads and batch",),
    ),
    Claim(
        id="C5",
        sentence="score memory is proportional to B and to H",
        quantity="peak memory",
        series="sweep of at least 3 values of B and of H",
        prediction="exponent 1",
        scope=Scope(("naive",), ANY_MASK),
        rule=proportion_rule,
        shown_in=("Heads and batch",),
    ),
)
