"""What came to differ: planted changes are found where they are, and quiet cells are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.report.site.changes import Change, changes, eras, outcome_kind
from harness.report.site.core import core
from harness.report.site.stack import STATUSES, Night, Stack, read_nights, stack

OK, CRASHED = STATUSES.index("ok"), STATUSES.index("crashed")
UNSUPPORTED = STATUSES.index("unsupported")


def flat(runs: int, *, cells: int = 1) -> Stack:
    """Make cells of 1 ms ± 0.1 % and 1 MB in every run."""
    times = 1e-3 * (1 + 1e-3 * np.random.default_rng(0).standard_normal((cells, runs)))
    numbers = {"time_median_s": times, "peak_bytes": np.full((cells, runs), 1e6)}
    return Stack([{} for _ in range(cells)], numbers, np.full((cells, runs), OK, np.uint8))


def test_quiet_cells_change_in_nothing() -> None:
    assert changes(flat(40, cells=20), [list(range(40))]) == []


def test_a_step_of_time_is_marked_with_its_two_levels() -> None:
    laid = flat(40)
    laid.numbers["time_median_s"][0, 25:] *= 1.10
    (change,) = changes(laid, [list(range(40))])
    assert (change.kind, change.run) == ("slower", 25)
    assert change.before == pytest.approx(1.0e-3, rel=0.002)
    assert change.after == pytest.approx(1.1e-3, rel=0.002)


def test_a_step_between_two_eras_is_no_change() -> None:
    laid = flat(40)
    laid.numbers["time_median_s"][0, 25:] *= 1.10
    laid.numbers["peak_bytes"][0, 25:] *= 2
    assert changes(laid, [list(range(25)), list(range(25, 40))]) == []


def test_memory_above_one_percent_is_marked_at_once() -> None:
    laid = flat(6)
    laid.numbers["peak_bytes"][0] = [100e3, 100.9e3, np.nan, 103e3, 103e3, 90e3]
    assert changes(laid, [list(range(6))]) == [
        Change("smaller", 0, 5, 103e3, 90e3), Change("bigger", 0, 3, 100.9e3, 103e3),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (OK, CRASHED, "broken"), (CRASHED, OK, "fixed"), (OK, 0, "gone"),
        (OK, UNSUPPORTED, "gone"), (0, OK, "new"), (UNSUPPORTED, OK, "new"),
        (CRASHED, 0, ""), (UNSUPPORTED, CRASHED, ""),
    ],
)  # fmt: skip
def test_an_outcome_is_named_by_what_was_there_before(before: int, after: int, kind: str) -> None:
    assert outcome_kind(before, after) == kind


def test_runs_of_two_machines_by_turns_are_two_eras() -> None:
    assert eras(["one", "two", "one", "two"]) == [[0, 2], [1, 3]]


def test_everything_planted_is_found(history: Path) -> None:
    nights, _ = read_nights(history)
    laid = stack(nights)
    found = {(one.kind, one.cell, one.run) for one in changes(laid, eras(_fingerprints(nights)))}
    assert {("slower", 5, 30), ("bigger", 9, 34), ("broken", 11, 37)} <= found
    assert {("gone", 15, 38), ("gone", 14, 39)} <= found
    assert {cell for kind, cell, _ in found if kind not in ("slower", "faster")} == {9, 11, 14, 15}


def test_an_era_says_what_began_it(history: Path) -> None:
    nights, _ = read_nights(history)
    first, second = core(nights, stack(nights), parts=[], without=[])["eras"]
    assert first["changed"] == []
    assert [len(first["runs"]), len(second["runs"])] == [15, 25]
    (changed,) = second["changed"]
    assert all(word in changed for word in ("torch", "2.13.0", "2.14.0"))


def _fingerprints(nights: list[Night]) -> list[str]:
    return [night.fingerprint for night in nights]
