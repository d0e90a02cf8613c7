"""Backward beside forward (D-backward), and what is held between them (D-training-memory)."""

from __future__ import annotations

from typing import Any

import pytest

from harness.analysis.claims import judge
from harness.analysis.claims.training import recomputes
from harness.cases.case import Case
from harness.records.record import Record, Status
from tests.support.sweep_tables import (
    Law,
    dense,
    failed,
    measured,
    no_matrix,
    table_of,
    two_matrices,
    verdicts_of,
    words,
)

LENGTHS = (128, 256, 512, 1024)


def both(backend: str, ratio: float, **fields: Any) -> list[Record]:
    """Make forward and backward of two lengths; backward takes `ratio` times forward."""
    made = []
    for length in (128, 512):
        case = Case.square(length)
        made.append(measured(backend, case, **fields))
        late = case.with_(phase="backward")
        made.append(measured(backend, late, seconds=lambda _, c=case: ratio * dense(c), **fields))
    return made


def one_matrix(case: Case) -> float:
    return case.score_bytes() + 2048 * case.length_query + 8


def lean(case: Case) -> float:
    return 1040 * case.length_query


def trained(
    backend: str, held: Law, lengths: tuple[int, ...] = LENGTHS, **fields: Any
) -> list[Record]:
    """Make a sweep of forward + backward with what is held between the two."""
    cases = [Case.square(length, phase="forward_backward", **fields) for length in lengths]
    peak = two_matrices if held is one_matrix else no_matrix
    return [measured(backend, each, peak=peak, held_bytes=round(held(each))) for each in cases]


def test_twice_forward_supports_it() -> None:
    [verdict] = verdicts_of(both("naive", 2.0), claim="D-backward")
    assert (verdict.verdict, verdict.expected) == ("supported", 2.0)
    assert verdict.observed == pytest.approx(2.0, rel=0.05)
    assert verdict.low is not None
    assert verdict.high is not None
    assert 1.5 < verdict.low <= 2.0 <= verdict.high < 4
    assert verdict.series["phase"] == "backward"
    assert "at T=512" in verdict.sentence
    assert "keeps the weights: 2 forwards" in verdict.reason


def test_a_kernel_that_recomputes_is_expected_to_take_more() -> None:
    [verdict] = verdicts_of(both("sdpa-flash", 2.6), claim="D-backward")
    assert (verdict.verdict, verdict.expected) == ("supported", 2.5)
    assert "computes the scores anew: 2.5 forwards" in verdict.reason


@pytest.mark.parametrize(("ratio", "kind"), [(1.0, "below"), (8.0, "above")])
def test_a_backward_out_of_the_band_refutes_it(ratio: float, kind: str) -> None:
    [verdict] = verdicts_of(both("naive", ratio), claim="D-backward")
    assert verdict.verdict == "refuted"
    assert verdict.reason.startswith(f"{kind}: ")


def test_noise_across_the_edge_leaves_it_open() -> None:
    assert words(both("naive", 1.5, noise=0.1), claim="D-backward") == [("naive", "inconclusive")]


def test_two_replicas_are_not_paired() -> None:
    [verdict] = verdicts_of(both("naive", 2.0, replicas=2), claim="D-backward")
    assert "too few replicas to pair" in verdict.reason


def test_backward_without_forward_is_not_measured() -> None:
    alone = [cell for cell in both("naive", 2.0) if cell.phase == "backward"]
    [verdict] = verdicts_of(alone, claim="D-backward")
    assert verdict.verdict == "not_measured"
    assert "no cell timed both forward and backward for naive" in verdict.reason


def test_a_backend_without_backward_says_why() -> None:
    case = Case.square(128, phase="backward")
    lost = [measured("tiled", Case.square(128))]
    lost += [failed("tiled", case, status=Status.UNSUPPORTED, reason="forward only")]
    [verdict] = verdicts_of(lost, claim="D-backward")
    assert (verdict.verdict, verdict.reason) == ("not_measured", "unsupported: forward only")


