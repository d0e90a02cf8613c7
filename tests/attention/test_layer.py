"""A layer is the concatenation of its heads times W^O; its products stand alone (A10, C13)."""

from __future__ import annotations

import pytest
import torch

from harness.attention.backends import BACKENDS
from harness.attention.behaviours import invariants
from harness.attention.works.layer import Hidden, layer_answer, make_hidden, projections_answer
from tests.support.works_cases import judge, work_case

LAYERS = [name for name, backend in BACKENDS.items() if backend.work == "layer"]


def by_heads(hidden: Hidden) -> torch.Tensor:
    """Write the layer out head by head, with loops and a triangle of ones."""
    case, x = hidden.case, hidden.states.double()
    weights = {name: one.double() for name, one in hidden.weights.items()}
    heads = []
    for head in range(case.heads):
        part = slice(head * case.dim_key, (head + 1) * case.dim_key)
        query, key, value = (x @ weights[n][part].T for n in ("query", "key", "value"))
        scores = query @ key.transpose(1, 2) / case.dim_key**0.5
        if case.mask == "causal":
            future = torch.ones(scores.shape[-2:]).triu(1).bool()
            scores = scores.masked_fill(future, float("-inf"))
        heads.append(scores.softmax(-1) @ value)
    return torch.cat(heads, -1) @ weights["output"].T


@pytest.mark.parametrize("mask", ["full", "causal"])
def test_the_oracle_is_the_formula_head_by_head(mask: str) -> None:
    hidden = make_hidden(work_case("layer", mask=mask, dtype="float64"))
    assert torch.allclose(layer_answer(hidden).reference[:, 0], by_heads(hidden), atol=1e-12)


@pytest.mark.parametrize("mask", ["full", "causal"])
def test_naive_equals_multi_head_attention_in_float64(mask: str) -> None:
    """Claim A10, with the weights copied."""
    hidden = make_hidden(work_case("layer", mask=mask, dtype="float64"))
    naive, module = (invariants.run(BACKENDS[f"layer-{n}"], hidden) for n in ("naive", "mha"))
    assert torch.allclose(naive, module, atol=1e-12)
    assert torch.allclose(naive, by_heads(hidden), atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("mask", ["full", "causal", "padding", "sliding-window"])
@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_agrees_or_refuses(name: str, mask: str, dtype: str) -> None:
    if BACKENDS[name].unsupported(work_case("layer", mask=mask)):
        assert name == "layer-mha"
        return
    for length in (1, 33, 80):
        found = judge(name, length, mask=mask, dtype=dtype)
        assert found.agrees, found.reason


def test_above_4096_positions_a_subset_is_checked() -> None:
    found = judge("layer-sdpa", 4100, heads=1, batch=1)
    assert found.agrees, found.reason


def swapped(hidden: Hidden, **names: str) -> Hidden:
    weights = {name: hidden.weights[names.get(name, name)] for name in hidden.weights}
    return Hidden(hidden.case, hidden.states, weights)


@pytest.mark.parametrize("names", [{"query": "key", "key": "query"}, {"output": "value"}])
@pytest.mark.parametrize("name", LAYERS)
def test_mixed_up_weights_disagree(name: str, names: dict[str, str]) -> None:
    hidden = make_hidden(work_case("layer"))
    output = invariants.run(BACKENDS[name], swapped(hidden, **names))
    assert not layer_answer(hidden).check(output).agrees


def test_heads_laid_out_wrongly_disagree() -> None:
    hidden = make_hidden(work_case("layer"))
    output = layer_answer(hidden).reference[:, 0].float()
    assert layer_answer(hidden).check(output).agrees
    mixed = output.view(2, 24, 4, 8).transpose(2, 3).reshape(output.shape)
    assert not layer_answer(hidden).check(mixed).agrees
    assert not layer_answer(hidden).check(output * float("nan")).agrees
    assert "shape" in (layer_answer(hidden).check(output[:, :-1]).reason or "")
    assert "dtype" in (layer_answer(hidden).check(output.double()).reason or "")


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_projections_are_the_four_products(dtype: str) -> None:
    found = judge("projections", dtype=dtype)
    assert found.agrees, found.reason
    hidden = make_hidden(work_case("projections"))
    output = invariants.run(BACKENDS["projections"], hidden).view(4, 2, 24, 32)
    value = hidden.states @ hidden.weights["value"].T
    assert torch.allclose(output[2], value, atol=1e-5)
    assert torch.allclose(output[3], value @ hidden.weights["output"].T, atol=1e-5)
    assert not projections_answer(hidden).check(output.flip(0).reshape(8, 24, 32)).agrees
