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
from harness.report.markdown import SECTIONS, build_report, write_report
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
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as monkeypatch:
        run = write_run(folder / "results" / "made")
        write_report(stubs.stub_view(run, monkeypatch), folder / "reports")
    return folder


def test_the_report_is_as_it_was(built: Path) -> None:
    golden.check("README.md", (built / "reports/made/README.md").read_text(encoding="utf-8"))


def test_every_section_is_there_in_order(built: Path) -> None:
    text = (built / "reports/made/README.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == list(SECTIONS)


def test_every_figure_is_linked_and_none_is_empty(built: Path) -> None:
    text = (built / "reports/made/README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((figures/[^)]+)\)", text))
    drawn = {path for path in files(built / "reports/made") if path.endswith(".png")}
    assert linked == drawn
    assert len(drawn) >= 12
    assert all((built / "reports/made" / path).stat().st_size > 10_000 for path in drawn)


def test_nothing_hostile_is_carried(built: Path) -> None:
    text = (built / "reports/made/README.md").read_text(encoding="utf-8")
    ours = {"<details>", "</details>", "<summary>", "</summary>"}
    assert set(re.findall(r"<[^>]*>", text)) <= ours
    assert "&lt;script&gt;" in text
    assert "O(T" not in text


def test_verdicts_lie_in_both_folders(built: Path) -> None:
    texts = [
        (built / place / "made/verdicts.json").read_text() for place in ("results", "reports")
    ]
    assert texts[0] == texts[1]
    rows = json.loads(texts[0])
    assert len(rows) == len(stubs.VERDICTS)
    assert set(rows[0]) == {
        "claim", "series", "verdict", "observed", "low", "high", "expected", "reason",
    }  # fmt: skip


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    made = [
        cell(backend, "length", Case.square(length, mask=mask), "made")
        for mask in ("full", "causal")
        for length in (64, 128, 256, 512, 1024, 2048)
        for backend in ("naive", "rowwise", "sdpa", "sdpa-flash")
    ]
    run = write_run(tmp_path / "results" / "made", cells=made)
    children = [start(run.folder, tmp_path / seed, seed) for seed in ("1", "2")]
    assert [child.wait(timeout=120) for child in children] == [0, 0]
    one, two = files(tmp_path / "1"), files(tmp_path / "2")
    assert len(one) > 8
    assert [name for name in one if one[name] != two[name]] == []
    assert set(one) == set(two)


def start(folder: Path, reports: Path, seed: str) -> subprocess.Popen[bytes]:
    """Build a report in a process of its own, with warnings as errors and its own hash seed."""
    command = [sys.executable, "-W", "error", "-c", PROGRAM, str(folder), str(reports)]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed})


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
