"""View: a run with all that is concluded from it, made once and shown by Markdown and terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from harness.report.fits import FitIndex, index_fits
from harness.report.panels import Panel, distinct, length_panels
from harness.report.speedup import speedups

if TYPE_CHECKING:
    import pandas as pd

    from harness.analysis.series import SeriesFit
    from harness.analysis.verdict import Verdict
    from harness.store import Run

DEFAULT_BASELINE = "naive"
# Columns that no table or figure shows: dropped once, since every cut of a frame copies them all.
UNSEEN = [
    "run", "suite", "kernel", "error_max", "tolerance", "time_min_s", "samples", "replicas",
    "first_call_s", "reserved_bytes", "output_bytes", "mask_bytes", "min_bytes", "threads",
    "page_faults",
]  # fmt: skip


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
        from harness.analysis.ratio import rounds_by_cell

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
    from harness.analysis.claims import judge
    from harness.analysis.series import fit_all
    from harness.noise import spreads_of

    table = distinct(run.table)
    fits = fit_all(table, spreads_of(run.facts))
    return View(run, judge(table, run.facts, run.conformance, samples=run.samples), fits)
