from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cases.case import Case
from harness.records.record import Status
from harness.records.store import Run
from harness.report.figures.canvas import Gallery
from harness.report.markdown import SECTIONS, build_report, render
from harness.report.view import View
from tests.support import ROOT, golden
from tests.support import fixed_views as stubs
from tests.support.made_runs import cell, full_cells, write_cut, write_run

PROGRAM = (
    "import sys; from pathlib import Path; from harness.report.markdown import build_report; "
    "from harness.records.store import load_run; "
    "build_report(load_run(Path(sys.argv[1])), Path(sys.argv[2]))"
)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def text(report: Path) -> str:
    return (report / "README.md").read_text(encoding="utf-8")


def test_the_report_is_as_it_was(
    made: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.report.figures.canvas.write_png", lambda *given: None)
    golden.check("README.md", render(stubs.stub_view(made, monkeypatch), Gallery(tmp_path)))


def test_every_section_is_there_in_order(text: str) -> None:
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == list(SECTIONS)


def test_every_figure_is_linked_and_none_is_empty(report: Path, text: str) -> None:
    linked = set(re.findall(r"\]\((figures/[^)]+)\)", text))
    drawn = {path for path in files(report) if path.endswith(".png")}
    assert linked == drawn
    assert len(drawn) >= 12
    assert all((report / path).stat().st_size > 10_000 for path in drawn)


def test_nothing_hostile_is_carried(text: str) -> None:
    ours = {"<details>", "</details>", "<summary>", "</summary>"}
    assert set(re.findall(r"<[^>]*>", text)) <= ours
    assert "&lt;script&gt;" in text
    assert "O(T" not in text


def test_verdicts_lie_in_both_folders(made: Run, judged: View, report: Path) -> None:
    texts = [(place / "verdicts.json").read_text() for place in (made.folder, report)]
    assert texts[0] == texts[1]
    rows = json.loads(texts[0])
    assert len(rows) == len(judged.verdicts)
    assert set(rows[0]) == {
        "claim", "series", "verdict", "observed", "low", "high", "expected", "reason",
    }  # fmt: skip


def test_another_process_writes_the_same_bytes(made: Run, report: Path, tmp_path: Path) -> None:
    """One that has warnings as errors, and a hash seed of its own."""
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(made.folder), str(tmp_path)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": "1"}, check=True)
    one, two = files(report), files(tmp_path / made.name)
    assert len(one) > 8
    assert [name for name in one if one[name] != two[name]] == []
    assert set(one) == set(two)


def test_figures_of_an_older_build_are_removed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "results" / "made", cells=[])
    stale = tmp_path / "reports/made/figures/old.png"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"old")
    build_report(run, tmp_path / "reports")
    assert not stale.exists()


def test_a_cut_run_says_so_at_the_top(tmp_path: Path) -> None:
    run = write_cut(tmp_path / "results" / "cut", 21)
    text = build_report(run, tmp_path / "reports").read_text(encoding="utf-8")
    assert text.splitlines()[0].startswith("# Attention benchmark on cpu")
    assert "[!WARNING]" in text[:300]
    assert "21 cells had come back" in text


def test_a_run_without_any_fact_gets_a_report(tmp_path: Path) -> None:
    run = write_run(tmp_path / "results" / "bare", cells=full_cells()[:3], facts={})
    text = build_report(run, tmp_path / "reports").read_text(encoding="utf-8")
    assert "on cpu" in text.splitlines()[0]


def test_facts_of_a_wrong_kind_do_no_harm(tmp_path: Path) -> None:
    facts = {
        "machine": None, "ceilings": [1], "settings": "x", "unavailable": None, "notes": None,
        "grid": None, "baseline": None, "command": None, "complete": "yes", "device": None,
    }  # fmt: skip
    run = write_run(tmp_path / "results" / "odd", cells=full_cells()[:9], facts=facts)
    assert build_report(run, tmp_path / "reports").is_file()


def test_one_cell_is_shown(tmp_path: Path) -> None:
    made = [cell("naive", "length", Case.square(64), "one")]
    run = write_run(tmp_path / "results" / "one", cells=made)
    text = build_report(run, tmp_path / "reports").read_text(encoding="utf-8")
    assert "fwd-t64-h4-d64-f32-full" in text
    assert "Not shown" in text


def test_a_run_in_which_nothing_is_ok_gets_reasons(tmp_path: Path) -> None:
    made = [pair for pair in full_cells() if pair[0].status != Status.OK]
    run = write_run(tmp_path / "results" / "none", cells=made)
    text = build_report(run, tmp_path / "reports").read_text(encoding="utf-8")
    assert "0 measured" in text
    assert "SIGSEGV" in text
    assert not list((tmp_path / "reports/none").glob("figures/*.png"))


def test_an_empty_run_gets_a_report(tmp_path: Path) -> None:
    run = write_run(tmp_path / "results" / "empty", cells=[])
    text = build_report(run, tmp_path / "reports").read_text(encoding="utf-8")
    assert "No cell came back" in text
