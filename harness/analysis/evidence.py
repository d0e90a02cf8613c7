"""Evidence: what a rule may look at; Claim and Scope: which cells a claim speaks of, as data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from harness.analysis.cells import SeriesKey, is_ok, is_square
from harness.analysis.ratio import Ratio, Rounds, time_ratio
from harness.analysis.series import SeriesFit
from harness.analysis.verdict import (
    INCONCLUSIVE,
    NOT_MEASURED,
    REFUTED,
    SUPPORTED,
    Part,
    Verdict,
    no_series,
)
from harness.case import MASK_CODES
from harness.conformance import Finding
from harness.record import Record

DENSE_MASKS = tuple(mask for mask in MASK_CODES if mask != "sliding-window")


@dataclass(frozen=True)
class Scope:
    """Say which backends (shell patterns), masks and phases a claim speaks of."""

    backends: tuple[str, ...]
    masks: tuple[str, ...] = DENSE_MASKS
    phases: tuple[str, ...] = ("forward",)

    def covers(self, thing: SeriesKey | Record) -> bool:
        """Whether a key or a cell lies in the scope."""
        named = any(fnmatchcase(thing.backend, pattern) for pattern in self.backends)
        return named and thing.mask in self.masks and thing.phase in self.phases


@dataclass(frozen=True)
class Evidence:
    """Hold a run's cells, fits, facts, verdicts reached so far, conformance table, and rounds."""

    records: tuple[Record, ...]
    fits: tuple[SeriesFit, ...]
    facts: Mapping[str, Any]
    verdicts: tuple[Verdict, ...] = ()
    conformance: tuple[Finding, ...] = ()
    rounds: Mapping[str, Rounds] = field(default_factory=dict)

    @cached_property
    def timed(self) -> dict[tuple[SeriesKey, int], Record]:
        """Map key and length to each square cell that has a time."""
        return {
            (SeriesKey.of(record), record.length_query): record
            for record in self.records
            if is_ok(record) and is_square(record) and record.time_median_s
        }

    def ratios(self, top: SeriesKey, bottom: SeriesKey) -> list[Ratio]:
        """Return the ratio of two sweeps' times at each length that both have, by length."""
        lengths = sorted(length for key, length in self.timed if key == top)
        return [
            time_ratio(self.timed[top, length], self.timed[bottom, length], rounds=self.rounds)
            for length in lengths
            if (bottom, length) in self.timed
        ]

    def sweeps(self, scope: Scope) -> Iterator[SeriesFit]:
        """Yield the sweeps in a scope."""
        return (fit for fit in self.fits if scope.covers(fit.series.key))


@dataclass(frozen=True, kw_only=True)
class Claim:
    """State a claim as data: what it says, on which series, what is predicted, and its rule."""

    id: str
    sentence: str
    quantity: str
    series: str
    prediction: str
    scope: Scope
    rule: Callable[[Evidence, Claim], list[Verdict]] = field(repr=False)


def missing(evidence: Evidence, claim: Claim, *, verdicts: list[Verdict]) -> list[Verdict]:
    """Say why the backends in a claim's scope have no verdict: one line for each.

    Backends that ran, but without the sweep that the claim asks for, share one line per device.
    """
    lines, short = [], defaultdict(list)
    for (backend, device), cells in waiting(evidence, claim, verdicts=verdicts).items():
        reason = failure(cells)
        if reason is None:
            short[device].append(backend)
        else:
            lines.append(not_measured(claim.id, reason, backend=backend, device=device))
    for device, backends in short.items():
        reason = f"no {claim.series} for {', '.join(backends)}"
        lines.append(not_measured(claim.id, reason, device=device))
    if not lines and not verdicts:
        lines.append(not_measured(claim.id, "no cell of this run bears on it"))
    return lines


def waiting(
    evidence: Evidence, claim: Claim, *, verdicts: list[Verdict]
) -> dict[tuple[str, str], list[Record]]:
    """Group the cells in a claim's scope by backend and device, those with a verdict left out."""
    done = {(verdict.series["backend"], verdict.series["device"]) for verdict in verdicts}
    groups: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in filter(claim.scope.covers, evidence.records):
        if (record.backend, record.device) not in done:
            groups[record.backend, record.device].append(record)
    return dict(sorted(groups.items()))


def failure(cells: list[Record]) -> str | None:
    """Return why none of the cells is ok, or None if one is."""
    if any(map(is_ok, cells)):
        return None
    cell = cells[0]
    return f"{cell.status}: {cell.reason}" if cell.reason else cell.status


def not_measured(claim: str, reason: str, **series: str | None) -> Verdict:
    """Make the verdict of a series that gave no figures."""
    where = no_series(**series)
    text = f"{where['backend']}: {reason}" if where["backend"] else reason
    return Verdict.on(claim, where, part=Part(NOT_MEASURED, reason), text=text)


def judge_above_one(ratios: Sequence[Ratio], what: str) -> Part:
    """Judge "longer at every length": every interval above 1, or one of them below 1."""
    if not ratios:
        return Part(INCONCLUSIVE, f"{what}: no length measured in both")
    note = "" if all(ratio.paired for ratio in ratios) else ", too few replicas to pair"
    below = [ratio for ratio in ratios if ratio.high < 1]
    if below:
        return Part(REFUTED, f"{what}: {below[0]} at T={below[0].length}{note}")
    across = [ratio for ratio in ratios if ratio.low <= 1]
    if across:
        text = f"{what}: {across[0]} at T={across[0].length} leaves the order open{note}"
        return Part(INCONCLUSIVE, text)
    return Part(SUPPORTED, f"{what}: {span(ratios)}{note}")


def span(ratios: Sequence[Ratio]) -> str:
    """Say the smallest and the largest ratio, each with its interval and length."""
    least, most = (pick(ratios, key=lambda each: each.value) for pick in (min, max))
    if least is most:
        return f"{least} at T={least.length}"
    return f"{least} at T={least.length} to {most} at T={most.length}"
