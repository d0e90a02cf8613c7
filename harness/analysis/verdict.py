"""Verdict: the answer to one claim on one series, its print-ready line, and how answers add up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from harness.case import DTYPE_CODES, MASK_CODES, PHASE_CODES
from harness.store import finite

SUPPORTED, REFUTED = "supported", "refuted"
INCONCLUSIVE, NOT_MEASURED = "inconclusive", "not_measured"
VERDICTS = (SUPPORTED, REFUTED, INCONCLUSIVE, NOT_MEASURED)
NAMES = ("backend", "device", "dtype", "mask", "phase")
LINE = 98
BRIEF = {" grows as ": " ~ ", " over T in ": ", T in "}

Series = dict[str, str | None]
Estimate = tuple[float | None, float | None, float | None]
NOTHING: Estimate = (None, None, None)


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
