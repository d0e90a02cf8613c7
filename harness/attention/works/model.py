"""Model: a toy model of language: its weights, its right logits and gradients by formulas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import torch

from harness.attention.agreement import Agreement, require_finite
from harness.attention.gradients import GradientOracle
from harness.attention.inputs import Inputs, keep_mask
from harness.attention.reference import by_rows, exact, plain
from harness.attention.works.layer import Answer, draw_weight, split_heads
from harness.cases.case import Case
from harness.cases.costs import BLOCKS, VOCABULARY, WIDENING

EPSILON = 1e-5  # added to the variance by a norm
# From query, key and value of all heads to the heads [batch, heads, length, dim].
# `rows=` are the positions wanted.
Mix = Callable[..., torch.Tensor]
EXACT: Mix = partial(by_rows, formula=exact)
PLAIN: Mix = partial(by_rows, formula=plain)
MATRICES = ("packed", "output", "widen", "narrow")


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


def make_text(case: Case, *, seed: int = 0) -> Model:
    """Make a model whose tokens are its own greedy continuation of a random first token.

    Then decoding step by step, each step fed with the token that it chose before, gives the same
    logits as one pass over the whole text, and only then.
    """
    model = make_model(case, seed=seed)
    return replace(model, tokens=greedy(model))


def greedy(model: Model) -> torch.Tensor:
    """Return the greedy tokens [batch, length] in float64 as the fixed point of whole passes.

    Pass n makes token n right whatever the others were, so as many passes as tokens are enough,
    and mostly far fewer (Jacobi decoding; Song et al. 2021).
    """
    tokens = model.tokens
    for _ in range(tokens.shape[1]):
        chosen = logits(replace(model, tokens=tokens), EXACT, dtype=torch.float64).argmax(-1)
        following = torch.cat([tokens[:, :1], chosen[:, :-1]], 1)
        if torch.equal(following, tokens):
            break
        tokens = following
    return tokens


@torch.no_grad()
def sequence_answer(model: Model) -> Answer:
    """Return the right logits at every position [batch, length, vocabulary]."""
    return Answer(
        logits(model, EXACT, dtype=torch.float64),
        logits(model, PLAIN, dtype=model.embedding.dtype),
    )


def step_answer(model: Model) -> Answer:
    """Return the right logits at the last position alone [batch, 1, vocabulary]."""
    end = torch.tensor([model.case.length_query - 1])
    return Answer(
        logits(model, EXACT, dtype=torch.float64, rows=end),
        logits(model, PLAIN, dtype=model.embedding.dtype, rows=end),
    )


def leaves(model: Model) -> tuple[torch.Tensor, ...]:
    """Return all weights: embeddings, each block's matrices, unembedding."""
    matrices = [getattr(block, name) for block in model.blocks for name in MATRICES]
    return (model.embedding, model.positions, *matrices, model.unembedding)


def names(model: Model) -> tuple[str, ...]:
    """Name the leaves in their order."""
    blocks = range(1, len(model.blocks) + 1)
    matrices = [f"{name} of block {number}" for number in blocks for name in MATRICES]
    return ("embedding", "positions", *matrices, "unembedding")


def with_leaves(model: Model, tensors: Sequence[torch.Tensor]) -> Model:
    """Return a copy that holds these tensors in place of its weights."""
    embedding, positions, *matrices, unembedding = tensors
    size = len(MATRICES)
    blocks = tuple(
        Block(*matrices[start : start + size]) for start in range(0, len(matrices), size)
    )
    return replace(
        model, embedding=embedding, positions=positions, blocks=blocks, unembedding=unembedding
    )


class ModelGradients(GradientOracle):
    """Hold the right gradients of every weight for a gradient of the logits.

    A mean loss over the positions sets such a gradient of the logits; any other will do as well,
    so a random one is taken.
    """

    def __init__(self, model: Model, grad_output: torch.Tensor) -> None:
        self.names = names(model)
        self.references = gradients_in(model, grad_output, dtype=torch.float64)
        for reference in self.references:
            require_finite(reference)
        self.naive = gradients_in(model, grad_output, dtype=model.embedding.dtype)

    def check(self, gradients: Sequence[torch.Tensor | None]) -> Agreement:
        """Compare the gradients [rows, columns] of all leaves."""
        return super().check([None if one is None else one[None, None] for one in gradients])


def gradients_in(
    model: Model, grad_output: torch.Tensor, *, dtype: torch.dtype
) -> tuple[torch.Tensor, ...]:
    """Differentiate the formulas in `dtype`; each gradient gets two axes of 1 in front."""
    with torch.enable_grad():
        tensors = [one.detach().to(dtype).requires_grad_() for one in leaves(model)]
        output = logits(with_leaves(model, tensors), whole, dtype=dtype)
        found = torch.autograd.grad(output, tensors, grad_output.detach().to(dtype))
    return tuple(one[None, None] for one in found)


def whole(inputs: Inputs) -> torch.Tensor:
    """Attend with the whole score matrix, so that autograd can follow (chunks are cut off)."""
    drop = ~keep_mask(inputs.case, device=inputs.query.device)
    scores = (inputs.query * inputs.scale) @ inputs.key.mT
    return scores.masked_fill(drop, float("-inf")).softmax(-1) @ inputs.value
