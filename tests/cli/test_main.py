"""The command line, as a user types it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.attention.backends import BACKENDS
from harness.cases.case import Case, cell_name
from harness.records.record import Record
from harness.records.writer import RunWriter, new_folder
from tests.support import ROOT
from tests.support.run_command import ask, ask_process


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of naive whose time is 1 µs a pair and whose memory is two score matrices."""
    folder = tmp_path_factory.mktemp("results")
    writer = RunWriter(new_folder(folder, "cpu-made"), {"device": "cpu", "started": "2026-01-01"})
    for length in (64, 128, 256, 512, 1024, 2048, 4096):
        case = Case.square(length)
        seconds = 1e-9 * case.pairs()
        writer.append(
            Record(
                **case.as_dict(),
                run=writer.folder.name,
                cell=cell_name("naive", case),
                backend="naive",
                status="ok",
                agrees=True,
                time_median_s=seconds,
                time_low_s=seconds,
                time_high_s=seconds,
                replica_medians_s=(seconds, seconds, seconds),
                replicas=3,
                samples=9,
                peak_bytes=2 * case.score_bytes(),
                flops=case.flops(),
            ),
            [[seconds] * 3] * 3,
        )
    writer.announce()
    writer.finish(complete=True)
    return folder


def test_every_command_has_help_with_an_example() -> None:
    listed = ask_process("--help").out
    names = "explain backends grid doctor report claims show export site compare history"
    for name in names.split():
        assert name in listed
        assert "Example: attnbench" in ask(name, "--help").out, name


def test_commands_and_plugin_start_light() -> None:
    code = (
        "import sys, harness.__main__, harness.plugin;"
        "print([name for name in ('pandas', 'scipy', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_backends_are_listed_with_true_reasons() -> None:
    done = ask("backends", "--device", "cpu", "--json")
    assert done.code == 0, done.err
    reasons = {row["backend"]: row["reason"] for row in json.loads(done.out)}
    assert list(reasons) == list(BACKENDS)
    for name in ("naive", "rowwise", "tiled", "sdpa", "sdpa-math", "sdpa-flash"):
        assert reasons[name] is None, name
    for name in ("sdpa-cudnn", "sdpa-efficient", "xformers", "flash-attn", "flash-attn-4"):
        assert reasons[name], name
        assert "\n" not in reasons[name]
    assert "warn" not in done.err.lower()


def test_the_worked_example_is_explained_with_every_answer() -> None:
    done = ask("explain", "--device", "cpu")
    assert done.code == 0, done.err
    for words in ("0.1667 = 1/6", "5.6667 = 17/3", "0.6667 = 2/3", "3.3333 = 10/3", "-inf"):
        assert words in done.out, words
    for name in ("naive", "rowwise", "tiled", "sdpa-math", "sdpa-flash"):
        assert re.search(rf"{name} +float64 +5.66667, 6.42857, 6.94444", done.out), name
    assert max(map(len, done.out.splitlines())) <= 100


def test_an_example_of_ones_own_is_explained_the_same_twice() -> None:
    words = ("explain", "--length", "4", "--dim", "8", "--mask", "causal", "--seed", "1")
    done = ask(*words, "--device", "cpu", "--backends", "naive,sdpa", "--json")
    assert done.code == 0, done.err
    [shown] = json.loads(done.out)
    steps = {step["name"]: step["values"] for step in shown["steps"]}
    assert list(steps) == ["scores", "scaled scores", "masked scores", "masked weights", "output"]
    assert steps["masked scores"][0][1:] == [None] * 3
    assert [sum(row) for row in steps["masked weights"]] == pytest.approx([1.0] * 4)
    assert steps["scaled scores"][3][0] == pytest.approx(steps["scores"][3][0] / 8**0.5)
    for name in ("naive", "sdpa"):
        for row, right in zip(shown["answers"][name]["output"], steps["output"], strict=True):
            assert row == pytest.approx(right, rel=1e-12)


def test_a_grid_is_listed_without_measuring() -> None:
    rows = json.loads(ask("grid", "smoke", "--json").out)
    assert rows[0]["id"] == "fwd-t64-h2-d32-f32-full"
    assert "fwd-t64-h2-d32-f32-causal" in ask("grid", "smoke").out


def test_claims_of_a_run(results: Path) -> None:
    done = ask("claims", "--results", str(results), "--json")
    verdicts = {one["claim"]: one for one in json.loads(done.out) if one["series"]["backend"]}
    assert verdicts["C1"]["verdict"] == "supported"
    assert verdicts["C1"]["observed"] == pytest.approx(2.0, abs=0.01)
    assert verdicts["C3"]["verdict"] == "supported"
    assert done.code == 0


def test_show_lists_the_cells(results: Path) -> None:
    rows = json.loads(ask("show", "--results", str(results), "--json").out)
    assert [row["length_query"] for row in rows] == [64, 128, 256, 512, 1024, 2048, 4096]
    assert rows[-1]["time_median_s"] == 1e-9 * 4096**2
    assert rows[0]["first_call_s"] is None
    text = ask("show", "--results", str(results)).out
    assert "naive.fwd-t4096-h4-d64-f32-full" in text
    assert "16.8 ms" in text


def test_report_is_built_again(results: Path, tmp_path: Path) -> None:
    done = ask("report", "--results", str(results), "--reports", str(tmp_path))
    assert done.code == 0, done.err
    assert next(tmp_path.glob("*/README.md")).is_file()
    assert max(map(len, done.out.splitlines())) <= 100


def test_doctor_gives_advice_and_no_traceback() -> None:
    done = ask("doctor", "--json")
    assert done.code in (0, 1), done.err
    checks = json.loads(done.out)
    assert len(checks) >= 8
    assert all(check["advice"] for check in checks if check["level"] != "ok")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["grid", "quik"], "attnbench: unknown grid 'quik'; valid: full, nightly, quick"),
        (["show", "x", "--results", "/nowhere"], "attnbench: no run 'x' in /nowhere"),
        (["report", "--results", "/nowhere"], "attnbench: no run in /nowhere: measure one with"),
        (["claims", "--results", "/nowhere"], "attnbench: no run in /nowhere: measure one with"),
        (["backends", "--device", "gpu"], "attnbench: unknown device 'gpu'; valid: auto, cpu"),
        (["explain", "--mask", "upper"], "attnbench: unknown mask 'upper'; valid: full, causal"),
        (["explain", "--backends", "x"], "attnbench: unknown backend 'x'; valid: naive, rowwise"),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(words: list[str], line: str) -> None:
    done = ask_process(*words) if words == ["grid", "quik"] else ask(*words)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith(line)
    assert done.err.count("\n") == 1
