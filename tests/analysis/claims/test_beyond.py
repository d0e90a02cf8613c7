"""Section D: cross-attention, grouped heads, ALiBi; true laws, planted lies, little data."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.cases.case import Case
from harness.records.record import Record, Status
from tests.support.sweep_tables import dense, failed, measured, no_matrix, verdicts_of

RIGHT = {"agrees": True, "error_max": 3e-7, "tolerance": 1e-6}
GROUPS = (1, 2, 4, 8)


def crossed(backend: str = "naive", **fields: object) -> list[Record]:
    cases = [Case.square(64).with_(length_key=512), Case.square(512).with_(length_key=64)]
    return [measured(backend, case, **(RIGHT | fields)) for case in cases]


def grouped(*, backend: str = "naive", copies: bool = False, speed: float = 1.0) -> list[Record]:
    """Eight query heads on 1 to 8 key heads; a copy repeats K and V for every query head."""
    records = []
    for heads in GROUPS:
        case = Case.square(512, heads=8, heads_kv=heads)
        spare = 4 * (8 - heads) * 512 * 128 if copies else 0
        records.append(
            measured(
                backend,
                case,
                peak=lambda each, spare=spare: no_matrix(each) + spare,
                seconds=lambda each: dense(each) * (1 if each.heads_kv == 8 else speed),
                noise=0.002,
                **RIGHT,
            )
        )
    return records


def test_crossed_cells_that_agree_support_d_cross() -> None:
    [verdict] = verdicts_of(crossed(), claim="D-cross")
    assert verdict.verdict == "supported"
    assert verdict.reason == "2 cells agree, error at most 0.3 of what is allowed"
    assert (verdict.observed, verdict.low, verdict.high) == pytest.approx((0.3,) * 3)
    assert verdict.series["backend"] == "naive"


def test_one_crossed_cell_that_disagrees_refutes_d_cross() -> None:
    good, bad = crossed()
    bad = replace(bad, status=Status.DISAGREES, reason="largest error 1 at [0, 0, 3, 1]")
    [verdict] = verdicts_of([good, bad], claim="D-cross")
    assert verdict.verdict == "refuted"
    assert "1 of 2 cells disagree" in verdict.reason
    assert "t512-k64" in verdict.reason


def test_a_crash_leaves_d_cross_open_and_a_refusal_does_not() -> None:
    good, lost = crossed()
    lost = replace(lost, status=Status.CRASHED, reason="signal 11")
    [verdict] = verdicts_of([good, lost], claim="D-cross")
    assert verdict.verdict == "inconclusive"
    lost = replace(lost, status=Status.UNSUPPORTED, reason="square only")
    [verdict] = verdicts_of([good, lost], claim="D-cross")
    assert (verdict.verdict, "1 cell agrees, 1 refused" in verdict.reason) == ("supported", True)
    [verdict] = verdicts_of([lost], claim="D-cross")
    assert verdict.verdict == "not_measured"
    assert "square only" in verdict.reason


def test_square_cells_do_not_bear_on_d_cross() -> None:
    [verdict] = verdicts_of(grouped(), claim="D-cross")
    assert verdict.verdict == "not_measured"


def test_bytes_that_fall_with_the_key_heads_support_d_gqa() -> None:
    [verdict] = verdicts_of(grouped(), claim="D-gqa")
    assert (verdict.verdict, verdict.observed) == ("supported", 1.0)
    assert "saves 100% of 1,835,008 B of K and V, heads_kv 8 to 1" in verdict.reason
    assert "heads_kv in {1, 2, 4, 8}, B=1 H=8 D=64 T=512" in verdict.reason


def test_a_call_that_repeats_k_and_v_refutes_d_gqa() -> None:
    [verdict] = verdicts_of(grouped(copies=True), claim="D-gqa")
    assert (verdict.verdict, verdict.observed) == ("refuted", 0.0)
    assert "repeats K and V" in verdict.reason


def test_a_group_that_disagrees_refutes_d_gqa() -> None:
    records = grouped()
    records[0] = replace(records[0], status=Status.DISAGREES, reason="wrong head")
    [verdict] = verdicts_of(records, claim="D-gqa")
    assert verdict.verdict == "refuted"
    assert "1 of 4 cells disagree" in verdict.reason


def test_two_values_or_none_with_all_heads_are_no_sweep() -> None:
    for records in (grouped()[2:], grouped()[:3]):
        for claim in ("D-gqa", "D-gqa-time"):
            [verdict] = verdicts_of(records, claim=claim)
            assert verdict.verdict == "not_measured"


@pytest.mark.parametrize(
    ("speed", "word"), [(0.5, "supported"), (1.0, "inconclusive"), (1.5, "refuted")]
)
def test_the_time_of_fewer_key_heads_is_judged_by_its_ratio(speed: float, word: str) -> None:
    [verdict] = verdicts_of(grouped(speed=speed), claim="D-gqa-time")
    assert verdict.verdict == word
    assert verdict.observed == pytest.approx(1 / speed, rel=0.02)
    assert "heads_kv=1 " in verdict.reason
    assert "heads_kv=4 " in verdict.reason


def alibi(factor: float = 1.2, **fields: object) -> list[Record]:
    plain = measured("tiled", Case.square(512, mask="causal"), **RIGHT)
    case = Case.square(512, mask="alibi")
    tilted = measured("tiled", case, seconds=lambda each: factor * dense(each), **RIGHT)
    return [plain, replace(tilted, **fields)]


def test_alibi_that_agrees_is_supported_with_its_cost() -> None:
    [verdict] = verdicts_of(alibi(), claim="D-alibi")
    assert verdict.verdict == "supported"
    assert verdict.observed == pytest.approx(1.2, rel=0.03)
    assert verdict.low < verdict.observed < verdict.high
    assert "agrees under ALiBi, time over plain causal 1." in verdict.sentence
    assert verdict.expected is None


def test_alibi_that_disagrees_is_refuted_and_alone_it_has_no_ratio() -> None:
    [verdict] = verdicts_of(alibi(status=Status.DISAGREES, reason="no bias"), claim="D-alibi")
    assert verdict.verdict == "refuted"
    [verdict] = verdicts_of(alibi()[1:], claim="D-alibi")
    assert (verdict.verdict, verdict.observed) == ("supported", None)
    assert "no causal cell" in verdict.reason


def test_alibi_that_all_refuse_is_not_measured() -> None:
    case = Case.square(512, mask="alibi")
    lost = failed("xformers", case, status=Status.UNSUPPORTED, reason="no bias per head")
    [verdict] = verdicts_of([lost], claim="D-alibi")
    assert verdict.verdict == "not_measured"
    assert verdict.reason == "unsupported: no bias per head"


def batched(mask: str = "padding", *, speed: float = 2.0, **fields: object) -> list[Record]:
    """A padded call, and a packed one that is so many times as fast."""
    padded = Case.square(512, batch=4, mask=mask)
    packed = measured("packed-sdpa", padded.with_(work="packed"), noise=0.002, **RIGHT)
    assert packed.time_median_s is not None
    slow = packed.time_median_s * speed
    return [
        measured("sdpa", padded, seconds=lambda case: slow, noise=0.002, **RIGHT),
        replace(packed, **fields),
    ]


@pytest.mark.parametrize(
    ("speed", "word"), [(1.7, "supported"), (1.0, "inconclusive"), (0.6, "refuted")]
)
def test_the_packed_time_is_judged_by_its_ratio(speed: float, word: str) -> None:
    [verdict] = verdicts_of(batched(speed=speed), claim="D-varlen")
    assert verdict.verdict == word
    assert verdict.observed == pytest.approx(speed, rel=0.02)
    assert verdict.series["backend"] == "packed-sdpa"
    assert "padded over packed: sdpa " in verdict.reason
    assert "1.74x fewer pairs, B=4 H=4" in verdict.reason
    [verdict] = verdicts_of(batched("causal-padding", speed=speed), claim="D-varlen")
    assert "1.73x fewer pairs" in verdict.reason


def test_packed_tokens_that_disagree_refute_d_varlen() -> None:
    lost = {"status": Status.DISAGREES, "reason": "sequence 1: largest error 1"}
    [verdict] = verdicts_of(batched(**lost), claim="D-varlen")
    assert (verdict.verdict, verdict.observed) == ("refuted", None)
    [verdict] = verdicts_of(batched()[1:], claim="D-varlen")
    assert verdict.verdict == "not_measured"
    assert "no cell timed both padded and packed for packed-sdpa" in verdict.reason
