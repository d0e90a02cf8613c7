"""An A/A run with real workers, as a user starts it, and what it asks for."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.noise import noise_floors, noise_spreads, twin_of
from harness.pool.noise_run import noise_cells, noise_settings
from harness.store import load_run

ROOT = Path(__file__).resolve().parents[2]
GRID = """
target = 0.2
cap_s = 0.02
replicas = 2
budget_s = 0.001
[base]
heads = 1
dim = 8
[[series]]
suite = "length"
length = [16, 32]
[[series]]
suite = "masks"
mask = ["full", "causal"]
length = 16
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("noise")
    (folder / "tiny.toml").write_text(GRID)
    return folder


@pytest.fixture(scope="module")
def done(home: Path) -> subprocess.CompletedProcess[str]:
    return doctor(home, "--noise", "--grid", "tiny.toml", "--backends", "naive,sdpa", "--json")


def doctor(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    python = os.pathsep.join((str(ROOT), str(ROOT / "tests" / "pool")))
    return subprocess.run(
        [sys.executable, "-m", "harness", "doctor", *words],
        cwd=home, capture_output=True, text=True, timeout=300,
        env=os.environ | {"PYTHONPATH": python},
    )  # fmt: skip


def options(home: Path, **given: Any) -> dict[str, Any]:
    return {"grid": str(home / "tiny.toml"), "device": "cpu", "backends": "naive,sdpa"} | given


def test_each_cell_is_asked_for_under_both_labels_once(home: Path) -> None:
    settings = noise_settings(options(home))
    assert settings.backends == ("naive", "naive~twin", "sdpa", "sdpa~twin")
    cells = [cell.name for cell in noise_cells(settings)]
    case = "fwd-t16-h1-d8-f32-full"
    assert cells[:4] == [f"{name}.{case}" for name in settings.backends]
    assert len(cells) == len(set(cells)) == 3 * 4


def test_every_pass_is_made_in_at_least_three_processes(home: Path) -> None:
    settings = noise_settings(options(home))
    assert (settings.replicas, settings.grid.budget_s) == (3, None)
    assert noise_settings(options(home, replicas=5)).replicas == 5
    with pytest.raises(ValueError, match="--replicas must be at least 3, not 2: fewer processes"):
        noise_settings(options(home, replicas=2))


def test_a_grid_without_a_cell_for_these_backends_is_said(home: Path) -> None:
    settings = noise_settings(options(home, backends="rnn"))
    with pytest.raises(ValueError, match="the grid 'tiny' has no cell for rnn"):
        noise_cells(settings)


def test_an_a_a_run_ends_well_and_shows_every_cell(
    done: subprocess.CompletedProcess[str],
) -> None:
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert len(shown["cells"]) == 6
    floors = [row["floor_between"] for row in shown["cells"]]
    assert floors == sorted(floors, reverse=True)
    assert all(row["smallest_change"] > 0.05 and row["replicas"] == 3 for row in shown["cells"])
    assert "6 cells under two labels each, results in results/" in done.stderr


def test_its_run_is_like_any_other_but_never_the_newest(
    home: Path, done: subprocess.CompletedProcess[str]
) -> None:
    folder = home / "results" / json.loads(done.stdout)["run"]
    assert folder.name.endswith("-cpu-noise-tiny")
    assert not (home / "results" / "LATEST").exists()
    run = load_run(folder)
    assert run.facts["kind"] == "noise"
    assert run.facts["complete"] is True
    assert run.facts["command"].startswith("attnbench doctor --noise")
    assert set(run.table["status"]) == {"ok"}
    assert all(run.table["agrees"])
    assert set(noise_floors(home / "results", run.facts["fingerprint"])) == {
        cell for cell in run.table["cell"] if "~" not in cell
    }
    assert min(noise_spreads(home / "results", run.facts["fingerprint"]).values()) >= 0.003


def test_both_labels_are_measured_side_by_side(
    home: Path, done: subprocess.CompletedProcess[str]
) -> None:
    run = load_run(home / "results" / json.loads(done.stdout)["run"])
    medians: dict[str, pd.Series] = {
        row["cell"]: row["replica_medians_s"] for row in run.table.to_dict("records")
    }
    for cell, own in medians.items():
        assert len(own) == 3, cell
    name = "naive.fwd-t16-h1-d8-f32-full"
    assert medians[name] != medians[name.replace("naive", twin_of("naive"))]


def test_the_table_of_a_person_fits_a_hundred_columns(home: Path) -> None:
    # Not this grid's cells again: two are enough to look at.
    (home / "two.toml").write_text(GRID.partition('[[series]]\nsuite = "masks"')[0])
    words = ("--noise", "--grid", "two.toml", "--backends", "naive", "--results", "two")
    shown = doctor(home, *words)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == ["cell", "A/A", "ratio", "within", "between", "change"]
    assert sum(line.startswith("naive.fwd-t") for line in lines) == 2
    assert any("noisier than 10 %" in line for line in lines)
    assert lines[-1].startswith("Written to two/")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--grid", "smoke"], "attnbench: --grid belongs to `doctor --noise`"),
        (["--noise", "--grid", "smok"], "attnbench: unknown grid 'smok'; valid: full"),
        (["--noise", "--backends", "naiv"], "attnbench: unknown backend 'naiv'; valid: naive"),
        (["--noise", "--replicas", "1"], "attnbench: --replicas must be at least 3, not 1: fewer"),
        (["--noise", "--device", "gpu"], "attnbench: unknown device 'gpu'; valid: auto, cpu"),
    ],
)
def test_bad_usage_is_one_line_and_leaves_nothing(
    tmp_path: Path, words: list[str], line: str
) -> None:
    shown = doctor(tmp_path, *words)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr.startswith(line)
    assert shown.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
