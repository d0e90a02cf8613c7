"""An A/A run with real workers, as a user starts it, and what it asks for."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer

from harness.analysis.tracking.noise import noise_floors
from harness.cli import doctor as command
from harness.cli.doctor import show_noise
from harness.records.noise import noise_spreads, twin_of
from harness.records.store import load_run
from harness.run.aa_run import noise_cells, noise_settings
from tests.support.run_command import Answer, ask_process
from tests.support.run_suite import TINY

GRID = (
    "budget_s = 0.001\n"
    + TINY
    + """
[[series]]
suite = "masks"
mask = ["full", "causal"]
length = 16
"""
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("noise")
    (folder / "tiny.toml").write_text(GRID)
    return folder


@pytest.fixture(scope="module")
def done(home: Path) -> Answer:
    words = ("doctor", "--noise", "--grid", "tiny.toml", "--backends", "naive,sdpa")
    return ask_process(*words, folder=home)


@pytest.fixture(scope="module")
def folder(home: Path, done: Answer) -> Path:
    return next((home / "results").glob("*-noise-*"))


def options(home: Path, **given: Any) -> dict[str, Any]:
    return {"grid": str(home / "tiny.toml"), "device": "cpu", "backends": "naive,sdpa"} | given


def test_each_cell_is_asked_for_under_both_labels_once(home: Path) -> None:
    settings = noise_settings(options(home))
    assert settings.backends == ("naive", "naive~twin", "sdpa", "sdpa~twin")
    cells = [cell.name for cell in noise_cells(settings)]
    case = "fwd-t16-h2-d8-f32-full"
    assert cells[:4] == [f"{name}.{case}" for name in settings.backends]
    assert len(cells) == len(set(cells)) == 4 * 4


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


def test_an_a_a_run_ends_well_and_its_table_fits_a_hundred_columns(done: Answer) -> None:
    assert done.code == 0, done.err
    assert "8 cells under two labels each, results in results/" in done.err
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == ["cell", "A/A", "ratio", "within", "between", "change"]
    assert all(line.split(".")[0] in ("naive", "sdpa") for line in lines[1:9])
    assert sum("noisier than 10 % between runs" in line for line in lines) == 1
    assert lines[-1].startswith("Written to results/")


def test_its_run_is_like_any_other_but_never_the_newest(home: Path, folder: Path) -> None:
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


def test_both_labels_are_measured_on_their_own_in_the_same_processes(folder: Path) -> None:
    run = load_run(folder)
    medians = dict(zip(run.table["cell"], run.table["replica_medians_s"], strict=True))
    assert all(len(each) == 3 for each in medians.values())
    name = "naive.fwd-t16-h2-d8-f32-full"
    assert medians[name] != medians[name.replace("naive", twin_of("naive"))]


def test_a_machine_reads_the_same_the_worst_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("harness.run.aa_run.measure_noise", lambda *given: folder)
    show_noise({"device": "cpu", "grid": "smoke"}, as_json=True)
    shown = json.loads(capsys.readouterr().out)
    assert shown["run"] == folder.name
    floors = [row["floor_between"] for row in shown["cells"]]
    assert len(floors) == 8
    assert floors == sorted(floors, reverse=True)
    assert all(row["smallest_change"] > 0.05 and row["replicas"] == 3 for row in shown["cells"])


def test_a_cell_that_fails_is_a_finding(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The same run, with one cell that crashed."""
    broken = Path(shutil.copytree(folder, tmp_path / folder.name))
    text = (broken / "journal.jsonl").read_text()
    (broken / "journal.jsonl").write_text(text.replace('"status": "ok"', '"status": "crashed"'))
    monkeypatch.setattr("harness.run.aa_run.measure_noise", lambda *given: broken)
    with pytest.raises(typer.Exit) as caught:
        show_noise({"device": "cpu", "grid": "smoke"}, as_json=True)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"grid": "smoke"}, "--grid belongs to `doctor --noise`"),
        ({"replicas": 4}, "--replicas belongs to `doctor --noise`"),
        ({"noise": True, "grid": "smok"}, "unknown grid 'smok'; valid: full, nightly"),
        ({"noise": True, "backends": "naiv"}, "unknown backend 'naiv'; valid: naive, rowwise"),
        ({"noise": True, "replicas": 1}, "--replicas must be at least 3, not 1: fewer"),
        ({"noise": True, "replicas": 0}, "--replicas must be at least 3, not 0: fewer"),
        ({"noise": True, "device": "gpu"}, "unknown device 'gpu'; valid: auto, cpu"),
        ({"noise": True, "backends": "rnn,naive~twin"}, "unknown backend 'naive~twin'; valid: "),
    ],
)
def test_bad_usage_is_one_line_and_leaves_nothing(
    tmp_path: Path, given: dict[str, Any], line: str
) -> None:
    usual = {"device": "cpu"} if given.get("noise") else {}
    with pytest.raises(ValueError, match=f"^{re.escape(line)}") as caught:
        command.doctor(tmp_path, **usual | given)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())
