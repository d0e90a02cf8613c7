"""One pass against one pass per token: true, planted lies, and too little data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from harness.cases.case import Case
from harness.records.record import Record, Status
from tests.support.sweep_tables import OCTAVES, sweep, verdicts_of, words

LENGTHS = (16, 32, 64, 128)
TEXT = {"work": "sequence", "mask": "causal", "dim": 16}
STEP = {"work": "step", "mask": "causal", "dim": 8, "heads": 8, "batch": 8}
EXACT = {"error_max": 1e-6, "tolerance": 1e-5, "agrees": True}


def once(case: Case) -> float:
    return 1e-4 + 1e-6 * case.length_query


def each(case: Case) -> float:
    """A call per token."""
    return case.length_query * 1e-4


def text(backend: str, seconds: Callable[[Case], float], **fields: Any) -> list[Record]:
    return sweep(backend, fields.pop("lengths", LENGTHS), case=TEXT, seconds=seconds, **fields)


def step(backend: str, power: float, *, floor: float = 1e-4) -> list[Record]:
    def seconds(case: Case) -> float:
        return floor + 1e-6 * case.length_query**power

    return sweep(backend, OCTAVES, case=STEP, seconds=seconds)


def test_a_ratio_that_grows_supports_c10() -> None:
    [verdict] = verdicts_of(text("one-pass", once), text("prefix-passes", each), claim="C10")
    assert verdict.verdict == "supported"
    assert verdict.observed == pytest.approx(128 / 16 * 116 / 228, rel=0.05)
    assert 1 < verdict.low < verdict.observed < verdict.high
    assert "at T=16" in verdict.reason
    assert "at T=128" in verdict.reason


def test_a_ratio_that_shrinks_refutes_c10() -> None:
    cheap = text("prefix-passes", lambda case: 2e-2 * once(case) / case.length_query)
    assert words(text("one-pass", once), cheap, claim="C10") == [("prefix-passes", "refuted")]


def test_a_ratio_that_stays_leaves_c10_open() -> None:
    same = text("prefix-passes", lambda case: 5 * once(case))
    assert words(text("one-pass", once), same, claim="C10") == [("prefix-passes", "inconclusive")]


@pytest.mark.parametrize("lengths", [(64,), (64, 128)])
def test_too_little_leaves_c10_open(lengths: tuple[int, ...]) -> None:
    short = text("prefix-passes", each, lengths=lengths)
    [verdict] = verdicts_of(text("one-pass", once), short, claim="C10")
    assert verdict.verdict == "inconclusive"
    assert "few" in verdict.reason


def test_c10_without_a_single_pass_beside_it_is_open() -> None:
    assert words(text("prefix-passes", each), claim="C10") == [("prefix-passes", "inconclusive")]


def test_c10_is_judged_apart_for_training() -> None:
    both = [
        sweep(name, LENGTHS, case=TEXT | {"phase": phase}, seconds=law)
        for name, law in (("one-pass", once), ("prefix-passes", each))
        for phase in ("forward", "forward_backward")
    ]
    found = verdicts_of(*both, claim="C10")
    assert [one.series["phase"] for one in found] == ["forward", "forward_backward"]
    assert {one.verdict for one in found} == {"supported"}


def test_decoding_that_takes_longer_supports_c11() -> None:
    [verdict] = verdicts_of(text("one-pass", once), text("cached-steps", each), claim="C11")
    assert (verdict.verdict, verdict.expected) == ("supported", 1)
    assert 1 < verdict.low < verdict.observed < verdict.high


def test_decoding_that_is_faster_refutes_c11() -> None:
    fast = text("cached-steps", lambda case: once(case) / 2)
    assert words(text("one-pass", once), fast, claim="C11") == [("cached-steps", "refuted")]


def test_nothing_beside_decoding_leaves_c11_open() -> None:
    assert words(text("cached-steps", each), claim="C11") == [("cached-steps", "inconclusive")]


def test_c12_asks_for_one_with_a_cache_and_two_without() -> None:
    found = verdicts_of(step("step-cached", 1), step("step-recompute", 2), claim="C12")
    assert [(one.verdict, one.expected) for one in found] == [("supported", 1), ("supported", 2)]


def test_planted_exponents_refute_c12() -> None:
    swapped = words(step("step-cached", 2), step("step-recompute", 1), claim="C12")
    assert swapped == [("step-cached", "refuted"), ("step-recompute", "refuted")]


def test_overhead_leaves_c12_open() -> None:
    [verdict] = verdicts_of(step("step-cached", 1, floor=1e-2), claim="C12")
    assert verdict.verdict == "inconclusive"
    assert "floor" in verdict.reason


def answered(*names: str, work: dict[str, Any] = TEXT) -> list[Record]:
    return [one for name in names for one in sweep(name, LENGTHS, case=work, **EXACT)]


def test_agreement_supports_a11_and_a12() -> None:
    whole = answered("one-pass", "prefix-passes", "cached-steps")
    one = answered("step-cached", work=STEP)
    for claim, names in (
        ("A11", ["one-pass", "prefix-passes"]),
        ("A12", ["cached-steps", "step-cached"]),
    ):
        found = verdicts_of(whole, one, claim=claim)
        assert [each.series["backend"] for each in found] == names
        assert {each.verdict for each in found} == {"supported"}
        assert found[0].low == found[0].observed == found[0].high == pytest.approx(0.1)


@pytest.mark.parametrize(("name", "claim"), [("one-pass", "A11"), ("cached-steps", "A12")])
def test_one_wrong_cell_refutes(name: str, claim: str) -> None:
    cells = answered(name)
    lie = {"status": Status.DISAGREES, "agrees": False, "reason": "largest error 1"}
    cells[1] = replace(cells[1], **lie)
    [verdict] = verdicts_of(cells, claim=claim)
    assert verdict.verdict == "refuted"
    assert "largest error 1" in verdict.reason


def test_nothing_measured_is_said() -> None:
    for claim in ("A11", "A12", "C10", "C11", "C12"):
        assert words(sweep("naive"), claim=claim) == [(None, "not_measured")]
