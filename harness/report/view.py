"""View: a run with all that is concluded from it, made once and shown by Markdown and terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from harness.cases.grid import DEFAULT_BASELINE
from harness.records.record import COLUMNS, Record, Status
from harness.report.panels import FitIndex, Panel, distinct, index_fits, length_panels

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.claims.evidence import Verdict
    from harness.analysis.fits.ratio import Rounds
    from harness.analysis.fits.series import SeriesFit
    from harness.records.store import Run

RATIO_COLUMNS = ["backend", "length", "ratio", "low", "high"]
# Columns that no table or figure shows: dropped once, since every cut of a frame copies them all.
UNSEEN = [name for name, item in COLUMNS.items() if not item.metadata.get("shown", True)]


def speedups(
    frame: pd.DataFrame, baseline: str, *, rounds: Mapping[str, Rounds] | None = None
) -> pd.DataFrame:
    """Return backend, length, ratio, low, high for one panel: baseline time over own time.

    The intervals are those of `analysis.ratio`: paired by process, and by round where `rounds`
    (`rounds_by_cell` of the run's samples) has both cells. The baseline itself is left out. Empty
    if it was not timed.
    """
    import pandas as pd

    cells = timed(frame)
    base = {cell.length_query: cell for cell in cells if cell.backend == baseline}
    rows = [
        (cell.backend, cell.length_query, *ratio_of(base[cell.length_query], cell, rounds=rounds))
        for cell in cells
        if cell.backend != baseline and cell.length_query in base
    ]
    return pd.DataFrame(rows, columns=RATIO_COLUMNS)


def mask_ratios(frame: pd.DataFrame, full: pd.DataFrame) -> pd.DataFrame:
    """Return backend, length, ratio, low, high: masked time over unmasked time."""
    import pandas as pd

    bare = {(cell.backend, cell.length_query): cell for cell in timed(full)}
    rows = [
        (cell.backend, cell.length_query, *ratio_of(cell, bare[cell.backend, cell.length_query]))
        for cell in timed(frame)
        if (cell.backend, cell.length_query) in bare
    ]
    return pd.DataFrame(rows, columns=RATIO_COLUMNS)


def timed(frame: pd.DataFrame) -> list[Record]:
    """Return the cells that are ok and have a time."""
    from harness.records.tables import records_of

    rows = frame[(frame["status"] == Status.OK) & frame["time_median_s"].notna()]
    return records_of(rows)


def ratio_of(
    top: Record, bottom: Record, *, rounds: Mapping[str, Rounds] | None = None
) -> tuple[float, float, float]:
    """Return the ratio of two times and its 95 % interval."""
    from harness.analysis.fits.ratio import time_ratio

    ratio = time_ratio(top, bottom, rounds=rounds)
    return ratio.value, ratio.low, ratio.high


@dataclass(frozen=True)
class View:
    """Hold a run, its verdicts and its fits; all else is derived."""

    run: Run
    verdicts: Sequence[Verdict]
    fits: Sequence[SeriesFit]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per backend and case, with the columns that are shown."""
        return distinct(self.run.table).drop(columns=UNSEEN)

    @cached_property
    def panels(self) -> list[tuple[Panel, pd.DataFrame]]:
        """The sweeps over T, the richest first."""
        return length_panels(self.table)

    @cached_property
    def index(self) -> FitIndex:
        """The fits by panel and backend."""
        return index_fits(self.fits)

    @cached_property
    def speeds(self) -> dict[Panel, pd.DataFrame]:
        """The ratios to the baseline of every panel."""
        return {
            panel: speedups(frame, self.baseline, rounds=self.rounds)
            for panel, frame in self.panels
        }

    @cached_property
    def rounds(self) -> dict[str, list[list[float]]]:
        """The samples of each cell by replica and round, for ratios that pair them."""
        from harness.analysis.fits.ratio import rounds_by_cell

        return rounds_by_cell(self.run.samples)

    @property
    def baseline(self) -> str:
        """What the others are compared with."""
        return str(self.run.facts.get("baseline") or DEFAULT_BASELINE)

    @property
    def device(self) -> str:
        """The device that the run says, or that its rows say, or `unknown device`."""
        named = self.run.facts.get("device")
        seen = sorted({str(name) for name in self.run.table["device"]})
        return str(named or ", ".join(seen) or "unknown device")

    @property
    def machine(self) -> str:
        """The model of the chip, or the fingerprint, or nothing."""
        facts = self.mapping("machine")
        cards = facts.get("gpus") if self.device != "cpu" else None
        first = cards[0] if isinstance(cards, list) and cards else None
        card = first.get("name") if isinstance(first, dict) else None
        return str(card or facts.get("cpu_model") or self.run.facts.get("fingerprint") or "")

    @property
    def cut(self) -> bool:
        """Whether the run did not reach its end."""
        return self.run.facts.get("complete") is not True

    def mapping(self, name: str) -> dict[str, Any]:
        """Return a nested fact, or an empty one if the run lacks it."""
        value = self.run.facts.get(name)
        return value if isinstance(value, dict) else {}

    def ceiling(self, dtype: str) -> float | None:
        """Return the measured rate of a matrix product in FLOP/s, or None."""
        matmul = self.mapping("ceilings").get("flops_per_s")
        value = matmul.get(dtype) if isinstance(matmul, dict) else None
        return float(value) if isinstance(value, (int, float)) and value > 0 else None


def make_view(run: Run) -> View:
    """Judge and fit a run."""
    from harness.analysis.claims import judge_run

    table = distinct(run.table)
    judged = judge_run(table, run.facts, run.conformance, samples=run.samples)
    return View(run, judged.verdicts, judged.fits)
