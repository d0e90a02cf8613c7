"""Summary: a run in a few sentences, and the lines that close it on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.records.record import Status
from harness.report.claims_table import AGAINST, Entry
from harness.report.tables.noise import flag_counts
from harness.report.tables.outcomes import conformance_lines, status_counts
from harness.report.view import View
from harness.report.words import units
from harness.report.words.listing import counts_in_words
from harness.report.words.markup import plain, shorten

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.claims.evidence import Verdict
# Lines of series that speak against a claim or leave it open, over all claims.
LINES = 12
WORD_WIDTH = 12  # `not measured`, `inconclusive`
SENTENCE_LEAST = 20


def sentences(view: View) -> list[str]:
    """Return the summary as plain sentences; names from the run are not escaped yet."""
    parts = [measured(view), agreement(view.table)]
    if view.panels:
        parts += [fastest(view), thriftiest(view)]
    parts.append(claims(view))
    return [part for part in parts if part]


def measured(view: View) -> str:
    """Say how many cells were asked for and how they ended."""
    table = view.table
    if not len(table):
        return f"No cell came back on {view.device}."
    counts = status_counts(table)
    right = counts.pop(Status.OK, 0)
    rest = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())
    others = f"; the others: {rest}" if rest else ""
    backends = table["backend"].nunique()
    return (
        f"{len(table):,} cells on {backends} backends were tried on {view.device}: "
        f"{right:,} measured{others}."
    )


def agreement(table: pd.DataFrame) -> str:
    """Say how many of the checked cells agree with the oracle."""
    checked = table["agrees"].dropna()
    if not len(checked):
        return "No cell was checked against the oracle."
    agree = int(checked.sum())
    return (
        f"{len(checked):,} cells were checked against the float64 oracle: "
        f"{agree:,} agree, {len(checked) - agree:,} disagree."
    )


def fastest(view: View) -> str:
    """Name the fastest backend at the longest length of the main sweep, and its lead."""
    panel, frame = view.panels[0]
    rows = _longest(frame, "time_median_s")
    if rows is None:
        return ""
    best = min(rows, key=lambda row: (float(row.time_median_s), row.backend))
    text = (
        f"At T={best.length_query} ({panel.title()}) the fastest of the {len(rows)} backends "
        f"that got there is {best.backend} with {units.seconds(best.time_median_s)}"
    )
    return f"{text}{_lead(view, best)}."


def thriftiest(view: View) -> str:
    """Name the least peak memory at the longest length of the main sweep, and the baseline's."""
    frame = view.panels[0][1]
    rows = _longest(frame, "peak_bytes")
    if rows is None:
        return ""
    best = min(rows, key=lambda row: (int(row.peak_bytes), row.backend))
    names = ", ".join(row.backend for row in rows if row.peak_bytes == best.peak_bytes)
    text = f"The least peak memory there is {units.size(best.peak_bytes)} ({names})"
    base = frame[(frame["backend"] == view.baseline) & (best.backend != view.baseline)]
    same = base[base["length_query"] == best.length_query]
    if not len(same):
        return f"{text}."
    row = next(same.itertuples())
    if row.status == Status.OUT_OF_MEMORY:
        return f"{text}; {view.baseline} ran out of memory."
    return f"{text}; {view.baseline} takes {units.size(row.peak_bytes)}."


def claims(view: View) -> str:
    """Count the claims by their overall verdict."""
    from harness.analysis.claims import CLAIMS, overall

    counts = Counter(overall(view.verdicts, claim.id) for claim in CLAIMS)
    words = {word.replace("_", " "): count for word, count in sorted(counts.items())}
    return f"Of {len(CLAIMS)} claims: {counts_in_words(words)}."


def _longest(frame: pd.DataFrame, column: str) -> list[Any] | None:
    """Return the rows of the longest length at which anything was measured."""
    rows = frame[(frame["status"] == Status.OK) & frame[column].notna()]
    if not len(rows):
        return None
    return list(rows[rows["length_query"] == rows["length_query"].max()].itertuples())


def _lead(view: View, best: Any) -> str:
    """Say how many times as fast as the baseline, at the longest length that both reached."""
    speed = view.speeds[view.panels[0][0]]
    own = speed[speed["backend"] == best.backend].sort_values("length")
    if not len(own):
        return ""
    last = own.iloc[-1]
    times = units.ratio_interval(last["ratio"], last["low"], last["high"])
    where = "" if last["length"] == best.length_query else f" at T={last['length']}"
    return f", {times} as fast as {view.baseline}{where}"


def claim_lines(entries: Sequence[Entry], *, width: int) -> Iterator[tuple[str, str]]:
    """Yield (verdict, line): one line of at most `width` per claim.

    Id, verdict, series that support it of those judged, the sentence as far as there is room, and
    to the right what was observed. What was not measured says why instead.
    """
    ids = max((len(each.claim.id) for each in entries), default=0)
    counts = max((len(each.count()) for each in entries), default=0)
    for each in entries:
        word = each.word.replace("_", " ")
        head = f"{each.claim.id:<{ids}} {word:<{WORD_WIDTH}} {each.count():>{counts}} "
        room, span = width - len(head), span_of(each) if each.judged else ""
        if room - len(span) - 2 < SENTENCE_LEAST:
            span = ""
        sentence = each.claim.sentence if each.judged else each.observed()
        sentence = shorten(plain(sentence), max(2, room - len(span) - 2 * bool(span)))
        yield each.word, f"{head}{sentence}{span:>{room - len(sentence)}}".rstrip()


def span_of(entry: Entry) -> str:
    """Return what was observed of a claim, with its interval if one series tells it."""
    figure = entry.figure()
    return figure if len(entry.judged) < 2 else figure.partition(" [")[0]


def contrary(entries: Sequence[Entry]) -> Iterator[tuple[str | None, str]]:
    """Yield (verdict, line) of the series that refute a claim, then of those that leave one open.

    Each claim's first comes before any claim's second, at most 12 in all; how many more there
    are is a line of its own, with None for a verdict.
    """
    chosen: list[Verdict] = []
    for word in AGAINST:
        own = [[one for one in each.against if one.verdict == word] for each in entries]
        chosen += [one for turn in zip_longest(*own) for one in turn if one is not None]
    for verdict in chosen[:LINES]:
        yield verdict.verdict, verdict.sentence
    words = Counter(verdict.verdict for verdict in chosen[LINES:])
    if words:
        more = counts_in_words(words)
        yield None, f"{words.total()} more series in the report ({more})"


def closing(view: View, report_path: Path | None) -> Iterator[str]:
    """Yield the last lines: outcomes, agreement, flags, a cut run, and where the report is."""
    counts = status_counts(view.table)
    outcomes = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.items())
    yield f"Cells: {len(view.table)} ({outcomes})" if counts else "Cells: none"
    yield agreement(view.table)
    yield from conformance_lines(view.run.conformance)
    flags = flag_counts(view.table)
    if flags:
        words = ", ".join(f"{plain(name)} {count}" for name, count in sorted(flags.items()))
        yield f"Flags: {words}"
    if view.cut:
        yield "This run is not whole: it was cut short, or is still going on."
    if report_path is not None:
        yield f"Report: {report_path}"
