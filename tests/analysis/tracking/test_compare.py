"""Two runs compared: one word per cell, the worst first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.analysis.tracking.compare import Comparison, compare
from harness.cases.case import Case
from harness.records.record import Record, Status
from harness.records.store import Run
from harness.records.tables import make_samples, make_table
from tests.support.sweep_tables import failed, measured

CASES = [Case.square(length) for length in (64, 128, 256, 512)]
FACTS = {"fingerprint": "cpu-a", "grid": {"name": "nightly"}, "complete": True}


def run_of(*records: Record, samples: Any = (), name: str = "run", **facts: Any) -> Run:
    return Run(Path(name), FACTS | facts, make_table(records), make_samples(samples))


def cells(**fields: Any) -> list[Record]:
    return [measured("naive", case, noise=0.002, **fields) for case in CASES]


def scaled(record: Record, share: float) -> Record:
    assert record.time_median_s is not None
    assert record.replica_medians_s is not None
    return replace(
        record,
        time_median_s=record.time_median_s * share,
        replica_medians_s=tuple(value * share for value in record.replica_medians_s),
    )


def words(comparison: Comparison) -> dict[str, str]:
    return {row.cell: row.verdict for row in comparison.rows}


def test_every_word_comes_out_worst_first() -> None:
    old = cells()
    more = [measured("tiled", case, noise=0.002) for case in CASES]
    old += [*more[:3], failed("tiled", CASES[3], status=Status.CRASHED, reason="signal 11")]
    old += [measured("sdpa", CASES[0], noise=0.3), measured("sdpa", CASES[1], noise=0.002)]
    assert old[2].peak_bytes is not None
    new = [
        scaled(old[0], 1.2), scaled(old[1], 0.8),
        replace(old[2], peak_bytes=old[2].peak_bytes * 2),
        replace(old[3], peak_bytes=1),
        failed("tiled", CASES[0], status=Status.DISAGREES, reason="error 0.3"),
        failed("tiled", CASES[1], status=Status.UNSUPPORTED, reason="no such kernel"),
        more[3], old[8], old[9], measured("rowwise", CASES[0]),
    ]  # fmt: skip
    found = compare(run_of(*old), run_of(*new))
    assert [row.verdict for row in found.rows] == [
        "broken", "gone", "gone", "slower", "bigger", "fixed", "new", "faster", "smaller",
        "unclear", "same",
    ]  # fmt: skip
    reasons = {row.cell: row.reason for row in found.rows}
    assert reasons[more[0].cell] == "disagrees: error 0.3"
    assert reasons[more[1].cell] == "unsupported: no such kernel"
    assert reasons[more[2].cell] == "not in the run"
    assert reasons[more[3].cell] == "before: crashed: signal 11"


def test_slower_and_bigger_counts_as_both() -> None:
    old = cells()
    assert old[0].peak_bytes is not None
    both = replace(scaled(old[0], 1.5), peak_bytes=2 * old[0].peak_bytes)
    found = compare(run_of(*old), run_of(both, *old[1:]))
    assert words(found)[both.cell] == "slower"
    assert found.counts() == {"slower": 1, "bigger": 1, "same": 3}


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"grid": {"name": "quick"}}, "another grid"),
        ({"complete": False}, "cut short"),
        ({"command": "pytest suites --benchmark-only -k naive"}, "chosen cells"),
    ],
)
def test_what_was_not_asked_for_is_neither_gone_nor_new(facts: dict[str, Any], why: str) -> None:
    old = cells()
    found = compare(run_of(*old), run_of(*old[:2], **facts))
    assert found.unasked == (old[2].cell, old[3].cell), why
    assert set(words(found).values()) == {"same"}


def test_a_vanished_cell_of_the_same_question_is_gone() -> None:
    old = cells()
    found = compare(run_of(*old), run_of(*old[1:]))
    assert words(found)[old[0].cell] == "gone"


def test_raw_samples_decide_where_there_are_any() -> None:
    """Three processes whose medians agree by luck, each with samples all over the place."""
    old = cells()[0]
    wild = [[0.5, 0.6, 1.0, 1.5, 2.0]] * 3
    quiet = [[1.0] * 5] * 3
    assert (
        words(compare(run_of(old, samples=[(old, quiet)]), run_of(old, samples=[(old, quiet)])))[
            old.cell
        ]
        == "same"
    )
    found = compare(run_of(old, samples=[(old, wild)]), run_of(old, samples=[(old, wild)]))
    assert words(found)[old.cell] == "unclear"


def test_a_noise_floor_raises_a_cells_threshold() -> None:
    old = cells()
    new = [scaled(record, 1.12) for record in old]
    found = compare(run_of(*old), run_of(*new), floors={old[0].cell: 0.06})
    assert [row.verdict for row in found.rows] == ["slower", "slower", "slower", "same"]
    assert found.rows[-1].threshold == pytest.approx(1.18)


def test_machines_are_the_same_only_if_both_are_known() -> None:
    run, other = run_of(*cells()), run_of(*cells(), fingerprint="cpu-b")
    unknown = run_of(*cells(), fingerprint=None)
    assert compare(run, run).same_machine
    assert not compare(run, other).same_machine
    assert not compare(unknown, unknown).same_machine
