"""A thousand cells: the report stays a page, and a matter of seconds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from harness.cases.case import Case
from harness.report.markdown import write_report
from harness.report.sections.cost import FIGURES
from harness.report.view import make_view
from tests.support.made_runs import ABSENT, MADE, cell, write_run

LENGTHS = (64, 128, 256, 512, 1024, 2048)


@pytest.mark.slow
def test_a_thousand_cells(tmp_path: Path) -> None:
    shapes = [
        {"mask": mask, "dtype": dtype, "heads": heads}
        for mask in ("full", "causal", "padding")
        for dtype in ("float32", "bfloat16", "float16")
        for heads in (2, 4)
    ]
    made = [
        cell(backend, "length", Case.square(length, **shape), "large")
        for shape in shapes
        for length in LENGTHS
        for backend in (*MADE, *ABSENT)
    ]
    run = write_run(tmp_path / "results" / "large", cells=made)
    assert len(run.table) >= 960
    view = make_view(run)
    start = time.process_time()
    path = write_report(view, tmp_path / "reports")
    # Processor time, because neighbours on a shared machine are no fault of the report.
    assert time.process_time() - start < 15
    assert len(list((path.parent / "figures").glob("time-*.png"))) == FIGURES
    # 700 lines of them are the evidence of the 38 claims, folded away.
    assert len(path.read_text(encoding="utf-8").splitlines()) < 2000
