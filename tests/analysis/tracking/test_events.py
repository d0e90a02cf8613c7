"""Vanished, broken, come back; memory without noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.analysis.tracking.events import (
    memory_change,
    memory_findings,
    outcome_change,
    outcome_findings,
)
from harness.records.archive import ABSENT, STATUSES, Archive, ArchivedRun

OK, CRASHED = STATUSES.index("ok"), STATUSES.index("crashed")
UNSUPPORTED = STATUSES.index("unsupported")


def archive(codes: list[int], *, facts: dict[int, dict[str, Any]] | None = None) -> Archive:
    """Make the archive of one cell whose outcomes are given, run by run."""
    runs = tuple(
        ArchivedRun(Path(f"r{row}"), {"complete": True, **(facts or {}).get(row, {})})
        for row in range(len(codes))
    )
    column = np.zeros((len(codes), 1))
    return Archive(
        runs, ("cell",), column, column[:, None, :], column, np.array(codes, np.int8)[:, None]
    )


def found(*codes: int, **options: Any) -> list[tuple[str, str | None]]:
    made = archive(list(codes), **options)
    return [(one.word, one.reason) for one in outcome_findings(made, {"cell": "signal 11"})]


def test_the_words_for_outcomes() -> None:
    assert outcome_change("ok", "crashed") == outcome_change("ok", "disagrees") == "broken"
    assert outcome_change("ok", None) == outcome_change("ok", "out_of_memory") == "gone"
    assert outcome_change("timed_out", "ok") == "fixed"
    assert outcome_change(None, "ok") == outcome_change("unsupported", "ok") == "new"
    assert outcome_change("ok", "ok") is outcome_change("error", "crashed") is None
    assert outcome_change(None, None) is outcome_change("unsupported", None) is None


def test_a_cell_that_vanished_or_broke_is_found_at_once() -> None:
    assert found(OK, OK, ABSENT) == [("gone", "not in the run")]
    assert found(OK, OK, UNSUPPORTED) == [("gone", "unsupported: signal 11")]
    assert found(OK, OK, CRASHED) == [("broken", "crashed: signal 11")]


def test_it_stays_a_finding_for_five_nights() -> None:
    for nights in range(1, 6):
        assert found(OK, *[ABSENT] * nights), nights
    assert not found(OK, *[ABSENT] * 6)


def test_what_comes_back_is_said() -> None:
    assert found(OK, CRASHED, OK) == [("fixed", None)]
    assert found(UNSUPPORTED, OK) == found(ABSENT, OK) == [("new", None)]
    assert found(OK, OK) == found(CRASHED, CRASHED) == []


def test_a_first_run_has_no_news() -> None:
    assert found(OK) == []


def test_what_was_not_asked_for_has_not_vanished() -> None:
    assert not found(OK, ABSENT, facts={1: {"complete": False}})
    assert not found(OK, ABSENT, facts={1: {"command": "pytest suites -k naive"}})
    assert not found(OK, ABSENT, facts={0: {"command": "pytest suites --attn-backends=naive"}})
    assert found(OK, ABSENT, facts={row: {"command": "pytest suites -k naive"} for row in (0, 1)})
    assert found(OK, CRASHED, facts={1: {"complete": False}})


@pytest.mark.parametrize(
    ("before", "now", "word"),
    [
        (1_000_000, 1_010_000, "bigger"), (1_000_000, 1_009_000, None),
        (1_049, 1_059, "bigger"),  # 1 % of 1,049 B is no whole number
        (1_000_000, 990_000, "smaller"), (1_000_000, 991_000, None),
        (0, 4, "bigger"), (0, 0, None), (4, 0, "smaller"),
    ],
)  # fmt: skip
def test_one_percent_of_memory(before: int, now: int, word: str | None) -> None:
    assert memory_change(before, now) == word


def peaks(*values: float) -> list[tuple[str, float]]:
    made = archive([OK] * len(values))
    column = np.array(values, dtype=float)[:, None]
    told = memory_findings(replace(made, peaks=column))
    return [(one.word, one.change or 0.0) for one in told]


def test_memory_is_held_against_the_usual_and_against_the_last() -> None:
    assert peaks(100, 100, 101) == [("bigger", pytest.approx(0.01))]
    assert peaks(*[100_000] * 10, 100_500, 101_000) == [("bigger", pytest.approx(0.01))]
    assert peaks(*[100] * 10, 50, 60) == [("bigger", pytest.approx(0.2))]
    assert peaks(*[100] * 10, 60, 50) == [("smaller", pytest.approx(-0.5))]
    assert peaks(100, 100, 100) == peaks(100) == []
    assert peaks(100, np.nan, 120) == [("bigger", pytest.approx(0.2))]


def test_growth_that_was_overlooked_one_night_is_seen_the_next() -> None:
    assert peaks(*[100] * 10, 110, 110) == [("bigger", pytest.approx(0.1))]
