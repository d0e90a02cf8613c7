"""Claims table: each claim summed up over its series, and where a report shows it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.report.words import units
from harness.report.words.markup import shorten

if TYPE_CHECKING:
    from harness.analysis.claims.evidence import Claim, Verdict

NAMES_SHOWN = 3
REASON_LENGTH = 90
# Verdicts that speak against a claim or leave it open, and how a count of them reads.
AGAINST = {"refuted": "refuted", "inconclusive": "open"}
USUAL = {"dtype": "float32", "mask": "full", "phase": "forward"}


def anchor(title: str) -> str:
    """Return the anchor that a Markdown heading gets: lower case, hyphens, no punctuation."""
    kept = re.sub(r"[^\w\- ]", "", title.lower())
    return kept.replace(" ", "-")


def link(title: str, text: str = "") -> str:
    """Link to a heading of the same report; titles are our own words."""
    return f"[{text or title}](#{anchor(title)})"


def links(claim: Claim) -> str:
    """Link to a claim's own lines, then to the sections that show it."""
    found = [link(title, title.partition(":")[0]) for title in claim.shown_in]
    return ", ".join([link(claim.id, "series"), *found])


@dataclass(frozen=True)
class Entry:
    """Hold one claim, its overall verdict, and the verdicts of its series."""

    claim: Claim
    word: str
    verdicts: tuple[Verdict, ...]

    @property
    def judged(self) -> list[Verdict]:
        """The verdicts that were reached."""
        return [each for each in self.verdicts if each.verdict != "not_measured"]

    @property
    def held(self) -> int:
        """How many series support the claim."""
        return sum(each.verdict == "supported" for each in self.judged)

    @property
    def against(self) -> list[Verdict]:
        """The verdicts that refute it, then those that leave it open."""
        return [each for word in AGAINST for each in self.judged if each.verdict == word]

    def count(self) -> str:
        """Say `9/10` series, or nothing where no series was judged."""
        return f"{self.held}/{len(self.judged)}" if self.judged else ""

    def tally(self) -> str:
        """Say the verdict with its counts, and by name what speaks against it or is open."""
        word = self.word.replace("_", " ")
        if len(self.judged) < 2:
            return word
        parts = [f"{word} ({self.held} of {len(self.judged)} series)"]
        for kind, name in AGAINST.items():
            series = [named(each.series) for each in self.judged if each.verdict == kind]
            if series:
                parts.append(f"{len(series)} {name}: {listed(series)}")
        return ", ".join(parts)

    def observed(self) -> str:
        """Say the figure with its interval, the span of several, or in words what was seen."""
        figure = self.figure()
        if figure:
            return figure
        deciding = [*self.against, *self.judged, *reversed(self.verdicts)]
        reason = deciding[0].reason if deciding else "this version has no verdict on it"
        return shorten(reason, REASON_LENGTH)

    def figure(self) -> str:
        """Say what was observed in numbers, or nothing."""
        seen = [each for each in self.verdicts if units.number(each.observed) is not None]
        if not seen:
            return ""
        if len(seen) == 1:
            return units.interval(seen[0].observed, seen[0].low, seen[0].high)
        values, lows, highs = (
            [float(value) for each in seen if (value := getattr(each, name)) is not None]
            for name in ("observed", "low", "high")
        )
        span = " to ".join(dict.fromkeys(map(written, (min(values), max(values)))))
        low, high = min([*lows, *values]), max([*highs, *values])
        return f"{span} [{written(low)}, {written(high)}]"


def entries(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> list[Entry]:
    """Return one entry per claim, in the order A, B, C, D."""
    from harness.analysis.claims.evidence import overall

    return [
        Entry(
            claim,
            overall(verdicts, claim.id),
            tuple(each for each in verdicts if each.claim == claim.id),
        )
        for claim in sorted(claims, key=lambda claim: rank(claim.id))
    ]


def rank(claim: str) -> tuple[str, int, str]:
    """Order ids by letter, then number, then name: A2 before A10, C14 before D-alibi."""
    number = re.match(r"([A-Z])(\d*)(.*)", claim)
    letter, digits, rest = number.groups() if number else (claim, "", "")
    return letter, int(digits or 0), rest


def named(series: dict[str, Any]) -> str:
    """Name a series by its backend and by what differs from float32, full, forward."""
    words = [series.get("backend") or series.get("device")]
    words += [series.get(name) for name, usual in USUAL.items() if series.get(name) != usual]
    return " ".join(str(word) for word in words if word) or "all"


def listed(names: Sequence[str]) -> str:
    """List names with their counts, a few at the most."""
    counts = Counter(names)
    texts = [name if count == 1 else f"{name} ({count})" for name, count in counts.items()]
    more = len(texts) - NAMES_SHOWN
    return ", ".join(texts[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def written(value: float) -> str:
    """Write a figure of a span: two decimals below 100, no minus zero."""
    text = f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return text.replace("-0.00", "0.00")
