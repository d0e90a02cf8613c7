"""Peak memory: who stores the scores (C3) and who does not (C4)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.cases.case import Case
from tests.support.sweep_tables import (
    OCTAVES,
    flash,
    linear_time,
    no_matrix,
    sweep,
    two_matrices,
    verdicts_of,
    words,
)


def test_stored_scores_support_c3_and_are_counted() -> None:
    [verdict] = verdicts_of(sweep("naive"), claim="C3")
    assert (verdict.verdict, verdict.observed) == ("supported", pytest.approx(2))
    assert verdict.sentence == (
        "C3 supported: naive peak ~ T^2.00, T in [64, 4096], 2.00 score matrices (cpu, f32, full)"
    )


def test_a_naive_without_scores_refutes_c3() -> None:
    assert words(sweep("naive", peak=no_matrix), claim="C3") == [("naive", "refuted")]


def test_a_flash_that_stores_nothing_supports_c4() -> None:
    [verdict] = verdicts_of(flash(), claim="C4")
    assert (verdict.verdict, verdict.expected) == ("supported", 1)
    assert verdict.observed == pytest.approx(1, abs=0.01)


def test_a_flash_with_a_square_term_refutes_c4() -> None:
    assert words(flash(peak=two_matrices), claim="C4") == [("sdpa-flash", "refuted")]


def test_a_flash_whose_time_is_linear_refutes_c4() -> None:
    assert words(flash(seconds=linear_time), claim="C4") == [("sdpa-flash", "refuted")]


def test_a_flash_of_few_lengths_leaves_c4_open() -> None:
    [verdict] = verdicts_of(flash(OCTAVES[:5]), claim="C4")
    assert verdict.verdict == "inconclusive"
    assert "time" in verdict.reason


def test_plain_sdpa_counts_for_c4_by_its_kernel() -> None:
    fused = sweep("sdpa", peak=no_matrix, kernel="flash_attention")
    assert words(fused, claim="C4") == [("sdpa", "supported")]
    assert words(sweep("sdpa", kernel="math"), claim="C4") == [(None, "not_measured")]


def test_an_explicit_mask_is_told_apart_from_scores() -> None:
    def with_mask(case: Case) -> float:
        return no_matrix(case) + 4 * case.length_query**2

    padded = {"mask": "padding"}
    records = [
        replace(record, mask_bytes=record.length_query**2)
        for record in sweep("sdpa-efficient", case=padded, peak=with_mask)
    ]
    [verdict] = verdicts_of(records, claim="C4")
    assert verdict.verdict == "inconclusive"
    assert "explicit mask" in verdict.reason


def test_a_line_is_about_the_half_that_decides() -> None:
    [verdict] = verdicts_of(flash(seconds=linear_time), claim="C4")
    assert "peak is linear, but time: below" in verdict.sentence
    [verdict] = verdicts_of(flash(peak=two_matrices), claim="C4")
    assert "T^2.00" in verdict.sentence


def test_a_mask_does_not_excuse_stored_scores() -> None:
    records = [
        replace(record, mask_bytes=record.length_query**2)
        for record in sweep("sdpa-efficient", case={"mask": "padding"}, peak=two_matrices)
    ]
    assert words(records, claim="C4") == [("sdpa-efficient", "refuted")]
