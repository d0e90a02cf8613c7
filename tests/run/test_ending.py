"""Runs that end early or start twice: what was measured stays, and can be gone on with."""

import json
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from harness.records.record import Record, Status
from harness.records.store import load_run
from harness.run.resume import observations
from tests.support.run_command import ask
from tests.support.run_suite import (
    ROOT,
    TINY,
    Ended,
    command,
    environment,
    folder_of_run,
    lines_written,
    run,
    run_one_by_one,
    start,
)

ONE_MASK = TINY.replace('["full", "causal"]', '"full"')
LENGTHS = ", ".join(str(32 * n) for n in range(1, 25))
LONG = ONE_MASK.replace("length = [16, 32]", f"length = [{LENGTHS}]").replace("0.01", "0.1")
BACKENDS = ("--attn-backends", "naive,sdpa")
MOODY = (
    "--attn-backends", "naive,moody", "--attn-extra-backend", "planted:moody",
    "--attn-replicas", "2", "-k", "not behaviour",
)  # fmt: skip


def cut_after(folder: Path, cells: int, number: signal.Signals) -> tuple[int, str]:
    """Start a long run, send a signal once so many cells are written, and return (code, text)."""
    process = start(folder, *BACKENDS, "-k", "not behaviour", grid=LONG)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and lines_written(folder) < cells:
        time.sleep(0.05)
    process.send_signal(number)
    text, _ = process.communicate(timeout=60)
    assert cells <= lines_written(folder) < 48, "the run had ended before it was cut"
    return process.returncode, text


