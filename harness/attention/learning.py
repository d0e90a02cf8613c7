"""Learning: the gradients of the toy model's weights, by autograd over the formulas in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from harness.attention.agreement import Agreement
from harness.attention.gradients import GradientOracle
from harness.attention.inputs import Inputs
from harness.attention.masks import keep_mask
from harness.attention.model import Block, Model, logits
from harness.attention.tolerance import require_finite

MATRICES = ("packed", "output", "widen", "narrow")


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
