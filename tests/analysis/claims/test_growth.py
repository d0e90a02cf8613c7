"""Exponents of time: true laws supported, planted lies refuted (C1, D-window)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.cases.case import Case
from harness.records.record import Status
from tests.support.sweep_tables import (
    LENGTHS,
    OCTAVES,
    failed_sweep,
    linear_time,
    no_matrix,
    sweep,
    two_matrices,
    verdicts_of,
    words,
)


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
    lost = failed_sweep("naive", (8192,), status=Status.OUT_OF_MEMORY, reason="2 GiB do not fit")
    [verdict] = verdicts_of(sweep("naive"), lost, claim="C1")
    assert verdict.verdict == "supported"
    assert "T in [64, 4096]" in verdict.sentence


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


def test_a_window_is_the_contrast() -> None:
    window = {"mask": "sliding-window"}
    square = {"seconds": lambda case: 1e-5 + 1e-9 * case.length_query**2}
    flex, naive = sweep("flex", case=window, noise=0.005), sweep("naive", case=window, **square)
    [good] = verdicts_of(flex, naive, claim="D-window")
    assert (good.verdict, good.expected) == ("supported", 1)
    assert "T^2 refuted" in good.sentence
    [masked] = verdicts_of(flex, naive, claim="D-window-mask")
    assert (masked.series["backend"], masked.verdict, masked.expected) == ("naive", "supported", 2)
    assert "T^1 refuted" in masked.sentence


def test_a_window_that_behaves_otherwise_is_refuted() -> None:
    window = {"mask": "sliding-window"}
    lie = sweep("tiled", case=window, seconds=lambda case: 1e-5 + 1e-9 * case.length_query**2)
    assert words(lie, claim="D-window") == [("tiled", "refuted")]
    lie = sweep("naive", case=window, noise=0.005, seconds=linear_time)
    assert words(lie, claim="D-window-mask") == [("naive", "refuted")]
    [few] = verdicts_of(sweep("tiled", OCTAVES[3:], case=window), claim="D-window")
    assert (few.verdict, few.reason[:4]) == ("inconclusive", "few:")