def test_another_kernel_in_training_is_told() -> None:
    cells = both("sdpa", 2.0)
    changed = [
        measured("sdpa", Case.square(cell.length_query, phase=cell.phase), kernel=kernel)
        for cell in cells
        for kernel in ["flash" if cell.phase == "forward" else "math"]
    ]
    [verdict] = verdicts_of(changed, claim="D-backward")
    assert "two kernels: flash forward, math in training" in verdict.reason
    assert verdict.expected == 2.0


@pytest.mark.parametrize(
    ("backend", "kernel", "anew"),
    [
        ("naive", None, False),
        ("sdpa-math", None, False),
        ("sdpa-flash", None, True),
        ("xformers-cutlass", None, True),
        ("flash-attn-3", None, True),
        ("flex", None, True),
        ("sdpa", "_scaled_dot_product_flash_attention_for_cpu", True),
        ("sdpa", "_scaled_dot_product_attention_math", False),
        ("of-a-user", None, False),
    ],
)
def test_who_recomputes(backend: str, kernel: str | None, *, anew: bool) -> None:
    cell = measured(backend, Case.square(64, phase="backward"), kernel=kernel)
    assert recomputes(cell) is anew


def test_weights_held_by_the_formula_and_not_by_the_kernel() -> None:
    found = verdicts_of(
        trained("naive", one_matrix), trained("sdpa-flash", lean), claim="D-training-memory"
    )
    assert [(each.series["backend"], each.verdict) for each in found] == [
        ("naive", "supported"),
        ("sdpa-flash", "supported"),
    ]
    assert [(each.observed, each.low, each.high) for each in found] == [
        (pytest.approx(1.0),) * 3,
        (0.0,) * 3,
    ]
    assert [each.expected for each in found] == [1.0, 0.0]
    assert "2,048 bytes per position" in found[0].reason
    assert "holds 1.00 score matrices between forward and backward" in found[0].sentence
    assert "holds no T² term" in found[1].sentence


def test_a_kernel_that_keeps_the_weights_is_refuted() -> None:
    [verdict] = verdicts_of(trained("sdpa-flash", one_matrix), claim="D-training-memory")
    assert verdict.verdict == "refuted"


def test_a_formula_without_weights_is_refuted() -> None:
    [verdict] = verdicts_of(trained("naive", lean), claim="D-training-memory")
    assert verdict.verdict == "refuted"
    assert "0.00 score matrices are held" in verdict.reason


def test_plain_sdpa_is_judged_by_its_kernel() -> None:
    for kernel, verdicts in (("_flash_attention", ["supported"]), ("math", [])):
        cells = [
            measured(
                "sdpa", Case.square(n, phase="forward_backward"), held_bytes=1040 * n,
                kernel=kernel,
            )
            for n in LENGTHS
        ]  # fmt: skip
        found = verdicts_of(cells, claim="D-training-memory")
        assert [each.verdict for each in found if each.series["backend"] == "sdpa"] == verdicts


def test_too_few_lengths_are_not_measured() -> None:
    [verdict] = verdicts_of(trained("naive", one_matrix, LENGTHS[:3]), claim="D-training-memory")
    assert verdict.verdict == "not_measured"
    assert "sweep of at least 4 values of T with a backward" in verdict.reason


def test_bytes_without_a_law_are_open() -> None:
    def odd(case: Case) -> float:
        return case.length_query**1.5 * 977

    [verdict] = verdicts_of(trained("naive", odd), claim="D-training-memory")
    assert verdict.verdict == "inconclusive"
    assert verdict.observed is None


def test_training_sweeps_leave_the_claims_on_forward_alone() -> None:
    """Six lengths of forward + backward: rowwise keeps T x T there, and C6 is about forward."""
    lengths = (64, 128, 256, 512, 1024, 2048)
    cells = [*trained("naive", one_matrix, lengths), *trained("rowwise", one_matrix, lengths)]
    verdicts = judge(table_of(cells), {})
    for claim in ("C1", "C3", "C4", "C5", "C6", "C7"):
        words = {each.verdict for each in verdicts if each.claim == claim}
        assert words == {"not_measured"}, claim
