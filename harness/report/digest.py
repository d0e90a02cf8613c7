"""Digest: the lines of text that close a run on the terminal; pure, nothing is printed here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from harness.report.headline import agreement
from harness.report.ledger import AGAINST, Entry
from harness.report.markup import plain, shorten
from harness.report.tables.conformance import conformance_lines
from harness.report.tables.noise import flag_counts
from harness.report.tables.outcomes import status_counts
from harness.report.view import View

if TYPE_CHECKING:
    from harness.analysis.verdict import Verdict

# Lines of series that speak against a claim or leave it open, over all claims.
LINES = 12
WORD_WIDTH = 12  # `not measured`, `inconclusive`
SENTENCE_LEAST = 20


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
        room, figure = width - len(head), figure_of(each) if each.judged else ""
        if room - len(figure) - 2 < SENTENCE_LEAST:
            figure = ""
        said = each.claim.sentence if each.judged else each.observed()
        said = shorten(plain(said), max(2, room - len(figure) - 2 * bool(figure)))
        yield each.word, f"{head}{said}{figure:>{room - len(said)}}".rstrip()


def figure_of(entry: Entry) -> str:
    """Return a claim's figure with its interval, of several series their span alone."""
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
        more = ", ".join(f"{count} {word}" for word, count in words.items())
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
