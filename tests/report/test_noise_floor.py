"""The listing of an A/A run: the worst first, what cannot be tracked, what has no figure."""

import io
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from harness.records.noise import COLUMNS
from harness.records.store import Run
from harness.report.tables.noise import noise_listing, noise_rows

LONG = "prefix-passes.sequence-fwd-t4096-h16-d128-f32-causal-padding"


def noise(*rows: dict[str, Any]) -> pd.DataFrame:
    usual = {
        "cell": "naive.a", "ratio": 1.004, "low": 0.98, "high": 1.03, "floor_within": 0.025,
        "floor_between": 0.031, "smallest_change": 0.124, "spread": 0.0136, "replicas": 3,
        "samples": 40, "noisy": False,
    }  # fmt: skip
    return pd.DataFrame([usual | row for row in rows], columns=list(COLUMNS)).astype(COLUMNS)


def shown(table: pd.DataFrame, *missing: tuple[str, str]) -> list[str]:
    cells = [(cell, "ok") for cell in table["cell"]] + list(missing)
    labels = [(cell.replace(".", f"{twin}.", 1), s) for cell, s in cells for twin in ("", "~twin")]
    run = pd.DataFrame(labels, columns=["cell", "status"])
    run["backend"] = run["cell"].str.partition(".")[0]
    console = Console(width=100, file=io.StringIO())
    console.print(noise_listing(Run(Path("results/made"), {}, run, run), table), markup=False)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_figures_are_what_the_table_says() -> None:
    lines = shown(noise({}))
    assert lines[1].split() == [
        "naive.a", "1.00×", "[0.98,", "1.03]", "2.5", "%", "3.1", "%", "12", "%",
    ]  # fmt: skip
    assert "No cell of 1 is noisier than 10 % between runs: all can be tracked." in lines
    assert lines[-1] == "Written to results/made"


def test_the_worst_comes_first_and_is_counted() -> None:
    quiet = {"cell": "naive.quiet", "floor_between": 0.02}
    worst = {"cell": "naive.worst", "floor_between": 0.4, "noisy": True}
    bad = {"cell": "naive.bad", "floor_between": 0.11, "noisy": True}
    lines = shown(noise(quiet, worst, bad))
    assert [line.split()[0] for line in lines[1:4]] == ["naive.worst", "naive.bad", "naive.quiet"]
    assert "2 of 3 cells noisier than 10 % between runs: they cannot be tracked." in lines
    rows = noise_rows(noise(quiet, worst, bad))
    assert [row["cell"] for row in rows] == ["naive.worst", "naive.bad", "naive.quiet"]
    assert json.loads(json.dumps(rows, allow_nan=False))[0]["noisy"] is True


def test_hopeless_figures_stay_short_and_long_names_whole() -> None:
    wild = {"cell": LONG, "low": 0.0123, "high": 168.95, "floor_within": 85.6}
    wild |= {"floor_between": 17.22, "smallest_change": 26517.95, "noisy": True}
    lines = shown(noise(wild))
    assert max(map(len, lines)) <= 100
    assert lines[1].count("> 1,000 %") == 3
    names = "".join(line.split(" ")[0] for line in lines[1:3])
    assert names == LONG


@pytest.mark.parametrize(
    ("missing", "line"),
    [
        ([("xformers.a", "unavailable")], "1 cell has no figure: 1 unavailable."),
        (
            [("x.a", "unavailable"), ("x.b", "unavailable"), ("y.a", "crashed"), ("z.a", "ok")],
            "4 cells have no figure: 2 unavailable, 1 crashed, 1 timed by too few processes.",
        ),
    ],
)
def test_cells_without_a_figure_are_counted_once(
    missing: list[tuple[str, str]], line: str
) -> None:
    assert line in shown(noise({}), *missing)


def test_nothing_at_all_is_said() -> None:
    lines = shown(noise(), ("x.a", "unavailable"))
    assert "No cell was timed in three processes: nothing can be said of noise here." in lines
    assert not any(line.startswith("cell ") for line in lines)
