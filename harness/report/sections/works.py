"""Works: layers, recurrences and generation beside attention."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from harness.report.figures.canvas import Gallery
from harness.report.panels import Panel, choose_lengths
from harness.report.sections.cost import join
from harness.report.tables.pivots import pivot
from harness.report.view import View
from harness.report.words import units
from harness.report.words.markup import details, escape, markdown_table

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.claims.evidence import Evidence
    from harness.analysis.fits.ratio import Ratio
    from harness.analysis.fits.series import SeriesKey

COLUMNS = 5
# (what takes longer, what it is compared with): each backend with its work.
PAIRS = (
    (("prefix-passes", "sequence"), ("one-pass", "sequence")),
    (("cached-steps", "sequence"), ("one-pass", "sequence")),
    (("step-recompute", "step"), ("step-cached", "step")),
    (("rnn", "rnn"), ("layer-sdpa", "layer")),
    (("gru", "gru"), ("layer-sdpa", "layer")),
    (("lstm", "lstm"), ("layer-sdpa", "layer")),
)
SHARES = tuple(
    (("projections", "projections"), (name, "layer"))
    for name in ("layer-naive", "layer-sdpa", "layer-mha")
)
WORKS = ("layer", "projections", "rnn", "gru", "lstm", "sequence")
NOTHING = "Not shown: no layer, recurrence or generation was timed."
RATIOS = (
    "How many times longer: a pass per prefix, and a step per token with a cache, than one pass "
    "over the whole text; a step that recomputes everything than one with a cache; a recurrence "
    "than an attention layer of the same width."
)
SHARES_NOTE = "The share of the four matrix products in the time of the whole layer."
POSITIONS = (
    "Time of a call over its positions. Flat is linear in T: a recurrence takes its steps one "
    "after another. What falls is overhead shared by more positions; what rises, attention."
)


def position_pivot(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the time per position by backend and T; flat is linear in T."""
    each = frame.assign(each=frame["time_median_s"] / frame["length_query"])
    return pivot(each, "each", units.seconds, count=7)


def ratio_table(evidence: Evidence) -> pd.DataFrame:
    """Return how many times longer one way takes than another, by T, with intervals."""
    return _table(evidence, PAIRS, share=False)


def share_table(evidence: Evidence) -> pd.DataFrame:
    """Return the share of the four products in the time of a layer, by T, with intervals."""
    return _table(evidence, SHARES, share=True)


def _table(
    evidence: Evidence, pairs: Iterable[tuple[tuple[str, str], ...]], *, share: bool
) -> pd.DataFrame:
    """Return one row per pair and shape; columns are the lengths of the rows that have them."""
    import pandas as pd

    found = [row for top, bottom in pairs for row in _rows(evidence, top, bottom)]
    rows = []
    for top, bottom, ratios in found:
        rows.append({"time of": top.backend, "over": bottom.backend, "at": place(top)})
        for length in choose_lengths([ratio.length for ratio in ratios], COLUMNS):
            ratio = next(each for each in ratios if each.length == length)
            rows[-1][f"T={length}"] = _share(ratio) if share else _ratio(ratio)
    names = sorted({name for row in rows for name in row if name.startswith("T=")}, key=_length)
    return pd.DataFrame(rows, columns=["time of", "over", "at", *names]).fillna(units.ABSENT)


def _rows(
    evidence: Evidence, top: tuple[str, str], bottom: tuple[str, str]
) -> list[tuple[SeriesKey, SeriesKey, list[Ratio]]]:
    keys = {key for key, _ in evidence.timed if (key.backend, key.work) == top}
    rows = []
    for key in sorted(keys, key=lambda one: one.sort_key()):
        other = key.with_(backend=bottom[0], work=bottom[1])
        ratios = evidence.ratios(key, other)
        if ratios:
            rows.append((key, other, ratios))
    return rows


def place(key: SeriesKey) -> str:
    """Say where a row holds: device, dtype, phase and shape."""
    phase = [key.phase.replace("_", " + ")] * (key.phase != "forward")
    return ", ".join([key.device, key.dtype, *phase, Panel.of(key).shape()])


def _ratio(ratio: Ratio) -> str:
    return units.ratio_interval(ratio.value, ratio.low, ratio.high)


def _share(ratio: Ratio) -> str:
    low, high = (f"{100 * each:.0f}" for each in (ratio.low, ratio.high))
    return f"{100 * ratio.value:.0f} % [{low}, {high}]"


def _length(column: str) -> int:
    return int(column.removeprefix("T="))


def works_section(view: View, gallery: Gallery) -> str:
    """Show ratios between ways, the share of projections, and the time per position."""
    from harness.analysis.claims.evidence import Evidence
    from harness.records.tables import records_of

    others = view.table[view.table["work"] != "attention"]
    evidence = Evidence(tuple(records_of(others)), (), {})
    parts = [
        _block("One way over another", RATIOS, ratio_table(evidence)),
        _block("Projections in a layer", SHARES_NOTE, share_table(evidence)),
        _positions(view),
    ]
    return join(*parts) or NOTHING


def _block(title: str, note: str, table: pd.DataFrame) -> str:
    return join(f"### {title}", note, markdown_table(table)) if len(table) else ""


def _positions(view: View) -> str:
    """Show one table per sweep, folded away."""
    panels = [(panel, frame) for panel, frame in view.panels if panel.work in WORKS]
    folded = [
        details(escape(panel.title()), markdown_table(position_pivot(frame)))
        for panel, frame in panels
    ]
    return join("### Time per position", POSITIONS, *folded) if folded else ""
