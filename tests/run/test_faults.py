"""One real run with every planted fault: each costs its own cell, and nothing else."""

from dataclasses import dataclass

import pandas as pd
import psutil
import pytest

from harness.records.store import Run, find_run, load_run
from tests.support.run_suite import start

# fault: (status, what the reason says); first those whose worker dies with what it measured.
FAULTS = {
    "exits": ("crashed", "the worker exited with code 3"),
    "aborts": ("crashed", "the worker was killed by SIGABRT"),
    "segfaults": ("crashed", "the worker was killed by SIGSEGV"),
    "hangs": ("timed_out", "no answer within 6 s, stuck in hangs (planted.py, line "),
    "hangs-in-c": ("timed_out", "no answer within 6 s, stuck in hangs_in_c (planted.py, line "),
    "raises": ("error", "RuntimeError: the kernel is not built for this shape"),
    "gives-nan": ("disagrees", "NaN"),
    "wrong-shape": ("disagrees", "shape (1, 64, 2, 64) instead of (1, 2, 64, 64)"),
    "wrong-dtype": ("disagrees", "dtype float64 instead of float32"),
    "wrong-values": ("disagrees", "largest error"),
    "wrong-mask": ("disagrees", "largest error"),
    "no-tensor": ("error", "the output is a list, not a tensor"),
    "out-of-memory": ("out_of_memory", "tried to allocate 4,503,599,627,370,496 bytes"),
    "takes-all-memory": ("out_of_memory", "tried to allocate 67,108,864 bytes"),
    "takes-all-memory-in-python": ("out_of_memory", "MemoryError"),
    "leaks": ("error", "every call keeps 6"),
    "leaks-outside-torch": ("error", "every call keeps 6"),
    "leaves-threads": ("error", "it leaves 1 thread(s) running: spinner"),
    "changes-threads": ("error", "the number of threads from 1 to 2"),
    "changes-dtype": ("error", "the default dtype from torch.float32 to torch.float64"),
    "changes-grad-mode": ("error", "the grad mode from False to True"),
    "changes-random": ("error", "the state of the random generator"),
    "changes-flags-and-raises": ("error", "RuntimeError: not today"),
    "mutates": ("error", "it changes its inputs: query"),
    "mutates-raw": ("error", "it changes its inputs: value"),
    "keeps-first-answer": ("disagrees", "asked again with other values: largest error"),
    "computes-in-prepare": ("error", "too fast to have computed it"),
    "wrong-later": ("disagrees", "right at first, but after the timing: largest error"),
}
HONEST = ("naive", "sdpa", "honest", "prints-much")
GRID = """
target = 0.5
cap_s = 0.02
replicas = 2
timeout_s = 6.0
[base]
heads = 2
dim = 64
mask = "causal"
[[series]]
suite = "length"
length = 64
backends = {first}
[[series]]
suite = "length"
length = [16, 24, 32, 40, 48]
backends = ["naive", "dies-below-64"]
[[series]]
suite = "length"
length = 16
mask = "full"
backends = ["naive", "wrong-mask"]
[[series]]
suite = "length"
length = 4160
heads = 1
dim = 16
mask = "full"
backends = ["naive", "leaves-rows-out"]
"""
ASKED = "wrong-mask and causal-sees-itself"
CASE = "fwd-t64-h2-d64-f32-causal"


@dataclass(frozen=True)
class Done:
    process: int
    code: int
    text: str
    run: Run

    def row(self, cell: str) -> pd.Series:
        return self.run.table.set_index("cell").loc[cell]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("faults")
    names = [HONEST[0], *FAULTS, *HONEST[1:]]
    extra = [*HONEST[2:], *FAULTS, "dies-below-64", "leaves-rows-out"]
    options = [f"--attn-extra-backend=planted:{name.replace('-', '_')}" for name in extra]
    options += ["-q", "--attn-memory-limit", "0.25", "-k", f"test_length or ({ASKED})"]
    grid = GRID.format(first=str(names).replace("'", '"'))
    process = start(folder, *options, grid=grid)
    text, _ = process.communicate(timeout=600)
    return Done(process.pid, process.returncode, text, load_run(find_run(folder / "results")))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_has_its_status_and_reason_and_no_time(done: Done, fault: str) -> None:
    status, words = FAULTS[fault]
    row = done.row(f"{fault}.{CASE}")
    assert (row["status"], words in row["reason"]) == (status, True), row["reason"]
    assert pd.isna(row["time_median_s"])
    assert pd.isna(row["replicas"])
    if status == "disagrees":
        assert not row["agrees"]


@pytest.mark.parametrize("name", HONEST)
def test_the_others_are_measured_and_unharmed(done: Done, name: str) -> None:
    row = done.row(f"{name}.{CASE}")
    assert row["status"] == "ok", row["reason"]
    assert row["replicas"] == 2
    assert row["agrees"]
    assert row["threads"] == 1, "a fault has changed the threads of the others"
    assert row["error_ratio"] < 3, "a fault has changed the inputs of the others"
    assert row["peak_bytes"] > 0


def test_without_a_mask_there_is_nothing_to_get_wrong(done: Done) -> None:
    assert done.row("wrong-mask.fwd-t16-h2-d64-f32-full")["status"] == "ok"


def test_a_fault_shows_in_behaviour_too(done: Done) -> None:
    (found,) = done.run.conformance.to_dict("records")
    assert (found["backend"], found["verdict"]) == ("wrong-mask", "deviates")
    assert "wrong-mask.causal-sees-itself: deviates: expected 100; 110; 111" in done.text


def test_rows_left_unchecked_are_checked_later(done: Done) -> None:
    row = done.row("leaves-rows-out.fwd-t4160-h1-d16-f32-full")
    assert row["status"] == "disagrees"
    assert "right at first, but after the timing" in row["reason"]
    assert done.row("naive.fwd-t4160-h1-d16-f32-full")["status"] == "ok"


def test_a_backend_that_always_dies_is_given_up_after_three_cells(done: Done) -> None:
    table = done.run.table
    rows = table[table["backend"] == "dies-below-64"]
    assert list(rows["status"]) == ["crashed"] * 5
    assert rows["reason"].str.startswith("the worker was killed by SIGABRT").sum() == 3
    assert rows["reason"].str.startswith("not tried: it lost 3 workers").sum() == 2
    assert (table.loc[(table["backend"] == "naive"), "status"] == "ok").all()


def test_the_run_fails_and_is_complete(done: Done) -> None:
    assert done.code == 1, done.text
    assert done.run.facts["complete"] is True
    assert "Traceback" not in done.text
    assert "INTERNALERROR" not in done.text
    assert f"keeps-first-answer.{CASE}: disagrees: " in done.text


def test_no_process_is_left_behind(done: Done) -> None:
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        assert not ("harness.measure.worker" in words and str(done.process) in words)


def test_the_parent_stays_small(done: Done) -> None:
    assert done.run.facts["peak_rss_bytes"] < 300e6
