"""The examples of CONTRIBUTING.md, followed to the letter in a copy of the project."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

STEP = re.compile(
    r"(?:Write|In)\s+`(?P<path>[^`]+)`(?:,\s+after\s+`(?P<after>[^`]+)`)?:\n\n```python\n"
    r"(?P<code>.*?)```",
    re.DOTALL,
)
GRID = """
target = 0.5
cap_s = 0.01
replicas = 1
timeout_s = 60.0
[base]
heads = 2
dim = 8
[[series]]
suite = "length"
length = 16
mask = ["full", "window-bottom-right"]
window = 4
page = [16, 32]
"""
RULES = """
from harness.attention.backends import BACKENDS
from harness.attention.inputs import keep_mask
from harness.cases.case import Case

for rows, keys in ((9, 9), (5, 12), (12, 5)):
    case = Case(length_query=rows, length_key=keys, batch=2, mask="window-bottom-right", window=3)
    keep = keep_mask(case).expand(2, 1, rows, keys)
    assert case.pairs() == int(keep.sum()), case
    for entry, kept in enumerate(case.kept_keys()):
        for row in range(rows):
            start, stop = case.key_span(row, kept=kept)
            assert [start <= key < stop for key in range(keys)] == keep[entry, 0, row].tolist()
case = Case.square(8, mask="window-bottom-right", window=3, page=16)
assert case.id == "fwd-t8-h4-d64-p16-f32-window-br3", case.id
assert BACKENDS["flash-attn"].refusal(case) == "it has no mask window-bottom-right"
"""


def steps() -> list[re.Match[str]]:
    return list(STEP.finditer((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))


def follow(copy: Path, step: re.Match[str]) -> None:
    """Write a file that is new, or put lines after the one line that the text names."""
    path, after, code = copy / step["path"], step["after"], step["code"]
    if after is None:
        assert not path.exists(), path
        path.write_text(code, encoding="utf-8")
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    [place] = [number for number, line in enumerate(lines) if after in line]
    lines.insert(place + 1, code)
    path.write_text("".join(lines), encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which every example has been followed."""
    folder = tmp_path_factory.mktemp("contributing")
    skip = shutil.ignore_patterns("__pycache__")
    for name in ("harness", "suites", "results/sample-cpu"):
        shutil.copytree(ROOT / name, folder / name, ignore=skip)
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    for step in steps():
        follow(folder, step)
    return folder


def run(copy: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words], cwd=copy, capture_output=True, text=True, timeout=300
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def cells(copy: Path) -> list[dict[str, str]]:
    """The cells of a run in that copy."""
    (copy / "tiny.toml").write_text(GRID)
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "suites/test_length.py", "--benchmark-only",
            "-p", "no:cacheprovider", "--attn-grid", "tiny.toml", "--attn-device", "cpu",
            "--attn-backends", "naive,rowwise,einsum", "--attn-results", "measured",
            "--attn-reports", "written",
        ],
        cwd=copy, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    with next((copy / "measured").glob("*/cells.csv")).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_each_example_takes_as_many_files_and_places_as_its_heading_says() -> None:
    touched = [(step["path"], step["after"] is None) for step in steps()]
    assert len(touched) == 13
    assert sum(new for _, new in touched) == 4
    assert all((ROOT / path).exists() != new for path, new in touched)


def test_a_backend_is_checked_and_measured(cells: list[dict[str, str]]) -> None:
    own = [cell for cell in cells if cell["backend"] == "einsum"]
    assert len(own) == 4
    assert {cell["status"] for cell in own} == {"ok"}


def test_a_claim_is_judged_by_the_measured_run(copy: Path) -> None:
    told = json.loads(run(copy, "-m", "harness", "claims", "sample-cpu", "--json"))
    own = [one for one in told if one["claim"] == "D-rowwise-time"]
    assert {one["series"]["backend"] for one in own} == {"rowwise"}
    assert any(one["verdict"] in ("supported", "refuted", "inconclusive") for one in own)


def test_a_column_is_recorded(cells: list[dict[str, str]]) -> None:
    assert {cell["contiguous"] for cell in cells} <= {"True", "False"}
    assert {cell["contiguous"] for cell in cells if cell["backend"] == "naive"} == {"True"}


def test_a_mask_follows_from_its_entry(copy: Path, cells: list[dict[str, str]]) -> None:
    run(copy, "-W", "error", "-c", RULES)
    masked = [cell for cell in cells if cell["mask"] == "window-bottom-right"]
    assert len(masked) == 6
    assert {cell["status"] for cell in masked} == {"ok"}


def test_an_axis_keeps_cells_apart(cells: list[dict[str, str]]) -> None:
    assert {cell["page"] for cell in cells} == {"16", "32"}
    assert len({cell["cell"] for cell in cells}) == len(cells) == 3 * 2 * 2
    assert all(f"-p{cell['page']}-" in cell["cell"] for cell in cells)


def test_a_figure_stands_in_its_section(copy: Path, cells: list[dict[str, str]]) -> None:
    [report] = (copy / "written").iterdir()
    text, image = (report / "README.md").read_text(encoding="utf-8"), "figures/outcomes.png"
    assert f"## Outcomes\n\nEvery cell has one outcome.\n\n![outcomes]({image})\n" in text
    assert (report / image).stat().st_size > 5000


def test_a_command_answers(copy: Path) -> None:
    assert run(copy, "-m", "harness", "count", "sample-cpu") == "642\n"
    assert "Say how many cells a run has." in run(copy, "-m", "harness", "--help")
