"""A run that looks slower than its past is measured again: the candidates, and quiet controls."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from harness.records.store import load_run
from tests.support.run_suite import TINY, Ended, command, folder_of_run, run, run_one_by_one

NIGHTS = 14
ASK = ("--attn-backends", "naive,sdpa", "-k", "not behaviour", "--attn-replicas", "3")


@pytest.fixture(scope="module")
def tracked(measured: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run, and a made-up past in which naive took half the time."""
    folder = tmp_path_factory.mktemp("tracked")
    shutil.copytree(measured[0] / "results", folder / "results")
    last = folder_of_run(folder)
    drawn = np.random.default_rng(0)
    for night in range(NIGHTS):
        past = last.with_name(f"20260101-0000{night:02}-cpu-tiny")
        past.mkdir()
        facts = json.loads((last / "run.json").read_text())
        facts |= {"run": past.name, "started": f"2026-01-{night + 1:02}T00:00:00+00:00"}
        (past / "run.json").write_text(json.dumps(facts))
        table = pd.read_parquet(last / "cells.parquet")
        factor = np.where(table["backend"] == "naive", 0.5, 1.0)
        factor *= np.exp(drawn.normal(0, 0.01, len(table)))
        for name in ("time_median_s", "time_low_s", "time_high_s", "time_min_s"):
            table[name] = table[name] * factor
        table["replica_medians_s"] = [
            None if values is None else [value * times for value in values]
            for values, times in zip(table["replica_medians_s"], factor, strict=True)
        ]
        table["run"] = past.name
        table.to_parquet(past / "cells.parquet", index=False)
    return folder


@pytest.fixture(scope="module")
def unmeasured(tracked: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """What is said where there is nothing to look at again, or no telling what."""
    alone, other = (tmp_path_factory.mktemp(name) for name in ("alone", "other"))
    last = folder_of_run(tracked)
    shutil.copytree(last, alone / "results" / last.name)
    results = ("--attn-results", str(tracked / "results"))
    look = (*ASK, "--attn-confirm", last.name)
    commands = {
        "grid": command(other, *look, *results, grid=TINY.replace("32]", "48]")),
        "name": command(tracked, *ASK, "--attn-confirm", "nowhere"),
        "nothing": command(alone, *look),
    }
    ended = dict(zip(commands, run_one_by_one(*commands.values()), strict=True))
    assert len(list((alone / "results").glob("*/run.json"))) == 1
    return ended


def test_candidates_and_controls_alone_are_measured_again(tracked: Path) -> None:
    last = folder_of_run(tracked)
    done = run(tracked, *ASK, "--attn-confirm", last.name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert folder_of_run(tracked) == last, "a second look is not the newest run"
    again = next(tracked.glob("results/*-confirm-*"))
    found = load_run(again)
    assert found.facts["confirms"] == last.name
    cells = set(found.table["cell"])
    naive = {cell for cell in cells if cell.startswith("naive.")}
    assert len(naive) == 4, "every cell that takes twice as long"
    controls = cells - naive
    assert 1 <= len(controls) <= 5
    assert all(cell.startswith("sdpa.") for cell in controls)
    assert (found.table["replicas"] == 3).all()


def test_another_grid_is_refused(unmeasured: dict[str, Ended], tracked: Path) -> None:
    code, text = unmeasured["grid"]
    assert code == 4
    assert f"{folder_of_run(tracked).name} was measured on another grid than 'tiny'" in text


def test_an_unknown_run_is_one_line(unmeasured: dict[str, Ended]) -> None:
    code, text = unmeasured["name"]
    assert code == 4
    assert "no run 'nowhere' in " in text


def test_a_run_without_candidates_needs_no_second_look(
    unmeasured: dict[str, Ended], tracked: Path
) -> None:
    code, text = unmeasured["nothing"]
    assert code == 0, text
    assert f"nothing to confirm in {folder_of_run(tracked).name}" in text
