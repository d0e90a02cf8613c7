"""The command `export`, as a user types it."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from harness.cli.export import Format, export
from tests.support.exported_run import write_run
from tests.support.junit_formats import check_junit

APP = typer.Typer()
APP.command("export")(export)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return write_run(tmp_path / "results" / "made").parent


def call(*words: str) -> Result:
    return CliRunner().invoke(APP, list(words))


@pytest.mark.parametrize("form", list(Format))
def test_standard_output_holds_the_file_and_nothing_else(results: Path, form: Format) -> None:
    done = call("made", "--results", str(results), "--format", form.value)
    assert done.exit_code == 0, done.output
    content: Any = check_junit(done.stdout) if form is Format.JUNIT else json.loads(done.stdout)
    assert len(content) > 0


def test_a_file_is_written_whole(results: Path, tmp_path: Path) -> None:
    path = tmp_path / "cells.json"
    done = call("made", "--results", str(results), "--format", "json", "--out", str(path))
    assert (done.exit_code, done.stdout) == (0, "")
    assert len(json.loads(path.read_text(encoding="utf-8"))) == 9
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_a_folder_that_is_not_there_is_said_in_one_line(results: Path) -> None:
    done = call("made", "--results", str(results), "--format", "json", "--out", "nowhere/x.json")
    assert isinstance(done.exception, ValueError)
    assert str(done.exception) == "cannot write nowhere/x.json: there is no folder nowhere"


def test_a_wrong_format_names_the_right_ones(results: Path) -> None:
    done = call("made", "--results", str(results), "--format", "csv")
    assert done.exit_code == 2
    for form in Format:
        assert form.value in done.output
