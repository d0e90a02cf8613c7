from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.records.store import Run
from harness.report.terminal import print_view
from harness.report.view import View, make_view
from tests.support import fixed_views as stubs
from tests.support import golden
from tests.support.made_runs import full_cells, write_cut, write_run

REPORT = Path("reports/made/README.md")


def printed(view: View, **options: object) -> str:
    file = io.StringIO()
    print_view(view, REPORT, Console(file=file, **options))  # type: ignore[arg-type]
    return file.getvalue()


def widest(text: str) -> int:
    return max(len(line) for line in text.splitlines())


def test_the_summary_is_as_it_was(made: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(stubs.stub_view(made, monkeypatch))
    golden.check("summary.txt", text)
    assert widest(text) <= 100
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_a_terminal_of_any_width_is_not_overrun(
    width: int, made: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = stubs.stub_view(made, monkeypatch)
    text = printed(view, width=width, force_terminal=True, color_system=None)
    assert widest(text) <= min(width, 100)
    assert "naive" in text
    assert "T=4096" in text


def test_real_verdicts_fit(judged: View) -> None:
    text = printed(judged)
    assert widest(text) <= 100
    assert text.rstrip().endswith("Report: reports/made/README.md")
    assert "C1 " in text


def test_a_cut_run_and_an_empty_one(tmp_path: Path) -> None:
    cut = printed(make_view(write_cut(tmp_path / "cut", 5)))
    assert "not whole" in cut
    assert "Cells" in cut
    empty = printed(make_view(write_run(tmp_path / "empty", cells=[])))
    assert "Cells: none" in empty


def test_markup_and_escape_codes_in_names_are_plain_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, samples = full_cells()[0]
    hostile = type(record)(**record.as_dict() | {"backend": "[red]x\x1b[31m", "flags": "[b]odd"})
    run = write_run(tmp_path / "odd", cells=[(hostile, samples)])
    text = printed(stubs.stub_view(run, monkeypatch))
    assert "\x1b" not in text
    assert "[red]x[31m" in text
    assert "[b]odd" in text
