"""The ledger: true laws are supported, planted lies refuted, and the rest says why not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from harness.analysis.claims import CLAIMS, judge, overall
from harness.analysis.verdict import VERDICTS, Verdict
from harness.case import Case
from harness.record import Record, Status
from tests.analysis.tables import (
    LENGTHS,
    OCTAVES,
    failed,
    failed_sweep,
    linear_time,
    no_matrix,
    sweep,
    table_of,
    two_matrices,
)


def verdicts_of(
    *records: Iterable[Record], claim: str, facts: dict[str, str] | None = None
) -> list[Verdict]:
    return [each for each in judge(table_of(*records), facts or {}) if each.claim == claim]


def words(*records: Iterable[Record], claim: str) -> list[tuple[str | None, str]]:
    found = verdicts_of(*records, claim=claim)
    return [(each.series["backend"], each.verdict) for each in found]


def flash(lengths: Sequence[int] = LENGTHS, **fields: Any) -> list[Record]:
    return sweep("sdpa-flash", lengths, **({"peak": no_matrix} | fields))


def missing_backend(backend: str) -> list[Record]:
    return failed_sweep(backend, status=Status.UNAVAILABLE, reason="no module")


def test_quadratic_time_supports_c1() -> None:
    [verdict] = verdicts_of(sweep("naive"), claim="C1")
    assert verdict.verdict == "supported"
    assert verdict.low <= verdict.observed <= verdict.high
    assert verdict.observed == pytest.approx(2, abs=0.05)
    assert verdict.expected == 2
    assert verdict.series == {
        "backend": "naive",
        "device": "cpu",
        "dtype": "float32",
        "mask": "full",
        "phase": "forward",
    }
    start = f"C1 supported: naive time grows as T^{verdict.observed:.2f} ["
    assert verdict.sentence.startswith(start)
    assert verdict.sentence.endswith("] over T in [64, 4096] (cpu, float32, full)")


def test_linear_time_of_a_dense_backend_refutes_c1() -> None:
    assert words(sweep("tiled", seconds=linear_time), claim="C1") == [("tiled", "refuted")]


def test_c1_speaks_of_neither_row_by_row_nor_a_window() -> None:
    window = {"mask": "sliding-window"}
    assert words(sweep("rowwise"), sweep("flex", case=window), claim="C1") == [
        (None, "not_measured")
    ]


def test_too_few_lengths_leave_c1_open() -> None:
    [verdict] = verdicts_of(sweep("naive", OCTAVES[:5]), claim="C1")
    assert verdict.verdict == "inconclusive"
    assert "few" in verdict.reason
    [verdict] = verdicts_of(sweep("naive", OCTAVES[:3]), claim="C1")
    assert verdict.verdict == "not_measured"
    assert verdict.reason == "no sweep of at least 4 values of T for naive"


def test_out_of_memory_at_the_end_leaves_the_rest_to_judge() -> None:
    lost = [failed("naive", Case.square(8192), Status.OUT_OF_MEMORY, "2 GiB do not fit")]
    [verdict] = verdicts_of(sweep("naive"), lost, claim="C1")
    assert verdict.verdict == "supported"
    assert "T in [64, 4096]" in verdict.sentence


def test_all_out_of_memory_is_not_measured() -> None:
    lost = failed_sweep("naive", status=Status.OUT_OF_MEMORY, reason="2 GiB do not fit")
    for claim in ("C1", "C3", "C5"):
        [verdict] = verdicts_of(lost, claim=claim)
        assert verdict.verdict == "not_measured"
        assert verdict.reason == "out_of_memory: 2 GiB do not fit"


def test_an_unavailable_backend_has_one_line_per_claim() -> None:
    verdicts = judge(table_of(sweep("naive"), missing_backend("flash-attn")), {})
    lines = [each for each in verdicts if each.series["backend"] == "flash-attn"]
    assert [each.claim for each in lines] == ["C1", "C4"]
    assert {each.reason for each in lines} == {"unavailable: no module"}
    assert lines[0].sentence == "C1 not measured: flash-attn: unavailable: no module (cpu)"


def test_one_replica_is_said() -> None:
    [verdict] = verdicts_of(sweep("naive", replicas=1), claim="C1")
    assert "one replica" in verdict.reason


def test_two_kernels_have_two_verdicts() -> None:
    records = sweep("sdpa", (*LENGTHS, 6144, 8192, 12288), kernel="flash", peak=no_matrix)
    records[:6] = [
        replace(record, kernel="math", peak_bytes=round(two_matrices(Case.square(length))))
        for record, length in zip(records[:6], LENGTHS, strict=False)
    ]
    first, second = verdicts_of(records, claim="C1")
    assert "kernel math" in first.reason
    assert "kernel flash" in second.reason
    [fused] = verdicts_of(records, claim="C4")
    assert fused.verdict == "supported"


def test_stored_scores_support_c3_and_are_counted() -> None:
    [verdict] = verdicts_of(sweep("naive"), claim="C3")
    assert (verdict.verdict, verdict.observed) == ("supported", pytest.approx(2))
    assert verdict.sentence == (
        "C3 supported: naive peak ~ T^2.00, T in [64, 4096], 2.00 scores (cpu, f32, full)"
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


def test_a_window_is_the_contrast() -> None:
    window = {"mask": "sliding-window"}
    [good] = verdicts_of(sweep("flex", case=window, noise=0.005), claim="D-window")
    assert (good.verdict, good.expected) == ("supported", 1)
    dense = sweep("naive", case=window, seconds=lambda case: 1e-5 + 1e-9 * case.length_query**2)
    assert words(dense, claim="D-window") == [("naive", "refuted")]


def test_every_row_names_a_device() -> None:
    records = sweep("naive")
    [verdict] = verdicts_of(records, claim="C14", facts={"run": "r1"})
    assert (verdict.verdict, verdict.series["device"]) == ("supported", "cpu")
    assert verdict.reason.startswith("run r1: 13 cells and ")
    records[0] = replace(records[0], device="")
    [verdict] = verdicts_of(records, claim="C14")
    assert verdict.verdict == "refuted"


def test_two_devices_are_judged_apart() -> None:
    found = verdicts_of(sweep("naive"), sweep("naive", case={"device": "cuda"}), claim="C1")
    assert [each.series["device"] for each in found] == ["cpu", "cuda"]


def test_a_cell_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="two rows"):
        judge(table_of(sweep("naive"), sweep("naive")), {})


def test_an_empty_run_measured_nothing() -> None:
    verdicts = judge(table_of(), {})
    assert [each.claim for each in verdicts] == [claim.id for claim in CLAIMS]
    assert {each.verdict for each in verdicts} == {"not_measured"}


def test_a_run_is_judged_the_same_twice_and_fits_its_file() -> None:
    table = table_of(
        sweep("naive"), flash(), sweep("rowwise", OCTAVES, peak=no_matrix), missing_backend("flex")
    )
    verdicts = judge(table, {})
    assert verdicts == judge(table.iloc[::-1], {})
    for verdict in verdicts:
        row = verdict.as_dict()
        assert list(row) == [
            "claim", "series", "verdict", "observed", "low", "high", "expected", "reason",
        ]  # fmt: skip
        json.dumps(row, allow_nan=False)
        assert list(row["series"]) == ["backend", "device", "dtype", "mask", "phase"]
        assert row["verdict"] in VERDICTS
        assert len(verdict.sentence) <= 98
        assert row["reason"]


def test_no_sentence_claims_more_than_was_seen() -> None:
    for verdict in judge(table_of(sweep("naive"), flash()), {}):
        assert "O(" not in verdict.sentence + verdict.reason
        assert verdict.sentence.startswith(f"{verdict.claim} ")


@pytest.mark.parametrize(
    ("parts", "word"),
    [
        (["supported", "supported", "not_measured"], "supported"),
        (["supported", "refuted", "inconclusive"], "refuted"),
        (["supported", "inconclusive"], "inconclusive"),
        (["not_measured"], "not_measured"),
        ([], "not_measured"),
    ],
)
def test_a_claim_is_summed_up_over_its_series(parts: list[str], word: str) -> None:
    verdicts = [
        Verdict(claim="C1", series={}, verdict=part, reason="", sentence="") for part in parts
    ]
    other = Verdict(claim="C3", series={}, verdict="refuted", reason="", sentence="")
    assert overall([*verdicts, other], "C1") == word


def test_claims_are_told_apart_by_their_id() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
