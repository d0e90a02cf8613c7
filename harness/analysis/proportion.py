"""Proportion: the rule on score memory over the batch and over the heads (C5)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from harness.analysis.cells import SeriesKey
from harness.analysis.evidence import Claim, Evidence, not_measured
from harness.analysis.score_table import STORING, stores
from harness.analysis.verdict import (
    INCONCLUSIVE,
    REFUTED,
    SUPPORTED,
    Part,
    Verdict,
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
    cells = [each for each in evidence.records if claim.scope.covers(each) and stores(each)]
    return [verdict for axis in AXES for verdict in over_axis(claim.id, cells, axis=axis)]


def over_axis(claim: str, cells: list[Record], *, axis: str) -> list[Verdict]:
    """Judge the sweeps over one axis; a device without one is told."""
    letter = AXES[axis]
    found = longest_sweeps(cells, axis)
    reason = f"no sweep of {VALUES_LEAST} values of {letter} at one T"
    lacking = {cell.device for cell in cells} - {key.device for key in found}
    judged = [
        proportion_verdict(claim, key, letter=letter, points=points)
        for key, points in found.items()
    ]
    return judged + [
        not_measured(claim, reason, backend=STORING, device=device) for device in sorted(lacking)
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
        if len(points) >= VALUES_LEAST:
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
