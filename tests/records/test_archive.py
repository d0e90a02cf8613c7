"""Many runs read back: whole, cut short, broken; quickly and in little memory."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.records.archive import (
    ABSENT,
    STATUSES,
    ArchivedRun,
    list_runs,
    pick_run,
    read_archive,
    read_reasons,
)
from harness.records.store import load_run
from tests.support import ROOT
from tests.support.histories import Plant, write_history
from tests.support.made_runs import write_cut

PLANTS = [Plant("gone", 3, 5), Plant("broken", 3, 7)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_history(tmp_path, nights=4, cells=12, plants=PLANTS)
    return tmp_path


def edit(run: Path, **facts: object) -> None:
    path = run / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


def test_figures_are_those_of_the_tables(folder: Path) -> None:
    runs, problems = list_runs(folder)
    archive, broken = read_archive(runs)
    assert not problems
    assert not broken
    assert archive.medians.shape == (4, 12)
    table = load_run(runs[1].folder).table.set_index("cell").loc[list(archive.cells)]
    assert np.exp(archive.medians[1]) == pytest.approx(table["time_median_s"].to_numpy(float))
    assert archive.peaks[1] == pytest.approx(table["peak_bytes"].to_numpy(float))
    processes = np.exp(archive.replicas[1]).T
    assert processes == pytest.approx(np.stack(table["replica_medians_s"]))


def test_failed_and_missing_cells_have_no_figures(folder: Path) -> None:
    archive, _ = read_archive(list_runs(folder)[0])
    assert archive.statuses[3, 5] == ABSENT
    assert STATUSES[archive.statuses[3, 7]] == "crashed"
    assert np.isnan(archive.medians[3, [5, 7]]).all()
    assert np.isnan(archive.replicas[3][:, [5, 7]]).all()
    assert np.isfinite(archive.medians[:3]).all()
    assert read_reasons(archive.runs[3].folder) == {archive.cells[7]: "signal 11 (SIGSEGV)"}


def test_a_cut_run_is_read_from_its_journal(tmp_path: Path) -> None:
    made = write_cut(tmp_path / "cut", 9)
    archive, broken = read_archive(list_runs(tmp_path)[0])
    assert not broken
    times = made.table["time_median_s"].to_numpy(float, na_value=np.nan)
    assert np.exp(archive.medians[0]) == pytest.approx(times, nan_ok=True)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 99}'])
def test_broken_facts_are_one_line_and_the_rest_is_read(folder: Path, text: str) -> None:
    first = sorted(folder.glob("*/run.json"))[0]
    first.write_text(text)
    runs, problems = list_runs(folder)
    assert len(runs) == 3
    assert len(problems) == 1
    assert "\n" not in problems[0]
    assert first.parent.name in problems[0]


def test_a_broken_table_is_one_line_and_the_rest_is_read(folder: Path) -> None:
    names = [run.name for run in list_runs(folder)[0]]
    (folder / names[0] / "cells.parquet").write_bytes(b"no table")
    (folder / names[1] / "cells.parquet").unlink()
    pd.DataFrame({"other": [1]}).to_parquet(folder / names[2] / "cells.parquet")
    odd = pd.DataFrame({"cell": ["a"], "status": ["ok"], "time_median_s": ["soon"]})
    odd.to_parquet(folder / names[3] / "cells.parquet")
    archive, broken = read_archive(list_runs(folder)[0])
    assert [run.name for run in archive.runs] == []
    assert [line.split(" is left out")[0] for line in broken] == names
    assert not any("\n" in line for line in broken)


def test_noise_runs_are_no_history_and_order_is_by_time(folder: Path) -> None:
    names = [run.name for run in list_runs(folder)[0]]
    edit(folder / names[0], kind="noise")
    edit(folder / names[1], started="2027-01-01T00:00:00+00:00")
    assert [run.name for run in list_runs(folder)[0]] == [names[2], names[3], names[1]]


def test_the_newest_run_is_none_that_confirms_another(folder: Path) -> None:
    names = [run.name for run in list_runs(folder)[0]]
    edit(folder / names[3], confirms=names[2])
    runs, _ = list_runs(folder)
    assert pick_run(runs, folder, None).name == names[2]
    assert pick_run(runs, folder, names[0]).name == names[0]
    with pytest.raises(ValueError, match=r"no run .*other.* valid: "):
        pick_run(runs, folder, "other")


def test_a_folder_without_runs_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no folder of runs"):
        list_runs(tmp_path / "none")
    with pytest.raises(ValueError, match="pytest suites"):
        pick_run([], tmp_path, None)


def test_the_words_of_a_command_that_choose_cells() -> None:
    def choice(command: str) -> tuple[str, ...]:
        return ArchivedRun(
            Path("run"), {"command": f"pytest suites --benchmark-only {command}"}
        ).choice

    assert choice("") == choice("--attn-grid nightly --attn-results /tmp/test_1/results") == ()
    assert choice("-k flash") == ("-k", "flash")
    assert choice("--attn-backends=naive,sdpa") == ("--attn-backends=naive,sdpa",)
    assert choice("suites/test_masks.py") == ("suites/test_masks.py",)
    assert ArchivedRun(Path("run"), {}).choice == ()


def read_and_judge(folder: Path) -> tuple[float, float]:
    """Return processor seconds and the peak in GB of `history` in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    code = (
        "import sys; from pathlib import Path; from harness.run.start import peak_rss;"
        "from harness.analysis.tracking.track import track;"
        "made = track(Path(sys.argv[1])); assert len(made.judgement.cells) == 500;"
        "print(peak_rss() / 1e9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return spent, float(done.stdout)


def test_a_hundred_runs_are_read_and_judged_in_a_tenth_of_a_minute(tmp_path: Path) -> None:
    write_history(tmp_path, nights=100, cells=500, fast=True)
    seconds, gigabytes = read_and_judge(tmp_path)
    assert seconds < 6
    assert gigabytes < 1


@pytest.mark.slow
def test_a_thousand_runs_are_read_and_judged_within_a_minute(tmp_path: Path) -> None:
    write_history(tmp_path, nights=1000, cells=500, fast=True)
    began = time.monotonic()
    seconds, gigabytes = read_and_judge(tmp_path)
    assert time.monotonic() - began < 60
    assert seconds < 60
    assert gigabytes < 2
    shutil.rmtree(tmp_path)
