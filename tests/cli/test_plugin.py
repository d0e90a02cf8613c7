"""The one door to measuring, used as a user would: real pytest runs in processes of their own."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from harness.records.store import load_run
from tests.support.run_suite import ROOT, TINY, Ended, command, folder_of_run, run_one_by_one

# What is wrong, and what is said of it.
WRONG = {
    "--attn-backends nave": "unknown backend 'nave'; valid: naive, rowwise",
    "--attn-grid quik": "unknown grid 'quik'; valid: full, nightly, quick",
    "--attn-device gpu": "unknown device 'gpu'; valid: auto, cpu, cuda, cuda:N",
    "--attn-replicas 0": "--attn-replicas must be",
    "--attn-precision x": "--attn-precision must be a number above 0, not 'x'",
    "--attn-pool rya": "unknown pool 'rya'; valid: local, inline",
    "--attn-extra-backend planted": "an extra backend is MODULE:ATTR, not 'planted'",
    "--attn-results /proc/nowhere": "/proc/nowhere",
}
NAMES = "--collect-only -q -k"


def test_a_run_writes_every_file(measured: tuple[Path, str]) -> None:
    folder = folder_of_run(measured[0])
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "run.json", "journal.jsonl", "cells.csv", "cells.parquet", "samples.parquet",
        "benchmark.json", "verdicts.json", "conformance.csv",
    }  # fmt: skip
    facts = json.loads((folder / "run.json").read_text())
    assert facts["complete"] is True
    assert facts["fingerprint"].startswith("cpu-")
    report = measured[0] / "reports" / folder.name
    assert (report / "README.md").is_file()
    assert list((report / "figures").glob("*.png"))


def test_every_cell_has_a_row_and_a_status(measured: tuple[Path, str]) -> None:
    table = load_run(folder_of_run(measured[0])).table
    assert table["status"].value_counts().to_dict() == {"ok": 8, "unavailable": 4}
    ok = table[table["status"] == "ok"]
    assert ok["agrees"].all()
    assert (ok["time_low_s"] <= ok["time_median_s"]).all()
    assert (ok["time_median_s"] <= ok["time_high_s"]).all()
    assert (ok["replicas"] == 2).all()
    assert ok["peak_bytes"].notna().all()
    assert table[table["status"] == "unavailable"]["reason"].notna().all()
    assert table[table["status"] == "unavailable"]["time_median_s"].isna().all()


def test_pytest_benchmarks_file_holds_the_same_medians(measured: tuple[Path, str]) -> None:
    folder = folder_of_run(measured[0])
    text = (folder / "benchmark.json").read_text()
    entries = {
        entry["extra_info"]["cell"]: entry
        for entry in json.loads(text, parse_constant=lambda word: pytest.fail(word))["benchmarks"]
    }
    samples = pd.read_parquet(folder / "samples.parquet").groupby("cell")["seconds"]
    assert len(entries) == 8
    for cell, seconds in samples:
        assert entries[str(cell)]["stats"]["median"] == pytest.approx(seconds.median(), rel=1e-9)
        assert entries[str(cell)]["stats"]["rounds"] == len(seconds)


def test_behaviours_are_asked_and_known_faults_do_not_fail(measured: tuple[Path, str]) -> None:
    table = load_run(folder_of_run(measured[0])).conformance
    assert set(table["backend"]) == {"naive", "sdpa", "torch"}, "sdpa-cudnn is not there to ask"
    assert set(table["verdict"]) == {"conforms", "deviates", "refuses"}
    faults = table[table["verdict"] == "deviates"]
    assert faults["reason"].str.startswith("known: ").all()
    assert "empty-row" in set(faults.loc[faults["backend"] == "naive", "behaviour"])
    report = measured[0] / "reports" / folder_of_run(measured[0]).name / "README.md"
    assert "| empty-row | D |" in report.read_text(encoding="utf-8")


def test_the_summary_fits_100_columns(measured: tuple[Path, str]) -> None:
    lines = measured[1].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("Time"))
    assert max(len(line) for line in lines[start:-1]) <= 100
    text = measured[1]
    for word in ("Peak memory", "naive", "sdpa", "ok 8", "unavailable 4", "README.md"):
        assert word in text, word


@pytest.fixture(scope="module")
def unmeasured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """What runs say that measure nothing; none of them leaves a folder of results."""
    folder = tmp_path_factory.mktemp("unmeasured")
    options = {one: one.split() for one in WRONG}
    options[NAMES] = [*NAMES.split(), "sdpa-flash and t32 and causal"]
    ended = run_one_by_one(*(command(folder, *words) for words in options.values()))
    assert not (folder / "results").exists()
    return dict(zip(options, ended, strict=True))


@pytest.mark.parametrize("option", WRONG)
def test_a_wrong_option_is_one_line_and_changes_no_file(
    unmeasured: dict[str, Ended], option: str
) -> None:
    code, text = unmeasured[option]
    assert code == 4, text
    assert WRONG[option] in text
    assert "Traceback" not in text


def test_names_select_cells(unmeasured: dict[str, Ended]) -> None:
    names = re.findall(r"\[(.*)\]", unmeasured[NAMES].text)
    assert names == ["sdpa-flash.fwd-t32-h2-d8-f32-causal"]


def test_ten_thousand_cells_are_collected_in_3_seconds_without_torch(tmp_path: Path) -> None:
    lengths = ", ".join(str(8 * n) for n in range(1, 626))
    grid = TINY.replace("length = [16, 32]", f"length = [{lengths}]")
    code = (
        "import sys, time; begin = time.process_time(); import pytest;"
        "code = pytest.main(sys.argv[1:]);"
        "print('seconds', time.process_time() - begin, 'torch' in sys.modules); sys.exit(code)"
    )
    words = command(
        tmp_path, "--collect-only", "-qq", "-p", "no:hypothesispytest", "--attn-backends",
        "naive,tiled,sdpa,sdpa-math,sdpa-flash,sdpa-efficient,sdpa-cudnn,xformers",
        grid=grid,
    )  # fmt: skip
    # Processor time, not wall time: the machine that tests may be busy with other things.
    done = subprocess.run(
        [sys.executable, "-c", code, *words[3:]], cwd=ROOT, capture_output=True, text=True
    )
    assert "test_length.py: 10000" in done.stdout, done.stdout + done.stderr
    seconds, torch = re.findall(r"seconds ([\d.]+) (\w+)", done.stdout)[0]
    assert torch == "False"
    assert float(seconds) < 3, f"took {seconds} s of processor time"
