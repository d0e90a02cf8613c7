"""The oracle against brute force and the worked example; its gradients against autograd."""

from __future__ import annotations

import pytest
import torch

from harness.attention import reference
from harness.attention.gradients import check_gradients, oracle_gradients
from harness.attention.inputs import Inputs, keep_mask, make_inputs
from harness.attention.reference import checked_rows, oracle
from harness.cases.masks import MASK_CODES
from tests.support.worked_example import case_of, worked_example

# ALiBi adds a bias as well: test_alibi.py has it.
PLAIN_MASKS = [mask for mask in MASK_CODES if mask != "alibi"]


def brute_force(inputs: Inputs) -> torch.Tensor:
    """One row at a time with plain sums, in float64."""
    case = inputs.case
    keep = keep_mask(case).expand(case.batch, 1, -1, -1)
    output = torch.zeros(case.batch, case.heads, case.length_query, case.dim_value).double()
    for b, h, i in torch.cartesian_prod(*map(torch.arange, output.shape[:3])).tolist():
        group = h // (case.heads // case.heads_kv)
        seen = keep[b, 0, i]
        scores = inputs.key[b, group, seen].double() @ inputs.query[b, h, i].double()
        weights = (scores * inputs.scale).exp()
        if seen.any():
            output[b, h, i] = weights @ inputs.value[b, group, seen].double() / weights.sum()
    return output


@pytest.mark.parametrize("mask", PLAIN_MASKS)
@pytest.mark.parametrize(("rows", "keys"), [(5, 5), (3, 9), (9, 3)])
def test_oracle_is_brute_force(
    mask: str, rows: int, keys: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference, "CHUNK_BYTES", 1024)
    case = case_of(mask, rows, keys, heads=4, heads_kv=2, batch=2, dim_key=6, dim_value=3)
    inputs = make_inputs(case)
    expected = brute_force(inputs)
    torch.testing.assert_close(oracle(inputs), expected, rtol=1e-12, atol=1e-12)
    picked = torch.tensor([0, rows - 1])
    torch.testing.assert_close(oracle(inputs, picked), expected[:, :, picked])


def test_worked_example() -> None:
    output = oracle(worked_example("full")).flatten()
    assert output[0].item() == pytest.approx(17 / 3, rel=1e-14)


def test_empty_rows_are_zero_and_the_rest_is_not() -> None:
    output = oracle(make_inputs(case_of("causal-bottom-right", 5, 2)))
    assert not output[:, :, :3].any()
    assert output[:, :, 3:].all()


def test_checked_rows_are_all_or_a_seeded_subset_with_the_edges() -> None:
    assert torch.equal(checked_rows(4096), torch.arange(4096))
    rows = checked_rows(16384)
    assert torch.equal(rows, checked_rows(16384))
    assert len(rows) >= 256
    assert rows.unique().equal(rows)
    assert {0, 1, 16382, 16383} <= set(rows.tolist())
    edges = [row for row in rows.tolist() if row % 64 == 0 and row]
    assert len(edges) >= 32
    assert all(row - 1 in rows and row + 1 in rows for row in edges[:4])


def test_memory_of_the_oracle_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    whole = reference.exact

    def spy(query: torch.Tensor, key: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        sizes.append(query.shape[:3].numel() * key.shape[2] * 8)
        return whole(query, key, *rest)

    monkeypatch.setattr(reference, "exact", spy)
    oracle(make_inputs(case_of("causal", 2048, 2048, heads=2, heads_kv=2, dim_key=8)))
    assert max(sizes) <= reference.CHUNK_BYTES
    assert len(sizes) > 4


@pytest.mark.parametrize("mask", PLAIN_MASKS)
@pytest.mark.parametrize(("rows", "keys"), [(7, 7), (4, 9), (9, 4)])
def test_gradients_are_those_of_autograd(mask: str, rows: int, keys: int) -> None:
    case = case_of(mask, rows, keys, heads_kv=2, batch=2, dim_value=5, dtype="float64")
    inputs = make_inputs(case)
    leaves = [t.requires_grad_() for t in (inputs.query, inputs.key, inputs.value)]
    output = torch.nn.functional.scaled_dot_product_attention(
        *leaves, attn_mask=keep_mask(case), enable_gqa=True
    )
    seed = torch.randn(
        output.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2)
    )
    expected = torch.autograd.grad(output, leaves, seed)
    for ours, theirs in zip(oracle_gradients(inputs, seed), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)
    assert check_gradients(expected, inputs, grad_output=seed).agrees
    wrong = (expected[0], expected[1] * 1.01, expected[2])
    found = check_gradients(wrong, inputs, grad_output=seed)
    assert not found.agrees
    assert found.reason is not None
    assert found.reason.startswith("gradient of key: largest error")
