"""The job that compares a pull request with its base, carried out with made-up programs."""

import shutil
from pathlib import Path

import pytest

from harness.cases.grid import load_grid
from tests.support.workflow_runner import ROOT, Night


def change(folder: Path, **fakes: str) -> Night:
    work = folder / "work"
    known = {"github.workspace": str(work), "github.event_name": "pull_request"}
    one = Night(folder, known, fakes)
    for side in ("base", "head"):
        (work / side).mkdir()
    shutil.copytree(ROOT / ".github", work / "head" / ".github")
    return one


def turns(one: Night) -> str:
    """Return which side was measured, a letter for each process."""
    calls = [call for call in one.calls() if "-m pytest" in call]
    return "".join("B" if "/out/base" in call else "H" for call in calls)


def test_the_sides_take_turns_and_neither_is_always_first(tmp_path: Path) -> None:
    one = change(tmp_path)
    assert one.run("ci.yml", "compare") == 0
    assert turns(one) == "BHHBBH"
    assert one.calls()[-1].startswith("python -m harness compare ")
    assert b"## compared" in one.summary()


def test_both_sides_are_asked_the_grid_of_the_change(tmp_path: Path) -> None:
    one = change(tmp_path)
    one.run("ci.yml", "compare")
    grids = {call.split("--attn-grid ")[1].split()[0] for call in one.calls() if "-grid" in call}
    assert grids == {str(tmp_path / "work" / "head" / ".github" / "compare.toml")}


def test_that_grid_is_small_and_has_a_baseline() -> None:
    grid = load_grid(str(ROOT / ".github" / "compare.toml"))
    cases = {case.id for _, case in grid.cases("cpu")}
    # Six backends at 0.4 s in two replicas each: a minute, six times a pull request.
    assert 5 <= len(cases) * len(grid.backends) <= 60
    assert "naive" in grid.backends


def test_each_side_is_measured_by_its_own_program(tmp_path: Path) -> None:
    one = change(tmp_path)
    one.run("ci.yml", "compare")
    installed = [call.split()[-1] for call in one.calls() if "-m pip" in call]
    assert installed == ["base", "head"]
    for side in ("base", "head"):
        assert (tmp_path / "work" / side / ".venv" / "bin" / "python").is_file()


def test_all_runs_of_a_side_are_merged_before_they_are_compared(tmp_path: Path) -> None:
    one = change(tmp_path)
    one.run("ci.yml", "compare")
    out = tmp_path / "work" / "out"
    merges = [call.split()[2:] for call in one.calls() if "merge_runs.py" in call]
    assert merges == [[f"{out}/{side}", f"{out}/merged/{side}"] for side in ("base", "head")]
    compared = [call for call in one.calls() if "harness compare" in call]
    assert [f"{out}/merged/base {out}/merged/head" in call for call in compared] == [True, True]


def test_a_finding_fails_the_job_and_is_shown(tmp_path: Path) -> None:
    one = change(tmp_path, FAKE_COMPARE="1")
    assert one.run("ci.yml", "compare") == 1
    assert b"## compared" in one.summary()


@pytest.mark.parametrize(("listed", "ended"), [("0", 0), ("2", 2)])
def test_other_versions_of_torch_are_listed_and_judged_by_nobody(
    tmp_path: Path, listed: str, ended: int
) -> None:
    one = change(tmp_path, FAKE_COMPARE="2", FAKE_ANY=listed)
    assert one.run("ci.yml", "compare") == ended
    assert b"## listed" in one.summary()


def test_a_base_that_cannot_be_measured_is_no_fault_of_the_change(tmp_path: Path) -> None:
    one = change(tmp_path, FAKE_BASE="4")
    assert one.run("ci.yml", "compare") == 0
    assert turns(one) == "B"
    assert not any("harness compare" in call for call in one.calls())
    assert b"The base branch cannot be measured here" in one.summary()


def test_a_head_that_cannot_be_measured_fails(tmp_path: Path) -> None:
    one = change(tmp_path, FAKE_MEASURE="4")
    assert one.run("ci.yml", "compare") == 1
    assert turns(one) == "BH"


def test_a_cell_that_disagrees_is_left_to_the_comparison(tmp_path: Path) -> None:
    one = change(tmp_path, FAKE_MEASURE="1", FAKE_BASE="1")
    assert one.run("ci.yml", "compare") == 0
    assert turns(one) == "BHHBBH"
