"""`compare` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from harness.cli.compare import compare
from tests.support.histories import Plant, write_history

PLANTS = [
    Plant("slower", 2, 3, 0.3), Plant("bigger", 2, 4, 0.5), Plant("gone", 2, 5),
    Plant("broken", 2, 6), Plant("era", 3),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("results")
    write_history(results, nights=4, cells=120, plants=PLANTS)
    return results


@pytest.fixture(scope="module")
def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def code(*runs: str, folder: Path, **options: object) -> int:
    try:
        compare(*runs, results=str(folder), **options)  # type: ignore[arg-type]
    except typer.Exit as end:
        return int(end.exit_code)
    return 0


def test_nothing_changed_is_exit_0(
    folder: Path, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert code(names[0], names[1], folder=folder) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("No regression in 120 cells")
    assert "beyond 5%" in printed


def test_findings_come_first_and_worst_first(
    folder: Path, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert code(names[1], names[2], folder=folder) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("Worse: 1 broken, 1 gone, 1 slower, 1 bigger of 120 cells")
    order = [printed.index(f"\n{word} ") for word in ("broken", "gone", "slower", "bigger")]
    assert order == sorted(order)
    for said in ("crashed: signal 11 (SIGSEGV)", "not in the run", "(+50.0 %)", "1.3"):
        assert said in printed
    assert max(map(len, printed.splitlines())) <= 100
    assert "\nsame " not in printed


def test_all_shows_every_cell(
    folder: Path, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code(names[1], names[2], folder=folder, every=True)
    assert capsys.readouterr().out.count("\nsame ") > 80


@pytest.mark.parametrize(
    ("fail_on", "ended"), [("slower", 1), ("bigger", 1), ("fixed,new", 0), ("", 0), ("gone", 1)]
)
def test_fail_on_says_what_is_a_failure(
    folder: Path, names: list[str], fail_on: str, ended: int
) -> None:
    assert code(names[1], names[2], folder=folder, fail_on=fail_on) == ended


def test_an_unknown_word_is_refused(folder: Path, names: list[str]) -> None:
    with pytest.raises(ValueError, match="unknown word 'slow' in --fail-on; valid: broken, gone"):
        code(names[1], names[2], folder=folder, fail_on="slow")


def test_two_machines_are_refused_and_never_a_regression(
    folder: Path, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=r"are of two machines .*--any-device"):
        code(names[1], names[3], folder=folder)
    assert code(names[1], names[3], folder=folder, any_device=True) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Two machines, so no difference is a regression")
    assert "torch 2.13.0 to 2.14.0" in printed


def test_json_holds_every_cell(
    folder: Path, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert code(names[1], names[2], folder=folder, as_json=True) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["counts"]["slower"] == 1
    assert len(told["cells"]) == 120
    slower = next(row for row in told["cells"] if row["verdict"] == "slower")
    assert slower["low"] < 1.3 < slower["high"]


def test_markdown_is_for_a_pull_request(
    folder: Path, names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert code(names[1], names[2], folder=folder, markdown=True) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("**Worse: 1 broken")
    assert "| verdict | cell |" in printed


def test_markdown_never_outgrows_a_comment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plants = [Plant("slower", 1, cell, 0.5) for cell in range(700)]
    names = write_history(tmp_path, nights=2, cells=700, plants=plants)
    assert code(*names, folder=tmp_path, markdown=True) == 1
    printed = capsys.readouterr().out
    assert 50_000 < len(printed.encode()) < 60_000
    assert "more rows are not shown here" in printed
    assert f"attnbench compare {names[0]} {names[1]} --all" in printed