def copied(home: Path, to: Path) -> Path:
    """Copy the results that lie in a folder into another, and return the run's folder there."""
    shutil.copytree(home / "results", to / "results")
    return folder_of_run(to)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    cut_after(folder, 7, signal.SIGKILL)
    return folder


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run in which one backend has failed everywhere."""
    folder = tmp_path_factory.mktemp("failed")
    done = run(folder, *MOODY, grid=ONE_MASK, MOOD="bad")
    assert done.returncode == 1, done.stdout
    return folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_cleanly_with_a_partial_report(
    tmp_path: Path, number: signal.Signals
) -> None:
    before = set(psutil.pids())
    code, text = cut_after(tmp_path, 5, number)
    assert code == 2, text
    assert "Traceback" not in text
    folder = folder_of_run(tmp_path)
    found = load_run(folder)
    assert (found.table["status"] == "ok").all()
    assert found.facts["complete"] is False
    assert (folder / "cells.parquet").is_file()
    report = (tmp_path / "reports" / folder.name / "README.md").read_text()
    assert "cut short" in report
    workers = [
        pid for pid in set(psutil.pids()) - before if "harness.measure.worker" in words(pid)
    ]
    assert not workers


def words(pid: int) -> list[str]:
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []


def test_a_killed_run_is_still_reported(killed: Path, tmp_path: Path) -> None:
    copied(killed, tmp_path)
    places = ("--results", str(tmp_path / "results"), "--reports", str(tmp_path / "reports"))
    answer = ask("report", *places)
    assert answer.code == 0, answer.err
    assert f"ok {lines_written(killed)}" in answer.out
    report = next((tmp_path / "reports").glob("*/README.md")).read_text()
    assert "cut short" in report


def test_a_killed_run_is_gone_on_with(killed: Path, tmp_path: Path) -> None:
    folder = copied(killed, tmp_path)
    journal = folder / "journal.jsonl"
    # The cell under way was cut in half.
    journal.write_text(journal.read_text() + '{"record": {"run": "half')
    before = load_run(folder)
    done = run(tmp_path, *BACKENDS, "-k", "not behaviour", "--attn-resume", folder.name, grid=LONG)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in (tmp_path / "results").iterdir() if path.is_dir()] == [
        folder.name
    ]
    after = load_run(folder)
    assert len(after.table) == 48
    assert (after.table["status"] == "ok").all()
    assert after.facts["complete"] is True
    assert len(after.facts["resumed"]) == 1
    kept = after.samples.merge(before.samples, on=["cell", "replica", "index", "seconds"])
    assert len(kept) == len(before.samples), "what was measured was measured again"


def test_failed_cells_are_measured_again_and_others_are_not(failed: Path, tmp_path: Path) -> None:
    folder = copied(failed, tmp_path)
    before = load_run(folder)
    assert before.table["status"].value_counts().to_dict() == {"ok": 2, "error": 2}
    done = run(tmp_path, *MOODY, "--attn-resume", "latest", grid=ONE_MASK)
    assert done.returncode == 0, done.stdout + done.stderr
    after = load_run(folder)
    assert after.table["status"].value_counts().to_dict() == {"ok": 4}
    assert (after.table["replicas"] == 2).all()
    naive = before.samples[before.samples["cell"].str.startswith("naive")]
    kept = after.samples.merge(naive, on=["cell", "replica", "index", "seconds"])
    assert len(kept) == len(naive)


@pytest.fixture(scope="module")
def refusals(failed: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """Runs that cannot be gone on with, by what is wrong; not a byte of theirs is changed."""
    homes = [tmp_path_factory.mktemp("refused") for _ in range(2)]
    folder, elsewhere = (copied(failed, home) for home in homes)
    facts = json.loads((elsewhere / "run.json").read_text())
    (elsewhere / "run.json").write_text(json.dumps(facts | {"fingerprint": "cpu-other"}))
    bytes_before = [contents(home) for home in homes]
    resume = (*MOODY, "--attn-resume", folder.name)
    results = ("--attn-results", str(homes[0] / "results"))
    other = tmp_path_factory.mktemp("other")
    commands = {
        "grid": command(other, *resume, *results, grid=ONE_MASK.replace("32]", "48]")),
        "backends": command(homes[0], *resume, "--attn-backends", "naive", grid=ONE_MASK),
        "machine": command(homes[1], *resume, grid=ONE_MASK),
        "name": command(homes[0], *MOODY, "--attn-resume", "nowhere", grid=ONE_MASK),
    }
    ended = run_one_by_one(*commands.values())
    assert [contents(home) for home in homes] == bytes_before
    return dict(zip(commands, ended, strict=True))


def contents(home: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in home.glob("results/**/*") if path.is_file()}


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("grid", " cannot be resumed: the grid was"),
        ("backends", " cannot be resumed: the backends were 'naive, moody', now 'naive'"),
        ("machine", " cannot be resumed: the machine was 'cpu-other', now 'cpu-"),
    ],
)
def test_a_run_of_another_kind_cannot_be_gone_on_with(
    refusals: dict[str, Ended], failed: Path, what: str, words: str
) -> None:
    assert refusals[what].code == 4, refusals[what].text
    (line,) = [line for line in refusals[what].text.splitlines() if "resume" in line]
    assert folder_of_run(failed).name + words in line


def test_an_unknown_run_to_resume_is_one_line(refusals: dict[str, Ended]) -> None:
    assert refusals["name"].code == 4
    assert "no run 'nowhere' in " in refusals["name"].text


def test_a_full_disk_loses_the_cell_under_way_and_no_more(tmp_path: Path) -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    done = subprocess.run(
        command(tmp_path, *BACKENDS, "-k", "not behaviour", grid=LONG),
        cwd=ROOT, env=environment(), capture_output=True, text=True, preexec_fn=small, timeout=200,
    )  # fmt: skip
    assert done.returncode == 2, done.stdout + done.stderr
    assert "results cannot be written: File too large" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    found = load_run(folder_of_run(tmp_path))
    whole = (folder_of_run(tmp_path) / "journal.jsonl").read_text().count("\n")
    assert len(found.table) == whole >= 10
    assert (found.table["status"] == "ok").all()


def test_two_runs_at_once_do_not_mix(tmp_path: Path) -> None:
    shared = ("--attn-results", str(tmp_path / "results"), "-k", "not behaviour")
    both = [
        start(tmp_path, "--attn-backends", "naive", *shared, grid=ONE_MASK),
        start(tmp_path / "other", "--attn-backends", "sdpa", *shared, grid=ONE_MASK),
    ]
    texts = [process.communicate(timeout=200)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0], texts
    folders = [path for path in (tmp_path / "results").iterdir() if path.is_dir()]
    assert len(folders) == 2
    seen = [set(load_run(folder).table["backend"]) for folder in folders]
    assert sorted(seen, key=str) == [{"naive"}, {"sdpa"}]
    assert folder_of_run(tmp_path) in folders


def test_what_replicas_saw_is_rebuilt_from_the_journal() -> None:
    record = Record(
        cell="naive.x", backend="naive", status="ok", agrees=True, peak_bytes=4096,
        calls_per_sample=7, flags="drift contended", error_max=1e-6, page_faults=2.0,
    )  # fmt: skip
    first, second = observations(record, [[1.0, 2.0], [3.0]])
    assert first.status is Status.OK
    assert (first.agrees, first.peak_bytes, first.calls_per_sample) == (True, 4096, 7)
    assert first.flags == ("drift", "contended")
    assert (first.samples_s, second.samples_s) == ((1.0, 2.0), (3.0,))
    assert second.agrees is None


def test_a_refusal_needs_no_samples() -> None:
    record = Record(cell="a.x", backend="a", status="unsupported", reason="no window")
    (one,) = observations(record, [])
    assert (one.status, one.reason) == (Status.UNSUPPORTED, "no window")
