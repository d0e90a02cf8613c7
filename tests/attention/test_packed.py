"""Packed sequences: the real tokens of a padded batch, each sequence right and alone."""

from __future__ import annotations

import pytest
import torch

from harness.attention.backends import BACKENDS
from harness.attention.inputs import keep_mask, make_inputs
from harness.attention.reference import oracle
from harness.attention.works.packed import PackedOracle, make_packed
from harness.cases.case import Case


def packed_case(mask: str, **fields: object) -> Case:
    return Case.square(30, heads=2, dim=8, batch=3, mask=mask, work="packed", **fields)


@pytest.mark.parametrize("mask", ["full", "causal", "padding", "causal-padding"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_the_packed_call_agrees(mask: str, dtype: str) -> None:
    packed = make_packed(packed_case(mask, dtype=dtype))
    output = BACKENDS["packed-sdpa"].prepare(packed.case, packed.fresh())()
    found = PackedOracle(packed).check(output)
    assert found.agrees, found.reason


@pytest.mark.parametrize("mask", ["padding", "causal-padding"])
def test_real_tokens_get_what_the_padded_batch_gives_them(mask: str) -> None:
    case = packed_case(mask, dtype="float64")
    packed = make_packed(case)
    output = BACKENDS["packed-sdpa"].prepare(case, packed)()
    padded = oracle(make_inputs(case.with_(work="attention")))
    assert case.kept_keys() == (27, 23, 19)
    for entry, (where, length) in enumerate(
        zip(packed.sequences(), case.kept_keys(), strict=True)
    ):
        torch.testing.assert_close(output[0, :, where], padded[entry, :, :length])


def test_a_sequence_that_sees_its_neighbour_disagrees() -> None:
    packed = make_packed(packed_case("padding"))
    whole = torch.nn.functional.scaled_dot_product_attention(
        packed.query, packed.key, packed.value
    )
    found = PackedOracle(packed).check(whole)
    assert not found.agrees
    assert found.reason is not None
    assert found.reason.startswith("sequence 0: largest error")
    assert not PackedOracle(packed).check(whole[:, :, :-1]).agrees


@pytest.mark.parametrize("mask", ["padding", "causal-padding"])
def test_work_and_bytes_are_those_of_the_real_tokens(mask: str) -> None:
    case = packed_case(mask)
    keep = keep_mask(case)
    pairs = sum(int(keep[entry, 0, :n].sum()) for entry, n in enumerate(case.kept_keys()))
    assert case.flops() == 2 * pairs * 2 * (8 + 8)
    packed = make_packed(case)
    assert case.output_bytes() == packed.value.numel() * 4
    assert case.input_bytes() == 3 * packed.value.numel() * 4
    assert case.id == f"packed-fwd-t30-b3-h2-d8-f32-{mask}"
