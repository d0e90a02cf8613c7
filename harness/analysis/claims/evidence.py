"""Evidence: what a claim is, what its rule may look at, and the verdict it comes to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NamedTuple, Self

from harness.analysis.fits.ratio import Ratio, Rounds, time_ratio
from harness.analysis.fits.series import SeriesFit, SeriesKey, is_ok, is_square
from harness.attention.backend import Backend
from harness.attention.backends import BACKENDS
from harness.cases.masks import MASK_CODES, MASKS
from harness.cases.shape import DTYPE_CODES, PHASE_CODES
from harness.records.record import Finding, Record
from harness.records.store import finite

SUPPORTED, REFUTED = "supported", "refuted"
INCONCLUSIVE, NOT_MEASURED = "inconclusive", "not_measured"
VERDICTS = (SUPPORTED, REFUTED, INCONCLUSIVE, NOT_MEASURED)
NAMES = ("backend", "device", "dtype", "mask", "phase")
LINE = 98
BRIEF = {" grows as ": " ~ ", " over T in ": ", T in "}

Series = dict[str, str | None]
Estimate = tuple[float | None, float | None, float | None]
NOTHING: Estimate = (None, None, None)
T_SWEEP = "sweep of at least 4 values of T"
ANY_MASK = tuple(MASKS)
DENSE_MASKS = tuple(name for name, mask in MASKS.items() if not mask.windowed)


class Part(NamedTuple):
    """One half of a claim that says two things: what it came to, and why."""

    verdict: str
    reason: str

    def noting(self, *notes: str) -> Part:
        """Add notes to the reason."""
        return Part(self.verdict, "; ".join(filter(None, [self.reason, *notes])))


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Hold what a claim came to on one series.

    `observed` with its 95 % interval [low, high] is in the unit of `expected`: an exponent, a
    difference of exponents (expected 0), or a ratio of times (1 is the bound that it must exceed).
    """

    claim: str
    series: Series
    verdict: str
    observed: float | None = None
    low: float | None = None
    high: float | None = None
    expected: float | None = None
    reason: str
    sentence: str

    @classmethod
    def on(
        cls,
        claim: str,
        series: Series,
        *,
        part: Part,
        text: str,
        observed: Estimate = NOTHING,
        expected: float | None = None,
    ) -> Self:
        """Make a verdict; `text` is what its line says, `observed` with its ends."""
        value, low, high = observed
        return cls(
            claim=claim,
            series=series,
            verdict=part.verdict,
            observed=value,
            low=low,
            high=high,
            expected=expected,
            reason=part.reason,
            sentence=line(claim, part.verdict, text=text, series=series),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the row of verdicts.json: finite numbers or null, no print-ready line."""
        numbers = ("observed", "low", "high", "expected")
        named = {"claim": self.claim, "series": dict(self.series), "verdict": self.verdict}
        finites = {name: finite(getattr(self, name)) for name in numbers}
        return {**named, **finites, "reason": self.reason}


def series_of(thing: Any, **values: str | None) -> Series:
    """Name the series of a key or a record; `values` replace what it says."""
    return {name: getattr(thing, name) for name in NAMES} | values


def no_series(**values: str | None) -> Series:
    """Name a series by what is known of it, the rest None."""
    return dict.fromkeys(NAMES) | values


def line(claim: str, verdict: str, *, text: str, series: Series) -> str:
    """Say a verdict in one line with its device, of at most 98 characters where that can be.

    Long lines first shorten the words of the series, then those of the text, then lose its later
    clauses (the reason has them); what is still longer is wrapped where it is shown, never cut.
    """
    head = f"{claim} {verdict.replace('_', ' ')}: "
    place, code, brief = _place(series, short=False), _place(series, short=True), text
    for long, short in BRIEF.items():
        brief = brief.replace(long, short)
    first = brief.split("; ")[0] + code
    for words in (text + place, text + code, brief + code):
        if len(head + words) <= LINE:
            return head + words
    return head + first


def combine(parts: Sequence[Part]) -> Part:
    """Join the parts that must all hold: one refuted refutes, one open leaves the whole open."""
    for verdict in (REFUTED, NOT_MEASURED, INCONCLUSIVE):
        reasons = [part.reason for part in parts if part.verdict == verdict]
        if reasons:
            word = INCONCLUSIVE if verdict == NOT_MEASURED else verdict
            return Part(word, "; ".join(filter(None, reasons)))
    return Part(SUPPORTED, "; ".join(part.reason for part in parts if part.reason))


def overall(verdicts: Iterable[Verdict], claim: str) -> str:
    """Sum a claim up over its series: one refuted refutes it, only all supported support it.

    Series that could not be measured are left out, unless no other is there.
    """
    words = {verdict.verdict for verdict in verdicts if verdict.claim == claim}
    words -= {NOT_MEASURED}
    if not words:
        return NOT_MEASURED
    if REFUTED in words:
        return REFUTED
    return SUPPORTED if words == {SUPPORTED} else INCONCLUSIVE


def _place(series: Series, *, short: bool) -> str:
    """Say where in brackets; the forward phase goes without saying."""
    words = [series["device"], series["dtype"], series["mask"]]
    words += [series["phase"]] * (series["phase"] != "forward")
    codes = DTYPE_CODES | MASK_CODES | PHASE_CODES if short else {}
    known = [codes.get(word, word) for word in words if word]
    return f" ({', '.join(known)})" if known else ""


def names(choose: Callable[[Backend], bool]) -> tuple[str, ...]:
    """Return shell patterns for the backends of attention that `choose` picks by what they are.

    The first of a family stands for variants of users' own too: `sdpa*`.
    """
    picked = [one for one in BACKENDS.values() if one.work == "attention" and choose(one)]
    return tuple(f"{one.name}*" if one.name == one.family else one.name for one in picked)


def may_store(one: Backend) -> bool:
    """Whether a backend chooses between kernels that store the scores and others, call by call."""
    return one.chooses_kernel and one.pinned_kernel is None


DENSE = names(lambda one: one.dense)
STORING = names(lambda one: one.score_matrices > 0)
# Plain `sdpa` is not among them: it shows by its kernel whether it stores the scores.
FUSED = names(lambda one: one.dense and not one.score_matrices and not may_store(one))
# Backends that never look at a hidden block of keys, and those that mask the whole of T x T.
SKIPPING = names(lambda one: one.skips_hidden)
MASKING = names(lambda one: one.dense and not one.skips_hidden)


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
    # Titles of the report's sections in which it can be seen, beside its own lines.
    shown_in: tuple[str, ...] = ()
    # Whether it speaks of the verdicts of all others, so that it is judged after them.
    on_verdicts: bool = False


def place_of(claim: Claim) -> tuple[bool, str, int]:
    """Order claims as they are judged: by letter and number; one on verdicts comes last."""
    found = re.match(r"([A-Z])(\d*)", claim.id)
    letter, digits = found.groups() if found else (claim.id, "")
    return claim.on_verdicts, letter, int(digits or 0)


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
