"""Gradients: dQ, dK and dV by the closed formula, chunk by chunk, with no graph of T×T."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from harness.attention.agreement import (
    Agreement,
    allowed,
    describe,
    largest,
    require_finite,
    wrong_form,
)
from harness.attention.inputs import Inputs
from harness.attention.reference import Chunk, chunks, scored

GRADIENT_FACTOR = 3.0  # times the error of the same formula in the inputs' dtype

NAMES = ("query", "key", "value")

Gradients = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def leaves(inputs: Inputs) -> Gradients:
    """Return the tensors that gradients are taken by, in the order of `NAMES`."""
    return inputs.query, inputs.key, inputs.value


def oracle_gradients(inputs: Inputs, grad_output: torch.Tensor) -> Gradients:
    """Return float64 gradients of query, key and value for grad_output [B, H, Tq, Dv].

    With weights P and output O: dV = Pᵀ dO, dS = P ∘ (dO Vᵀ - rowsum(dO ∘ O)),
    dQ = scale dS K, dK = scale dSᵀ Q. A row without a key gives no gradient.
    """
    return gradients_in(inputs, grad_output, dtype=torch.float64)


def gradients_in(inputs: Inputs, grad_output: torch.Tensor, *, dtype: torch.dtype) -> Gradients:
    """Compute the formula in `dtype`, summing dK and dV over the chunks in float32 or better."""
    case, scale = inputs.case, inputs.scale
    wide = torch.promote_types(dtype, torch.float32)
    grad_key = torch.zeros_like(inputs.key, dtype=wide)
    grad_value = torch.zeros_like(inputs.value, dtype=wide)
    groups = grad_output.detach().reshape(
        case.batch, case.heads_kv, -1, case.length_query, case.dim_value
    )
    parts = []
    for chunk in chunks(inputs, rows=None, dtype=dtype):
        seed = groups[:, :, :, chunk.rows.to(groups.device)].flatten(2, 3).to(dtype)
        weights = _weights(chunk.query * scale, chunk)
        grad_value[:, :, chunk.columns] += weights.mT @ seed
        grad_weights = seed @ chunk.value.mT
        along = (grad_weights * weights).sum(-1, keepdim=True)
        grad_scores = (grad_weights - along) * weights * scale
        grad_key[:, :, chunk.columns] += grad_scores.mT @ chunk.query
        parts.append(
            (grad_scores @ chunk.key).view(
                *chunk.query.shape[:2], -1, len(chunk.rows), case.dim_key
            )
        )
    grad_query = torch.cat(parts, dim=3).flatten(1, 2)
    return grad_query, grad_key.to(dtype), grad_value.to(dtype)


def _weights(query: torch.Tensor, chunk: Chunk) -> torch.Tensor:
    scores, drop = scored(query, chunk.key, chunk.bias), chunk.drop
    if drop is None:
        return scores.softmax(-1)
    return scores.masked_fill_(drop, float("-inf")).softmax(-1).masked_fill(drop, 0.0)


def check_gradients(
    gradients: Sequence[torch.Tensor | None], inputs: Inputs, *, grad_output: torch.Tensor
) -> Agreement:
    """Compare dQ, dK and dV with the oracle's; for several, keep one `GradientOracle`."""
    return GradientOracle(inputs, grad_output).check(gradients)


class GradientOracle:
    """Hold the gradients that all backends of one case are compared with, computed once.

    Raises ValueError when they are not finite: that is an error of the case.
    """

    names: tuple[str, ...] = NAMES
    references: tuple[torch.Tensor, ...]
    naive: tuple[torch.Tensor, ...]

    def __init__(self, inputs: Inputs, grad_output: torch.Tensor) -> None:
        self.references = oracle_gradients(inputs, grad_output)
        for reference in self.references:
            require_finite(reference)
        self.naive = gradients_in(inputs, grad_output, dtype=inputs.query.dtype)

    def check(self, gradients: Sequence[torch.Tensor | None]) -> Agreement:
        """Return the agreement of the first gradient that disagrees, or of the worst."""
        pairs = zip(gradients, self.references, self.naive, self.names, strict=True)
        found = [_judge(got, right, rough, name=name) for got, right, rough, name in pairs]
        wrong = [item for item in found if not item.agrees]
        return wrong[0] if wrong else max(found, key=lambda item: item.error_rel or 0.0)


def _judge(
    got: torch.Tensor | None, reference: torch.Tensor, rough: torch.Tensor, *, name: str
) -> Agreement:
    if got is None:
        reason = f"gradient of {name}: none, the output does not depend on it"
        return Agreement(agrees=False, reason=reason)
    wrong = wrong_form(got, shape=tuple(reference.shape), dtype=rough.dtype)
    if wrong:
        return Agreement(agrees=False, reason=f"gradient of {name}: {wrong}")
    rows = torch.arange(reference.shape[2])
    (scale,) = largest(reference, [rows])
    (error,) = largest(got.double() - reference, [rows])
    (rough_error,) = largest(rough.double() - reference, [rows])
    limit = allowed(rough_error, scale, dtype=got.dtype, factor=GRADIENT_FACTOR)
    finite, agrees = error < float("inf"), error <= limit
    told = describe((got.double() - reference).abs(), rows=rows, limit=limit)
    return Agreement(
        agrees=agrees,
        error_max=error if finite else None,
        error_rel=error / scale if finite and scale else None,
        tolerance=limit,
        reason=None if agrees else f"gradient of {name}: {told}",
    )
