"""`history` as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from harness.analysis.tracking.track import cells_to_confirm
from harness.cli.compare import history
from tests.support import ROOT
from tests.support.histories import Plant, write_history, write_second_look
from tests.support.night_draws import Noise

CELLS = 60
QUIET = Noise(bimodal=0.0, bad=0.0)
SLOWER = [Plant("slower", 39, 3, 0.08)]
EXACT = [
    Plant("bigger", 39, 4, 0.01), Plant("gone", 39, 5), Plant("unsupported", 39, 6),
    Plant("broken", 39, 7),
]  # fmt: skip


def made(folder: Path, *plants: Plant, nights: int = 40, noise: Noise = QUIET) -> list[str]:
    return write_history(
        folder, nights=nights, cells=CELLS, plants=plants, seed=1, fast=True, noise=noise
    )


def code(folder: Path, **options: object) -> int:
    try:
        history(results=str(folder), **options)  # type: ignore[arg-type]
    except typer.Exit as end:
        return int(end.exit_code)
    return 0


def test_a_quiet_night_is_exit_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = made(tmp_path)
    assert code(tmp_path) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"{names[-1]}: no alarm.\n")
    assert "39 earlier runs" in printed
    assert "60 tracked" in printed
    assert cells_to_confirm(tmp_path, names[-1]) == []


def test_exact_findings_alarm_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path, *EXACT)
    assert code(tmp_path) == 1
    printed = capsys.readouterr().out
    assert ": 1 broken, 2 gone, 1 bigger." in printed.splitlines()[0]
    for said in ("crashed: signal 11", "unsupported: no kernel", "not in the run", "+1.0 %"):
        assert said in printed
    assert max(map(len, printed.splitlines())) <= 100
    assert code(tmp_path, fail_on="slower") == 0


def test_a_candidate_waits_for_a_second_look(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = made(tmp_path, *SLOWER)[-1]
    assert code(tmp_path) == 0
    printed = capsys.readouterr().out
    assert "no alarm; 1 slower unconfirmed" in printed
    assert f"pytest suites --benchmark-only --attn-confirm {run}" in printed
    assert code(tmp_path, fail_on="unconfirmed") == 1


@pytest.mark.parametrize(
    ("share", "controls", "state", "ended"),
    [
        (0.08, 0.0, "confirmed", 1),
        (0.0, 0.0, "not confirmed", 0),
        (0.08, 0.08, "environment", 0),
    ],
)
def test_the_second_look_decides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *,
    share: float, controls: float, state: str, ended: int,
) -> None:  # fmt: skip
    run = made(tmp_path, *SLOWER)[-1]
    cells = cells_to_confirm(tmp_path, run)
    assert len(cells) == 6
    shares = dict.fromkeys(cells, controls) | {cells[0]: share}
    again = write_second_look(tmp_path, run, cells=cells, count=CELLS, shares=shares)
    assert code(tmp_path, as_json=True) == ended
    told = json.loads(capsys.readouterr().out)
    assert told["run"] == run
    assert told["confirmation"] == again
    assert [(one["cell"], one["state"]) for one in told["findings"]] == [(cells[0], state)]
    assert cells_to_confirm(tmp_path, run) == cells


def test_a_new_era_is_said_and_not_held_against_the_old(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, Plant("era", 15), Plant("environment", 15, size=0.5), nights=16)
    assert code(tmp_path) == 0
    printed = capsys.readouterr().out
    assert "New era: torch 2.13.0 to 2.14.0. The 15 runs before it are not compared." in printed
    assert "0 earlier runs" in printed
    assert "began with" in printed


def test_other_grids_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = made(tmp_path, nights=14)
    for name in names[:3]:
        path = tmp_path / name / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"grid": {"name": "quick"}}))
    assert code(tmp_path) == 0
    printed = capsys.readouterr().out
    assert "10 earlier runs" in printed
    assert "3 runs of other grids" in printed


def test_few_runs_report_and_never_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, Plant("slower", 4, 3, 0.3), nights=5)
    assert code(tmp_path) == 0
    printed = capsys.readouterr().out
    assert "fewer than 10" in printed
    assert "\nslower " in printed
    assert "reported" in printed


def test_noisy_cells_are_listed_as_not_tracked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made(tmp_path, noise=Noise(process=0.05, bimodal=0.0))
    assert code(tmp_path) == 0
    printed = capsys.readouterr().out
    assert "Not tracked: too noisy" in printed
    assert "--all lists every cell" in printed
    assert max(map(len, printed.splitlines())) <= 100


def test_one_cell_shows_its_runs_and_where_it_moved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = made(tmp_path, Plant("slower", 25, 3, 0.08))
    cell = "sdpa.fwd-t128-h4-d64-f32-full"
    assert code(tmp_path, cell=cell) == 0
    printed = capsys.readouterr().out
    line = next(line for line in printed.splitlines() if line.startswith(names[25]))
    assert "level moved by +8" in line
    assert printed.count("level moved by") == 1
    assert max(map(len, printed.splitlines())) <= 100
    code(tmp_path, cell=cell, as_json=True)
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 40


def test_an_unknown_cell_names_its_neighbours(tmp_path: Path) -> None:
    made(tmp_path, nights=3)
    with pytest.raises(
        ValueError, match=r"no cell 'sdpa\.fwd-t129.*close to it: .*sdpa\.fwd-t128-"
    ):
        code(tmp_path, cell="sdpa.fwd-t129-h4-d64-f32-full")


def test_a_broken_run_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = made(tmp_path, nights=14)
    (tmp_path / names[2] / "cells.parquet").write_bytes(b"half a file")
    (tmp_path / names[3] / "run.json").write_text("{")
    assert code(tmp_path) == 0
    printed = capsys.readouterr().out
    assert printed.count("Problem: ") == 2
    assert "11 earlier runs" in printed


def test_a_run_without_a_fingerprint_is_refused(tmp_path: Path) -> None:
    run = made(tmp_path, nights=2)[-1]
    path = tmp_path / run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"fingerprint": None}))
    with pytest.raises(ValueError, match="does not know its machine"):
        code(tmp_path)


def test_markdown_fits_a_summary_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = write_history(
        tmp_path, nights=12, cells=500, fast=True,
        plants=[Plant("bigger", 11, cell, 0.1) for cell in range(500)],
    )  # fmt: skip
    assert code(tmp_path, markdown=True) == 1
    printed = capsys.readouterr().out
    assert printed.startswith(f"**{names[-1]}: 500 bigger")
    assert len(printed.encode()) < 900_000
    assert "<details>" in printed


def test_the_answer_is_quick_and_loads_no_torch() -> None:
    code = (
        "import sys, harness.cli.compare, harness.cli.compare, harness.analysis.tracking.track,"
        "harness.report.history_page, harness.report.history_tables, harness.report.compare_page,"
        "harness.records.archive; sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
