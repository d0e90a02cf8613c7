"""A toy model's logits are the same however they are made; a wrong mask or cache is caught."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from harness.attention.backends import BACKENDS
from harness.attention.behaviours import invariants
from harness.attention.works import cached
from harness.attention.works import model as learning
from harness.attention.works.cached import Cache
from harness.attention.works.model import EXACT, Model, logits, make_text, sequence_answer
from tests.support.works_cases import judge, work_case

SEQUENCE = [name for name, backend in BACKENDS.items() if backend.work == "sequence"]
STEPS = [name for name, backend in BACKENDS.items() if backend.work == "step"]
GENERATION = SEQUENCE + STEPS


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", GENERATION)
def test_all_ways_give_equal_logits(name: str, dtype: str) -> None:
    """Claims A11 and A12."""
    for length in (1, 2, 21):
        found = judge(name, length, dtype=dtype)
        assert found.agrees, found.reason


@pytest.mark.parametrize("name", GENERATION)
def test_bfloat16_agrees_or_is_refused(name: str) -> None:
    case = work_case(BACKENDS[name].work, dtype="bfloat16")
    if name == "cached-steps":
        assert "rounding" in (BACKENDS[name].unsupported(case) or "")
        return
    found = judge(name, dtype="bfloat16")
    assert found.agrees, found.reason


def test_the_oracles_one_pass_equals_a_pass_per_prefix() -> None:
    model = make_text(work_case("sequence", dtype="float64"))
    whole = sequence_answer(model).reference[:, 0]
    for end in range(1, 25):
        prefix = Model(**vars(model) | {"tokens": model.tokens[:, :end]})
        alone = logits(prefix, EXACT, dtype=torch.float64)[:, -1]
        assert torch.allclose(alone, whole[:, end - 1], atol=1e-12)


def greedy_by_recomputing(model: Model, length: int) -> torch.Tensor:
    tokens = model.tokens[:, :1]
    while tokens.shape[1] < length:
        last = cached.logits(model, tokens, last=1)
        tokens = torch.cat([tokens, last.argmax(-1)], 1)
    return tokens


@pytest.mark.parametrize("seed", range(5))
def test_greedy_tokens_with_a_cache_equal_those_of_recomputing(seed: int) -> None:
    """Claim A12: 24 tokens of two texts for each of several seeds."""
    model = make_text(work_case("sequence"), seed=seed)
    chosen = invariants.run(BACKENDS["cached-steps"], model).argmax(-1)
    again = greedy_by_recomputing(model, 24)
    assert torch.equal(chosen[:, :-1], again[:, 1:])
    assert torch.equal(model.tokens, again)  # the text that all backends are given
    assert len(set(again[0].tolist())) > 4  # a text of one token would hide a shift
    assert judge("cached-steps", seed=seed).agrees


@pytest.mark.parametrize("name", ["cached-steps", "step-cached"])
def test_a_cache_that_is_off_by_one_disagrees(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    extend = Cache.extend

    def short(self: Cache, number: int, *pair: torch.Tensor, start: int) -> Any:
        key, value = extend(self, number, *pair, start=start)
        return (key[:, :, 1:], value[:, :, 1:]) if start else (key, value)

    monkeypatch.setattr(Cache, "extend", short)
    assert not judge(name).agrees


@pytest.mark.parametrize("name", ["cached-steps", "step-cached"])
def test_keys_written_one_place_early_disagree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    extend = Cache.extend

    def early(self: Cache, number: int, *pair: torch.Tensor, start: int) -> Any:
        return extend(self, number, *pair, start=max(0, start - 1))

    monkeypatch.setattr(Cache, "extend", early)
    assert not judge(name).agrees


@pytest.mark.parametrize("shift", [-1, 1])
@pytest.mark.parametrize("name", ["one-pass", "prefix-passes", "step-recompute"])
def test_a_teacher_forcing_mask_shifted_by_one_disagrees(
    name: str, shift: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shifted(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        keep = torch.ones(query.shape[2], key.shape[2]).tril(shift).bool()
        keep[:, 0] = True
        return scaled_dot_product_attention(query, key, value, attn_mask=keep)

    monkeypatch.setattr(cached, "attend", shifted)
    assert not judge(name).agrees


@pytest.mark.parametrize("name", SEQUENCE)
def test_labels_shifted_by_one_disagree(name: str) -> None:
    model = make_text(work_case("sequence"))
    output = invariants.run(BACKENDS[name], model)
    assert sequence_answer(model).check(output).agrees
    assert not sequence_answer(model).check(output.roll(1, 1)).agrees


@pytest.mark.parametrize("name", GENERATION)
def test_a_second_call_gives_the_same(name: str) -> None:
    """The clock calls again and again: a cache must not grow."""
    from harness.attention.works import WORKS

    case = work_case(BACKENDS[name].work)
    inputs = WORKS[case.work].make_inputs(case)
    with torch.no_grad():
        call = BACKENDS[name].prepare(case, inputs)
        assert torch.equal(call(), call())


def trained(name: str, model: Model, grad_output: torch.Tensor) -> Any:
    """Return the agreement of one backend's gradients of every weight."""
    tensors = [one.requires_grad_() for one in learning.leaves(model)]
    output = BACKENDS[name].prepare(model.case, model)()
    found = torch.autograd.grad(output, tensors, grad_output)
    return learning.ModelGradients(model, grad_output).check(found)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["one-pass", "prefix-passes"])
def test_one_pass_learns_what_the_prefixes_do(name: str, dtype: str) -> None:
    """Claim A11 for the loss: the gradients of every weight are the same."""
    model = make_text(work_case("sequence", 12, dtype=dtype))
    found = trained(name, model, torch.randn(2, 12, 256, dtype=getattr(torch, dtype)))
    assert found.agrees, found.reason


def test_a_loss_that_leaves_a_position_out_disagrees() -> None:
    model = make_text(work_case("sequence", 12))
    grad_output = torch.randn(2, 12, 256)
    judge = learning.ModelGradients(model, grad_output)
    tensors = [one.requires_grad_() for one in learning.leaves(model)]
    grad_output[:, -1] = 0
    output = BACKENDS["one-pass"].prepare(model.case, model)()
    found = judge.check(torch.autograd.grad(output, tensors, grad_output))
    assert not found.agrees
    assert "gradient of " in (found.reason or "")


def test_the_gradient_is_the_slope() -> None:
    """A small step of one weight changes the loss by its gradient times the step."""
    model = make_text(work_case("sequence", 6, dtype="float64"))
    aim = torch.randn(2, 6, 256, dtype=torch.float64)
    gradient = learning.gradients_in(model, aim, dtype=torch.float64)[2][0, 0, 0, 0].item()
    losses = []
    for step in (-1e-5, 1e-5):
        moved = [one.clone() for one in learning.leaves(model)]
        moved[2][0, 0] += step
        output = logits(learning.with_leaves(model, moved), EXACT, dtype=torch.float64)
        losses.append((output * aim).sum().item())
    assert (losses[1] - losses[0]) / 2e-5 == pytest.approx(gradient, rel=1e-5)


@pytest.mark.parametrize("name", ["cached-steps", "step-cached", "step-recompute"])
def test_decoding_has_no_backward(name: str) -> None:
    case = work_case(BACKENDS[name].work, phase="forward_backward")
    assert "no backward" in (BACKENDS[name].unsupported(case) or "")
