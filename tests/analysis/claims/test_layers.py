"""A recurrence's steps and a layer's projections: true, planted lies, and too little data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.analysis.claims.generation import crossing
from harness.cases.case import Case
from harness.records.record import Record
from tests.support.sweep_tables import OCTAVES, sweep, verdicts_of, words

FIXED = {"mask": "causal", "dim": 32}


def swept(name: str, work: str, seconds: Callable[[Case], float], **fields: Any) -> list[Record]:
    lengths = fields.pop("lengths", OCTAVES)
    return sweep(name, lengths, case=FIXED | {"work": work}, seconds=seconds, **fields)


def steps(case: Case) -> float:
    return 1e-5 + 1e-5 * case.length_query


def products(case: Case) -> float:
    return 1e-5 + 1e-6 * case.length_query


def layer(case: Case) -> float:
    """Products and attention: as long at T = 400."""
    return 1e-5 + 1e-6 * case.length_query + 2.5e-9 * case.length_query**2


SDPA = swept("layer-sdpa", "layer", layer)


@pytest.mark.parametrize("name", ["rnn", "gru", "lstm"])
def test_linear_steps_support_c8(name: str) -> None:
    [verdict] = verdicts_of(swept(name, name, steps), SDPA, claim="C8")
    assert (verdict.verdict, verdict.expected) == ("supported", 1)
    assert verdict.low <= verdict.observed <= verdict.high
    assert verdict.observed == pytest.approx(1, abs=0.05)
    assert "T steps, one after another" in verdict.reason
    assert "at T=64" in verdict.reason


def test_a_recurrence_that_is_quadratic_refutes_c8() -> None:
    lie = swept("rnn", "rnn", lambda case: 1e-4 + 1e-6 * case.length_query**2)
    assert words(lie, SDPA, claim="C8") == [("rnn", "refuted")]


def test_a_recurrence_that_does_not_wait_refutes_c8() -> None:
    lie = swept("rnn", "rnn", lambda case: steps(case) / 100)
    assert words(lie, SDPA, claim="C8") == [("rnn", "refuted")]


def test_too_little_leaves_c8_open() -> None:
    [verdict] = verdicts_of(swept("rnn", "rnn", steps), claim="C8")
    assert verdict.verdict == "inconclusive"
    assert "no length measured in both" in verdict.reason
    short = swept("rnn", "rnn", steps, lengths=OCTAVES[:4])
    [verdict] = verdicts_of(short, SDPA, claim="C8")
    assert verdict.verdict == "inconclusive"
    assert "few" in verdict.reason


def test_projections_support_c13_and_meet_attention() -> None:
    parts = swept("projections", "projections", products)
    [verdict] = verdicts_of(parts, SDPA, claim="C13")
    assert (verdict.verdict, verdict.expected) == ("supported", 1)
    assert verdict.series["backend"] == "layer-sdpa"
    words = verdict.reason.split("as long at T=")[1]
    assert float(words.split(" ")[0]) == pytest.approx(400, rel=0.1)


def test_projections_that_grow_as_attention_refute_c13() -> None:
    lie = swept("projections", "projections", lambda case: layer(case) / 3)
    assert words(lie, SDPA, claim="C13") == [("layer-sdpa", "refuted")]


def test_a_share_that_grows_refutes_c13() -> None:
    slow = swept("layer-sdpa", "layer", lambda case: 4e-5 * case.length_query**0.5)
    parts = swept("projections", "projections", products)
    assert words(parts, slow, claim="C13") == [("layer-sdpa", "refuted")]


def test_a_layer_without_its_projections_is_no_part_of_c13() -> None:
    [verdict] = verdicts_of(SDPA, claim="C13")
    assert verdict.verdict == "not_measured"
    parts = swept("projections", "projections", products, lengths=OCTAVES[:1])
    assert words(SDPA, parts, claim="C13") == [("layer-sdpa", "inconclusive")]


def test_where_shares_cross_one_half() -> None:
    assert crossing([100, 400], [0.75, 0.25]) == pytest.approx(200)
    assert crossing([100, 400, 1600], [0.9, 0.5, 0.1]) == pytest.approx(400)
    assert crossing([100, 400], [0.4, 0.1]) is None
    assert crossing([100], [0.4]) is None
