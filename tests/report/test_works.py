"""The section on layers, recurrence, generation: what it shows, and what it says of nothing."""

from __future__ import annotations

from pathlib import Path

from harness.cases.case import Case
from harness.records.record import Record
from harness.records.store import Run
from harness.records.tables import make_table
from harness.report.figures.canvas import Gallery
from harness.report.sections.works import ratio_table, works_section
from harness.report.view import View
from tests.support.sweep_tables import sweep


def view_of(*sweeps: list[Record]) -> View:
    table = make_table(record for records in sweeps for record in records)
    return View(Run(Path("made"), {"device": "cpu"}, table, table.head(0)), [], [])


def swept(name: str, work: str, per_position: float) -> list[Record]:
    def seconds(case: Case) -> float:
        return per_position * case.length_query

    case = {"work": work, "mask": "causal"}
    return sweep(name, (16, 64), case=case, seconds=seconds, noise=0.001)


def test_ratios_shares_and_times_per_position(tmp_path: Path) -> None:
    view = view_of(
        swept("one-pass", "sequence", 1e-5),
        swept("prefix-passes", "sequence", 3e-4),
        swept("layer-sdpa", "layer", 4e-6),
        swept("projections", "projections", 1e-6),
        swept("gru", "gru", 2e-5),
    )
    text = works_section(view, Gallery(tmp_path))
    assert "| prefix-passes | one-pass | cpu, float32, B=1 H=4 D=64 | 30.0" in text
    assert "| gru | layer-sdpa | cpu, float32, B=1 H=4 D=64 | 5.0" in text
    assert "| projections | layer-sdpa | cpu, float32, B=1 H=4 D=64 | 25 %" in text
    assert "| gru | 20.0 µs | 20.0 µs |" in text
    assert text.count("<details>") == 4


def test_the_step_of_one_token_is_not_divided(tmp_path: Path) -> None:
    text = works_section(view_of(swept("step-cached", "step", 1e-6)), Gallery(tmp_path))
    assert "Time per position" not in text


def test_nothing_is_said(tmp_path: Path) -> None:
    view = view_of(sweep("naive", (16, 64)))
    assert works_section(view, Gallery(tmp_path)).startswith("Not shown: no layer")


def test_phases_and_shapes_are_rows_of_their_own() -> None:
    from harness.analysis.claims.evidence import Evidence

    records = []
    for phase in ("forward", "forward_backward"):
        case = {"work": "sequence", "mask": "causal", "phase": phase}
        for name in ("one-pass", "prefix-passes"):
            records += sweep(name, (16, 64), case=case)
    table = ratio_table(Evidence(tuple(records), (), {}))
    assert list(table["at"]) == [
        "cpu, float32, B=1 H=4 D=64", "cpu, float32, forward + backward, B=1 H=4 D=64",
    ]  # fmt: skip
    assert list(table.columns) == ["time of", "over", "at", "T=16", "T=64"]
