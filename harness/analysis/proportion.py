"""Proportion: the rule on score memory over the batch and over the heads (C5)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from harness.analysis.cells import SeriesKey, is_ok
from harness.analysis.evidence import Claim, Evidence, not_measured
from harness.analysis.score_table import STORING, stores
from harness.analysis.verdict import (
    INCONCLUSIVE,
    REFUTED,
    SUPPORTED,
    Part,
    Verdict,
    line,
    series_of,
)
from harness.record import Record

AXES = {"batch": "B", "heads": "H"}
VALUES_LEAST = 3
WORST = 0.01
TOLERANCE = 0.15

Point = tuple[int, int]


def proportion_rule(evidence: Evidence, claim: Claim) -> list[Verdict]:
    """Judge C5 on the sweep over B and the one over H with the most values, per series."""
    cells = [each for each in evidence.records if claim.scope.covers(each)]
    if not any(map(is_ok, cells)):
        return []
    verdicts = []
    for axis, letter in AXES.items():
        found = longest_sweeps(filter(stores, cells), axis)
        reason = f"no sweep of {VALUES_LEAST} values of {letter} at one T"
        devices = sorted({cell.device for cell in cells})
        nothing = [
            not_measured(claim.id, reason, backend=STORING, device=device)
            for device in devices
            if device not in {key.device for key in found}
        ]
        judged = (
            proportion_verdict(claim.id, key, letter, points) for key, points in found.items()
        )
        verdicts += [*judged, *nothing]
    return verdicts


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
        if len(points) >= VALUES_LEAST:
            best[tuple(series_of(key).values())] = (key, sorted(points.items()))
    return dict(best[name] for name in sorted(best, key=str))


def proportion_verdict(claim: str, key: SeriesKey, letter: str, points: list[Point]) -> Verdict:
    """Make the verdict on one sweep; it is exact, so its interval is a point."""
    part, exponent = judge_proportion(points)
    where = series_of(key)
    extent = f"[{points[0][0]}, {points[-1][0]}]"
    text = f"{key.backend} peak memory grows as {letter}^{exponent:.2f} over {letter} in {extent}"
    return Verdict(
        claim=claim,
        series=where,
        verdict=part.verdict,
        observed=exponent,
        low=exponent,
        high=exponent,
        expected=1.0,
        reason=f"over {letter} in {extent}: {part.reason}",
        sentence=line(claim, part.verdict, text, where),
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
