"""Score memory over the batch and over the heads (C5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from harness.analysis.claims import judge
from harness.analysis.claims.evidence import Verdict
from harness.analysis.claims.features import judge_proportion
from harness.cases.case import Case
from harness.records.record import Record, Status
from tests.support.sweep_tables import Law, measured, table_of, two_matrices

VALUES = (1, 2, 4, 8)


def over(
    axis: str,
    values: Sequence[int] = VALUES,
    *,
    length: int = 512,
    peak: Law = two_matrices,
) -> list[Record]:
    return [measured("naive", Case.square(length, **{axis: value}), peak=peak) for value in values]


def both() -> tuple[list[Record], list[Record]]:
    """Return a star: the sweeps over B and over H share the cell where they cross."""
    heads = over("heads", (1, 2, 8))
    return over("batch"), heads


def verdicts_of(*records: Iterable[Record]) -> list[Verdict]:
    return [each for each in judge(table_of(*records), {}) if each.claim == "C5"]


def test_scores_in_proportion_support_c5() -> None:
    batch, heads = verdicts_of(*both())
    assert (batch.verdict, heads.verdict) == ("supported", "supported")
    assert (batch.observed, heads.observed) == pytest.approx((1, 1))
    assert batch.sentence == (
        "C5 supported: naive peak memory grows as B^1.00 over B in [1, 8] (cpu, float32, full)"
    )
    assert "H^1.00 over H in [1, 8]" in heads.sentence


def test_a_batch_that_grows_as_its_square_refutes_c5() -> None:
    lie = over("batch", peak=lambda case: two_matrices(case) * case.batch)
    batch, heads = verdicts_of(lie)
    assert (batch.verdict, batch.observed) == ("refuted", pytest.approx(2))
    assert heads.verdict == "not_measured"


def test_a_peak_that_ignores_the_heads_refutes_c5() -> None:
    batch, heads = verdicts_of(over("heads", (1, 2, 8), peak=lambda case: 1e6))
    assert (batch.verdict, heads.verdict) == ("not_measured", "refuted")


def test_two_values_are_no_sweep() -> None:
    verdicts = verdicts_of(over("batch", (1, 2)))
    assert [each.verdict for each in verdicts] == ["not_measured"] * 2
    assert verdicts[0].reason == "no sweep of 3 values of B at one T"


def test_the_sweep_with_the_most_values_counts_then_the_longest() -> None:
    short, long = over("batch", length=256), over("batch", (1, 2, 4), length=1024)
    batch, _ = verdicts_of(short, long)
    assert "B in [1, 8]" in batch.sentence


def test_a_value_that_ran_out_of_memory_is_left_out() -> None:
    records = over("batch")
    records[-1] = replace(records[-1], status=Status.OUT_OF_MEMORY, reason="too big")
    batch, _ = verdicts_of(records)
    assert (batch.verdict, "B in [1, 4]" in batch.sentence) == ("supported", True)


def test_grouped_heads_are_another_sweep() -> None:
    grouped = [measured("naive", Case.square(512, heads=heads, heads_kv=1)) for heads in VALUES]
    _, heads = verdicts_of(grouped)
    assert heads.verdict == "not_measured"


@pytest.mark.parametrize(
    ("peaks", "word"),
    [
        ((100, 200, 400, 800), "supported"),
        ((110, 210, 410, 810), "supported"),
        ((100, 230, 400, 800), "inconclusive"),
        ((100, 400, 1600, 6400), "refuted"),
        ((100, 100, 100, 100), "refuted"),
    ],
)
def test_exponent_one_in_the_band_and_a_straight_line(peaks: tuple[int, ...], word: str) -> None:
    part, _ = judge_proportion(list(zip(VALUES, peaks, strict=True)))
    assert part.verdict == word
