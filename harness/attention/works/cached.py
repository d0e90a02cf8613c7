"""Cached: the toy model as a program runs it, with torch's kernels and a cache of keys and values.

The model's right logits are in model.py, by other formulas. A step of one token is mostly the
overhead of its calls, so views are taken by the cheapest of torch's ways.
"""

from __future__ import annotations

import torch
from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention

from harness.attention.works.model import Block, Model

Pair = tuple[torch.Tensor, torch.Tensor]


class Cache:
    """Hold keys and values [batch, heads, length, dim] of each block, written as they come."""

    def __init__(self, model: Model) -> None:
        case = model.case
        shape = (case.batch, case.heads, case.length_key, case.dim_key)
        make = model.embedding.new_empty
        self.kept = [(make(shape), make(shape)) for _ in model.blocks]

    def extend(self, number: int, key: torch.Tensor, value: torch.Tensor, *, start: int) -> Pair:
        """Write keys and values [B, H, new, D] of block `number` from position `start` on.

        Returns all keys and values up to and with the new ones: views, nothing else is copied.
        """
        count = key.shape[2]
        keys, values = self.kept[number]
        keys.narrow(2, start, count).copy_(key)
        values.narrow(2, start, count).copy_(value)
        return keys.narrow(2, 0, start + count), values.narrow(2, 0, start + count)


def logits(
    model: Model,
    tokens: torch.Tensor,
    *,
    cache: Cache | None = None,
    start: int = 0,
    last: int | None = None,
) -> torch.Tensor:
    """Run tokens [batch, new] that stand at position `start`; return [batch, new, vocabulary].

    `start` above 0 needs the cache that holds all before, and one token at a time. `last` keeps
    the logits of so many positions only.
    """
    width = (model.case.width,)
    states = model.embedding[tokens] + model.positions.narrow(0, start, tokens.shape[1])
    for number, block in enumerate(model.blocks):
        query, key, value = project(model, block, layer_norm(states, width))
        if cache is not None:
            key, value = cache.extend(number, key, value, start=start)
        heads = attend(query, key, value)
        states = states + linear(heads.transpose(1, 2).flatten(2), block.output)
        wide = gelu(linear(layer_norm(states, width), block.widen))
        states = states + linear(wide, block.narrow)
    if last is not None:
        states = states[:, -last:]
    return linear(layer_norm(states, width), model.unembedding)


def project(
    model: Model, block: Block, states: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return query, key and value [batch, heads, new, dim] of states [batch, new, width]."""
    case = model.case
    shape = (*states.shape[:2], 3, case.heads, case.dim_key)
    query, key, value = linear(states, block.packed).view(shape).permute(2, 0, 3, 1, 4).unbind(0)
    return query, key, value


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Let one new position see all keys, and several from the start on see the past alone.

    With one query over many keys torch's is_causal would show it the first key alone.
    """
    return scaled_dot_product_attention(query, key, value, is_causal=query.shape[2] > 1)
