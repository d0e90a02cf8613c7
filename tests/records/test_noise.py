"""The files of A/A runs: whose noise counts on this machine, and whose does not."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from harness.analysis.tracking.change import between_floor
from harness.analysis.tracking.noise import noise_floors
from harness.records.noise import (
    COLUMNS,
    is_twin,
    noise_facts,
    noise_spreads,
    read_noise,
    spreads_of,
    twin_of,
    with_twins,
    write_noise,
)
from harness.records.record import SCHEMA_VERSION

HERE = "cpu-here"


def table(spreads: dict[str, float], *, replicas: int = 3) -> pd.DataFrame:
    rows = [
        dict.fromkeys(COLUMNS, 0.5)
        | {
            "cell": cell, "spread": spread, "replicas": replicas, "samples": 30, "noisy": False,
            "floor_between": between_floor(spread, replicas),
        }
        for cell, spread in spreads.items()
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def aa_run(results: Path, name: str, spreads: dict[str, float], **facts: Any) -> Path:
    folder = results / name
    folder.mkdir(parents=True)
    known = {"schema": SCHEMA_VERSION, "kind": "noise", "fingerprint": HERE, "started": name}
    (folder / "run.json").write_text(json.dumps(known | facts))
    write_noise(folder, table(spreads))
    return folder


def test_a_twin_is_the_same_backend_under_a_second_name() -> None:
    backend = object()
    assert with_twins({"naive": backend}) == {"naive": backend, "naive~twin": backend}
    assert is_twin(twin_of("sdpa-flash"))
    assert not is_twin("sdpa-flash")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    folder = aa_run(tmp_path, "1", {"naive.a": 0.012345678901234567, "sdpa.b": 0.003})
    pd.testing.assert_frame_equal(
        read_noise(folder), table({"naive.a": 0.012345678901234567, "sdpa.b": 0.003})
    )


def test_an_a_a_run_without_a_cell_is_read_back(tmp_path: Path) -> None:
    assert read_noise(aa_run(tmp_path, "1", {})).empty
    assert noise_floors(tmp_path, HERE) == {}


def test_the_newest_a_a_run_of_this_machine_counts_cell_by_cell(tmp_path: Path) -> None:
    aa_run(tmp_path, "1", {"naive.a": 0.01, "naive.old": 0.04})
    aa_run(tmp_path, "3", {"naive.a": 0.02, "naive.new": 0.03})
    aa_run(tmp_path, "2", {"naive.a": 0.05})
    aa_run(tmp_path, "4", {"naive.a": 0.06}, fingerprint="cpu-elsewhere")
    aa_run(tmp_path, "5", {"naive.a": 0.07}, kind="measurement")
    expected = {"naive.a": 0.02, "naive.old": 0.04, "naive.new": 0.03}
    assert noise_spreads(tmp_path, HERE) == pytest.approx(expected)
    assert noise_floors(tmp_path, HERE) == pytest.approx(
        {cell: between_floor(spread, 3) for cell, spread in expected.items()}
    )
    assert noise_floors(tmp_path, HERE, replicas=12)["naive.a"] == between_floor(0.02, 12)
    assert noise_floors(tmp_path, "cpu-unheard-of") == {}
    assert noise_floors(tmp_path / "none", HERE) == {}


def test_broken_runs_are_passed_over(tmp_path: Path) -> None:
    aa_run(tmp_path, "1", {"naive.a": 0.01})
    (aa_run(tmp_path, "2", {}) / "noise.csv").write_text("cell,ratio\nnaive.a,1.0\n")
    (aa_run(tmp_path, "3", {}) / "noise.csv").write_text("")
    (aa_run(tmp_path, "4", {}) / "noise.csv").write_text(f"{','.join(COLUMNS)}\na,,,,,,,,,,\n")
    (aa_run(tmp_path, "5", {"naive.a": 0.5}) / "run.json").write_text("{ half")
    (aa_run(tmp_path, "6", {"naive.a": 0.5}) / "run.json").unlink()
    assert noise_spreads(tmp_path, HERE) == {"naive.a": 0.01}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is no A/A run: measure one with `attnbench doctor --noise`"),
        ("cell,ratio\nnaive.a,1.0\n", r"lacks the columns \['low', 'high', .*'noisy'\]"),
        ("", "cannot be read: No columns"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "noise.csv").write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        read_noise(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_run_keeps_the_spreads_of_its_own_cells(tmp_path: Path) -> None:
    aa_run(tmp_path, "1", {"naive.a": 0.01, "naive.b": 0.02})
    facts = noise_facts(tmp_path, HERE, cells=["naive.b", "naive.c"])
    assert facts == {"spreads": {"naive.b": 0.02}}
    assert spreads_of({"noise": json.loads(json.dumps(facts))}) == {"naive.b": 0.02}
    assert noise_facts(tmp_path, HERE, cells=["naive.c"]) == {}


@pytest.mark.parametrize("facts", [{}, {"noise": None}, {"noise": {}}, {"noise": {"spreads": 3}}])
def test_a_run_that_knew_of_no_noise_has_no_spreads(facts: dict[str, Any]) -> None:
    assert spreads_of(facts) == {}
