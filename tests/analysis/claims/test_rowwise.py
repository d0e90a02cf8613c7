"""All positions together against row by row (C6, C7)."""

from __future__ import annotations

from harness.cases.case import Case
from harness.records.record import Status
from tests.support.sweep_tables import (
    dense,
    failed_sweep,
    measured,
    rowwise,
    slow,
    sweep,
    two_matrices,
    verdicts_of,
)


def test_slow_rows_of_linear_memory_support_c6() -> None:
    [verdict] = verdicts_of(sweep("naive"), rowwise(), claim="C6")
    assert verdict.verdict == "supported"
    assert verdict.series["backend"] == "rowwise"
    assert verdict.expected == 1
    assert 1 < verdict.low <= verdict.observed <= verdict.high
    assert "naive's time over T in [64, 4096] (cpu, float32, full)" in verdict.sentence


def test_rows_faster_than_together_refute_c6_and_c7() -> None:
    records = sweep("naive"), rowwise(seconds=lambda case: dense(case) / 2)
    for claim in ("C6", "C7"):
        [verdict] = verdicts_of(*records, claim=claim)
        assert verdict.verdict == "refuted"
        assert verdict.high < 1


def test_rows_faster_at_one_length_refute_c6() -> None:
    def crossing(case: Case) -> float:
        return slow(case) if case.length_query < 4096 else dense(case) / 2

    [verdict] = verdicts_of(sweep("naive"), rowwise(seconds=crossing), claim="C6")
    assert verdict.verdict == "refuted"
    assert "at T=4096" in verdict.reason


def test_rows_that_store_scores_refute_c6() -> None:
    [verdict] = verdicts_of(sweep("naive"), rowwise(peak=two_matrices), claim="C6")
    assert verdict.verdict == "refuted"


def test_rows_as_fast_as_together_leave_c6_open() -> None:
    [verdict] = verdicts_of(sweep("naive"), rowwise(seconds=dense, noise=0.02), claim="C6")
    assert verdict.verdict == "inconclusive"


def test_rows_alone_leave_c6_and_c7_open() -> None:
    for claim in ("C6", "C7"):
        [verdict] = verdicts_of(rowwise(), claim=claim)
        assert verdict.verdict == "inconclusive"
        assert "no length measured in both" in verdict.reason


def test_one_replica_counts_only_where_intervals_are_apart() -> None:
    one = {"replicas": 1}
    [verdict] = verdicts_of(sweep("naive", **one), rowwise(**one), claim="C6")
    assert verdict.verdict == "supported"
    assert "too few replicas" in verdict.reason
    near = rowwise(seconds=lambda case: dense(case) * 1.01, **one)
    [verdict] = verdicts_of(sweep("naive", **one), near, claim="C6")
    assert verdict.verdict == "inconclusive"
    assert "too few replicas" in verdict.reason


def test_c7_is_judged_for_each_number_of_heads() -> None:
    cases = [Case.square(512, heads=heads) for heads in (1, 2, 8)]
    together = [measured("naive", case) for case in cases]
    rows = [measured("rowwise", case, seconds=slow) for case in cases]
    found = verdicts_of(together, rows, claim="C7")
    assert [each.verdict for each in found] == ["supported"] * 3
    assert ["H=1:" in found[0].reason, "H=2:" in found[1].reason, "H=8:" in found[2].reason]
    assert "H=1 (cpu, float32, full)" in found[0].sentence


def test_missing_rows_are_not_measured() -> None:
    lost = failed_sweep("rowwise", status=Status.TIMED_OUT, reason="60 s")
    for claim in ("C6", "C7"):
        [verdict] = verdicts_of(sweep("naive"), lost, claim=claim)
        assert (verdict.verdict, verdict.reason) == ("not_measured", "timed_out: 60 s")
