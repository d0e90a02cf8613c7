"""The section on behaviour: marks, deviations told once, refusals folded away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.records.record import Finding
from harness.records.store import Run
from harness.records.tables import make_conformance, make_samples, make_table
from harness.report.figures.canvas import Gallery
from harness.report.sections.verdicts import conformance_section
from harness.report.tables.outcomes import (
    conformance_lines,
    conformance_matrix,
    deviations_table,
    notable,
)
from harness.report.view import View


def row(backend: str, behaviour: str, verdict: str = "conforms", **fields: Any) -> Finding:
    values = {"device": "cpu", "dtype": "float32", "expected": "0", "observed": "0"}
    return Finding(**values | fields, backend=backend, behaviour=behaviour, verdict=verdict)


FOUND = [
    row("sdpa", "shapes"), row("naive", "shapes"), row("torch", "score-variance"),
    row("naive", "empty-row", "deviates", observed="NaN", reason="known: 0 / 0, see the formula"),
    row("sdpa", "empty-row", reason="gone: it was NaN"),
    row("naive", "nan-row", "deviates", observed="1 | <b>"),
    row("sdpa", "nan-row", "deviates", observed="1 | <b>"),
    row("naive", "no-key", "crashes", observed=None, reason="the worker was killed by SIGFPE"),
    row("sdpa", "no-key", "refuses", observed=None, reason="no such shape"),
]  # fmt: skip


def section(findings: list[Finding], folder: Path) -> str:
    run = Run(folder, {}, make_table([]), make_samples([]), make_conformance(findings))
    return conformance_section(View(run, [], []), Gallery(folder))


def test_the_matrix_marks_every_answer() -> None:
    matrix = conformance_matrix(make_conformance(FOUND))
    assert list(matrix.columns) == ["behaviour", "naive", "sdpa", "torch"]
    assert matrix.to_numpy().tolist() == [
        ["shapes", "c", "c", "-"],
        ["score-variance", "-", "-", "c"],
        ["empty-row", "D", "c", "-"],
        ["nan-row", "D", "D", "-"],
        ["no-key", "X", "r", "-"],
    ]
    assert notable(matrix)["behaviour"].tolist() == ["empty-row", "nan-row", "no-key"]


def test_new_faults_come_first_and_one_that_is_gone_is_said() -> None:
    table = deviations_table(make_conformance(FOUND))
    assert table[["state", "behaviour", "backends"]].to_numpy().tolist() == [
        ["new", "nan-row", "naive, sdpa"],
        ["new", "no-key", "naive"],
        ["gone", "empty-row", "sdpa"],
        ["known", "empty-row", "naive"],
    ]
    assert table["reason"].tolist()[-1] == "0 / 0, see the formula"


def test_the_section_says_all_of_it_and_carries_nothing_hostile(tmp_path: Path) -> None:
    text = section(FOUND, tmp_path)
    assert "5 behaviours, 9 answers: 4 conforms, 3 deviates, 1 crashes, 1 refuses." in text
    assert "| known | empty-row | naive | 0 | NaN | 0 / 0, see the formula |" in text
    assert "no such shape" in text
    assert "<b>" not in text


def test_the_terminal_counts_and_names_what_is_new_or_gone() -> None:
    lines = list(conformance_lines(make_conformance(FOUND)))
    assert lines == [
        "Behaviours: 9 asked (4 conform, 1 refused, 1 with a known fault)",
        "New fault: nan-row: naive, sdpa: 1 | <b>",
        "New fault: no-key: naive: -",
        "A known fault is gone: empty-row: sdpa",
    ]
    assert not list(conformance_lines(make_conformance([])))


def test_without_behaviours_the_section_says_so(tmp_path: Path) -> None:
    assert section([], tmp_path) == "Not shown: no behaviour was asked for."
