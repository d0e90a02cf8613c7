"""The folder of pages: whole, without a network, and never laid over what is not a site."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from harness.cli.export import site as site_command
from harness.report.site.build import build_site
from harness.report.site.core import SYMBOLS, backend_style, dash, newest_run
from harness.report.site.matrix import load_runs
from tests.support.made_runs import write_run


def taken(site: Path, name: str) -> Any:
    """Return what a data file hands over."""
    text = (site / "data" / f"{name}.js").read_text()
    return json.loads(json.loads(text.removeprefix(f'site.take("{name}",').removesuffix(");\n")))


def test_every_file_that_the_page_names_is_there(site: Path) -> None:
    page = (site / "index.html").read_text()
    named = re.findall(r'(?:src|href)="((?:assets|data)/[^"]+)"', page)
    assert len(named) > 10
    assert all((site / name).is_file() for name in named)
    assert (site / "assets" / "plotly.min.js").stat().st_size > 1e6


def test_pages_name_no_address_of_the_network(site: Path) -> None:
    own = [path for path in site.rglob("*") if path.is_file() and "plotly" not in path.name]
    assert len(own) > 20
    for path in own:
        assert not re.search(r"(?:https?:)?//[a-z]+\.[a-z]", path.read_text()), path
    assert "default-src 'none'" in (site / "index.html").read_text()


def test_nothing_of_the_pages_is_read_as_markup() -> None:
    doors = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(")
    for asset in files("harness.report.site").joinpath("assets").iterdir():
        assert not [door for door in doors if door in asset.read_text()], asset.name


def test_the_lists_of_all_pages(site: Path, history: Path) -> None:
    core = taken(site, "core")
    assert core["runs"]["name"] == sorted(path.parent.name for path in history.glob("*/run.json"))
    assert len(core["cells"]["name"]) == 60
    assert core["runs"]["ok"][-1] == 57
    assert core["runs"]["failed"][-1] == 1
    assert core["claims"]["C1"] == "dense attention's time grows as T², fused or not"


def test_a_verdict_that_changed_says_what_it_was(history: Path) -> None:
    runs, _ = load_runs(history)
    made = newest_run(runs[-1], runs[-2])
    changed = [(row["verdict"], old) for row, old in zip(made["verdicts"], made["before"],
               strict=True) if old]  # fmt: skip
    assert len(changed) == 1
    assert changed[0][0] == "refuted"
    assert changed[0][1] != "refuted"
    assert not any(newest_run(runs[-1], None)["before"])


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", '[{"claim": "C1"}]', '{"a": 1}', "null"])
def test_verdicts_that_cannot_be_read_are_none(tmp_path: Path, text: str) -> None:
    write_run(tmp_path / "run")
    (tmp_path / "run" / "verdicts.json").write_text(text)
    assert newest_run(load_runs(tmp_path)[0][0], None)["verdicts"] == []


def test_an_older_site_is_replaced_whole(history: Path, tmp_path: Path) -> None:
    build_site(history, tmp_path / "site")
    (tmp_path / "site" / "data" / "cells-99.js").write_text("old")
    write_run(tmp_path / "results" / "one")
    build_site(tmp_path / "results", tmp_path / "site")
    assert not (tmp_path / "site" / "data" / "cells-99.js").exists()
    assert taken(tmp_path / "site", "core")["runs"]["name"] == ["one"]


def test_what_is_no_site_is_left_alone(history: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match="holds something else than a site"):
        build_site(history, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(ValueError, match="is a file"):
        build_site(history, tmp_path / "thesis.tex")


def test_a_folder_without_runs_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no run to show in"):
        build_site(tmp_path / "empty", tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_looks_are_those_of_the_report() -> None:
    assert backend_style("sdpa-flash") == {
        "name": "sdpa-flash", "colour": "#0072b2", "symbol": "circle", "dash": "solid",
    }  # fmt: skip
    assert dash((4, 1.5)) == "8px,3px"
    assert {backend_style(f"mine-{number}")["symbol"] for number in range(50)} <= set(
        SYMBOLS.values()
    )


def test_the_command_says_what_it_made_and_what_it_left_out(tmp_path: Path) -> None:
    write_run(tmp_path / "results" / "good")
    (tmp_path / "results" / "torn").mkdir()
    (tmp_path / "results" / "torn" / "run.json").write_text("{")
    app = typer.Typer()
    app.command()(site_command)
    words = [str(tmp_path / "results"), "--out", str(tmp_path / "site")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "1 run, " in done.output.replace("\n", " ")
    assert "left out: " in done.output
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert (told["runs"], len(told["without"])) == (1, 1)


def test_pages_are_built_without_torch() -> None:
    code = (
        "import sys, harness.report.site.build, harness.report.site.core, plotly.offline\n"
        "import harness.analysis.claims\n"
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
