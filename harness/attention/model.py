"""Model: a toy causal model with seeded weights, and its logits by formulas.

Token and position embedding, blocks of x + attention(norm(x)) and x + perceptron(norm(x)), a last
norm and an unembedding. Norms without gain, products without bias. Formulas only: nothing here is
what a backend calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import torch

from harness.attention.hidden import draw_weight, split_heads
from harness.attention.inputs import Inputs
from harness.attention.reference import by_rows, exact, plain
from harness.case import Case
from harness.work_costs import BLOCKS, VOCABULARY, WIDENING

EPSILON = 1e-5  # added to the variance by a norm
# From query, key and value of all heads to the heads [batch, heads, length, dim].
# `rows=` are the positions wanted.
Mix = Callable[..., torch.Tensor]
EXACT: Mix = partial(by_rows, formula=exact)
PLAIN: Mix = partial(by_rows, formula=plain)


@dataclass(frozen=True)
class Block:
    """Hold the matrices of a block, [out, in]: W^Q W^K W^V stacked, W^O, and the perceptron's."""

    packed: torch.Tensor
    output: torch.Tensor
    widen: torch.Tensor
    narrow: torch.Tensor


@dataclass
class Model:
    """Hold tokens [batch, length] and all weights; `mask_bytes` stays 0, no mask is built."""

    case: Case
    tokens: torch.Tensor
    embedding: torch.Tensor
    positions: torch.Tensor
    blocks: tuple[Block, ...]
    unembedding: torch.Tensor
    mask_bytes: int = field(default=0)

    def fresh(self) -> Model:
        """Return a copy that shares the tensors."""
        return replace(self, mask_bytes=0)


def make_model(case: Case, *, seed: int = 0) -> Model:
    """Draw weights, and random tokens from the same seed."""
    generator = torch.Generator().manual_seed(seed)
    width, wide = case.width, WIDENING * case.width

    def draw(*shape: int) -> torch.Tensor:
        return draw_weight(case, *shape, generator=generator)

    blocks = tuple(
        Block(draw(3 * width, width), draw(width, width), draw(wide, width), draw(width, wide))
        for _ in range(BLOCKS)
    )
    # Embeddings of unit variance, so that place and token count alike beside the blocks.
    embedding, unembedding = draw(VOCABULARY, width) * width**0.5, draw(VOCABULARY, width)
    shape = (case.batch, case.length_query)
    tokens = torch.randint(VOCABULARY, shape, generator=generator).to(case.device)
    positions = draw(case.length_query, width) * width**0.5
    return Model(case, tokens, embedding, positions, blocks, unembedding)


def logits(
    model: Model, mix: Mix, *, dtype: torch.dtype, rows: torch.Tensor | None = None
) -> torch.Tensor:
    """Compute one causal pass over all tokens in `dtype`; `mix` is how attention is computed.

    `rows` are the positions of which the logits are wanted: the last block need not see others.
    """
    case = model.case.with_(length_query=model.tokens.shape[1], length_key=model.tokens.shape[1])
    states = model.embedding.to(dtype)[model.tokens]
    states = states + model.positions.to(dtype)[: case.length_query]
    for block in model.blocks:
        if rows is not None and block is model.blocks[-1]:
            mixed = attend(norm(states), block, case, partial(mix, rows=rows))
            states = states[:, rows.to(states.device)] + mixed
        else:
            states = states + attend(norm(states), block, case, mix)
        wide = norm(states) @ block.widen.to(dtype).mT
        # GELU (Hendrycks and Gimpel 2016): x Φ(x) with the exact normal distribution.
        wide = wide * (1 + torch.erf(wide * 2**-0.5)) / 2
        states = states + wide @ block.narrow.to(dtype).mT
    return norm(states) @ model.unembedding.to(dtype).mT


def attend(states: torch.Tensor, block: Block, case: Case, mix: Mix) -> torch.Tensor:
    """Compute causal multi-head self-attention [batch, length, width]."""
    packed = states @ block.packed.to(states.dtype).mT
    query, key, value = (split_heads(each, case) for each in packed.chunk(3, -1))
    heads = mix(Inputs(case=case, query=query, key=key, value=value))
    return heads.transpose(1, 2).flatten(2) @ block.output.to(states.dtype).mT


def norm(states: torch.Tensor) -> torch.Tensor:
    """Subtract the mean of the features and divide by their deviation (Ba et al. 2016)."""
    centred = states - states.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred / (variance + EPSILON).sqrt()
