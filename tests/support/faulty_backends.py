"""Backends with one fault each, for the behaviours to catch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from harness.attention.backend import Backend, wrap_function


def scores(query: Any, key: Any, mask: Any, scale: float) -> Any:
    found = (query * scale) @ key.mT
    return found if mask is None else found.masked_fill(~mask, float("-inf"))


def honest(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return scores(query, key, mask, scale).softmax(-1) @ value


def upside_down_mask(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return honest(query, key, value, mask if mask is None else mask.flip(-1, -2), scale)


def inverted_mask(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return honest(query, key, value, mask if mask is None else ~mask, scale)


def sees_one_less(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    """A causal mask that leaves the own position out."""
    return honest(query, key, value, mask if mask is None else mask.tril(-1), scale)


def mask_after_softmax(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    weights = scores(query, key, None, scale).softmax(-1)
    return (weights if mask is None else weights * mask) @ value


def no_scale(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return honest(query, key, value, mask, 1.0)


def gives_nan(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return honest(query, key, value, mask, scale) * float("nan")


def mean_of_values(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return value.mean(2, keepdim=True).expand(*query.shape[:3], -1)


def unnormalised(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return scores(query, key, mask, scale).exp() @ value


def waits_for_the_row_before(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    found = honest(query, key, value, mask, scale)
    return found + 0.1 * found.roll(1, dims=2)


def swaps_heads(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return honest(query, key, value, mask, scale).flip(1)


def hides_nan(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return honest(query, key, value, mask, scale).nan_to_num()


def zero_for_padding(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    """Takes the rows of padded queries for padding too."""
    found = honest(query, key, value, mask, scale)
    if mask is None or mask.shape[-1] != mask.shape[-2]:
        return found
    return found * mask[:, :, -1, :, None]


def overflows(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    """Scales after the product."""
    found = (query @ key.mT) * scale
    found = found if mask is None else found.masked_fill(~mask, float("-inf"))
    return found.softmax(-1) @ value


def first_key_of_each_tile(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    """Reads lengths in blocks of 32 and forgets what is left over."""
    keys = max(32, key.shape[2] // 32 * 32)
    mask = mask if mask is None else mask[..., :keys]
    return honest(query, key[:, :, :keys], value[:, :, :keys], mask, scale)


class ForgetsATerm(torch.autograd.Function):
    """A backward without the row sum of dO ∘ O."""

    @staticmethod
    def forward(ctx: Any, query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
        weights = scores(query, key, mask, scale).softmax(-1)
        ctx.save_for_backward(query, key, value, weights)
        ctx.scale = scale
        return weights @ value

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        query, key, value, weights = ctx.saved_tensors
        grad_scores = (grads[0] @ value.mT) * weights * ctx.scale
        return grad_scores @ key, grad_scores.mT @ query, weights.mT @ grads[0], None, None


def forgets_a_term(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    return ForgetsATerm.apply(query, key, value, mask, scale)


def raises(query: Any, key: Any, value: Any, mask: Any, scale: float) -> Any:
    raise RuntimeError("the kernel is not built for this shape")


def fault(function: Callable[..., Any]) -> Backend:
    return wrap_function(function.__name__.replace("_", "-"), function)
