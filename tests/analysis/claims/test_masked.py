"""Masked against unmasked, and against row by row under the same mask (C9)."""

from __future__ import annotations

import pytest

from harness.records.record import Record
from tests.support.sweep_tables import (
    OCTAVES,
    Law,
    dense,
    linear_time,
    no_matrix,
    rowwise,
    slow,
    sweep,
    verdicts_of,
)

CAUSAL = {"mask": "causal"}


def masked_table(law: Law = dense, rows: Law = slow) -> tuple[list[Record], ...]:
    backend = "sdpa-flash"
    return (
        sweep(backend, peak=no_matrix),
        sweep(backend, OCTAVES, case=CAUSAL, seconds=law, peak=no_matrix),
        rowwise(case=CAUSAL, seconds=rows),
    )


def test_the_same_law_at_half_the_cost_supports_c9() -> None:
    [verdict] = verdicts_of(*masked_table(), claim="C9")
    assert verdict.verdict == "supported"
    assert verdict.observed == pytest.approx(0, abs=0.1)
    assert verdict.expected == 0
    assert "time 0.50x at T=4096 (cpu, f32, causal)" in verdict.sentence
    assert "masked over unmasked 0.5" in verdict.reason
    assert verdict.series["mask"] == "causal"


def test_another_exponent_under_the_mask_refutes_c9() -> None:
    [verdict] = verdicts_of(*masked_table(linear_time), claim="C9")
    assert verdict.verdict == "refuted"
    assert verdict.observed == pytest.approx(-1, abs=0.1)


def test_masked_rows_faster_than_masked_together_refute_c9() -> None:
    [verdict] = verdicts_of(*masked_table(rows=lambda case: dense(case) / 2), claim="C9")
    assert verdict.verdict == "refuted"


def test_c9_is_open_without_the_rows_or_the_unmasked_sweep() -> None:
    full, masked, rows = masked_table()
    [verdict] = verdicts_of(full, masked, claim="C9")
    assert verdict.verdict == "inconclusive"
    [verdict] = verdicts_of(masked, rows, claim="C9")
    assert verdict.verdict == "inconclusive"
    assert "no unmasked sweep" in verdict.reason


def test_exponents_are_compared_over_the_same_lengths() -> None:
    short = sweep("naive", OCTAVES[:6], case=CAUSAL)
    records = sweep("naive"), short, rowwise(OCTAVES[:6], case=CAUSAL)
    [verdict] = verdicts_of(*records, claim="C9")
    assert verdict.verdict == "supported"
    assert "x at T=2048" in verdict.sentence
