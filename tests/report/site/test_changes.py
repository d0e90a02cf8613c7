"""What came to differ: planted changes are found where they are, and quiet cells are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.analysis.tracking.changes import by_fingerprint
from harness.report.site.changes import Change, changes
from harness.report.site.core import core
from harness.report.site.matrix import STATUSES, RunMatrix, load_runs, matrix_of

OK, CRASHED = STATUSES.index("ok"), STATUSES.index("crashed")
UNSUPPORTED = STATUSES.index("unsupported")


def flat(runs: int, *, cells: int = 1) -> RunMatrix:
    """Make cells of 1 ms ± 0.1 % and 1 MB in every run."""
    times = 1e-3 * (1 + 1e-3 * np.random.default_rng(0).standard_normal((cells, runs)))
    numbers = {"time_median_s": times, "peak_bytes": np.full((cells, runs), 1e6)}
    return RunMatrix([{} for _ in range(cells)], numbers, np.full((cells, runs), OK, np.uint8))


def test_quiet_cells_change_in_nothing() -> None:
    assert changes(flat(40, cells=20), [list(range(40))]) == []


def test_a_step_of_time_is_marked_with_its_two_levels() -> None:
    matrix = flat(40)
    matrix.numbers["time_median_s"][0, 25:] *= 1.10
    (change,) = changes(matrix, [list(range(40))])
    assert (change.kind, change.run) == ("slower", 25)
    assert change.before == pytest.approx(1.0e-3, rel=0.002)
    assert change.after == pytest.approx(1.1e-3, rel=0.002)


def test_a_step_between_two_eras_is_no_change() -> None:
    matrix = flat(40)
    matrix.numbers["time_median_s"][0, 25:] *= 1.10
    matrix.numbers["peak_bytes"][0, 25:] *= 2
    assert changes(matrix, [list(range(25)), list(range(25, 40))]) == []


def test_memory_above_one_percent_is_marked_at_once() -> None:
    matrix = flat(6)
    matrix.numbers["peak_bytes"][0] = [100e3, 100.9e3, np.nan, 103e3, 103e3, 90e3]
    assert changes(matrix, [list(range(6))]) == [
        Change("smaller", 0, 5, 103e3, 90e3), Change("bigger", 0, 3, 100.9e3, 103e3),
    ]  # fmt: skip


def test_an_outcome_is_named_by_what_was_there_before() -> None:
    codes = [OK, CRASHED, OK, 0, UNSUPPORTED, OK, UNSUPPORTED, CRASHED, 0, OK]
    matrix = flat(len(codes))
    matrix.status[0] = codes
    found = {one.run: (one.kind, one.before) for one in changes(matrix, [list(range(10))])}
    assert found == {
        1: ("broken", "ok"), 2: ("fixed", "crashed"), 3: ("gone", "ok"),
        5: ("new", "unsupported"), 6: ("gone", "ok"), 9: ("new", "absent"),
    }  # fmt: skip


def test_runs_of_two_machines_by_turns_are_two_eras() -> None:
    assert by_fingerprint(["one", "two", "one", "two"]) == [[0, 2], [1, 3]]


def test_everything_planted_is_found(history: Path) -> None:
    runs, _ = load_runs(history)
    found = {
        (one.kind, one.cell, one.run)
        for one in changes(matrix_of(runs), by_fingerprint(run.fingerprint for run in runs))
    }
    assert {("slower", 5, 30), ("bigger", 9, 34), ("broken", 11, 37)} <= found
    assert {("gone", 15, 38), ("gone", 14, 39)} <= found
    assert {cell for kind, cell, _ in found if kind not in ("slower", "faster")} == {9, 11, 14, 15}


def test_an_era_says_what_began_it(history: Path) -> None:
    runs, _ = load_runs(history)
    first, second = core(runs, matrix_of(runs), parts=[], without=[])["eras"]
    assert first["changed"] == []
    assert [len(first["runs"]), len(second["runs"])] == [15, 25]
    (changed,) = second["changed"]
    assert all(word in changed for word in ("torch", "2.13.0", "2.14.0"))
