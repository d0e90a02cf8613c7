"""The naive backend: the whole score matrix, softmax, and a second product."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.attention.backend import Backend, Call, backend
from harness.attention.spans import empty_rows

if TYPE_CHECKING:
    import torch

    from harness.attention.inputs import Inputs
    from harness.case import Case


@backend
class Naive(Backend):
    """Materialise softmax(query keyᵀ / sqrt(dim_key) + mask) and multiply by value.

    Two score matrices are alive at the peak: the scores and their softmax. The scale goes onto
    the query, so that float16 scores do not overflow before it. Its own rule for a row without
    a key is NaN (softmax of -inf alone), so a case with such rows is refused.
    """

    name = "naive"
    score_matrices = 2.0
    score_matrices_training = 3.0
    takes_mask = True

    def unsupported(self, case: Case) -> str | None:
        """Refuse cases with empty rows."""
        rows = empty_rows(case)
        return f"{rows} rows see no key: softmax of -inf alone is NaN" if rows else None

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        """Stack the query heads that share a key head as rows: views, no copies of keys."""
        shape = (case.batch, case.heads, case.length_query, case.dim_value)
        groups = (case.batch, case.heads_kv, -1, case.length_query, case.length_key)
        query = inputs.query.reshape(case.batch, case.heads_kv, -1, case.dim_key)
        key, value, scale = inputs.key, inputs.value, inputs.scale
        alibi = case.mask == "alibi"
        bias, drop = inputs.bias() if alibi else None, None if alibi else _drop(inputs)
        if bias is not None:
            bias = bias.view(bias.shape[0], *groups[1:])

        def call() -> torch.Tensor:
            scores = (query * scale) @ key.mT
            if bias is not None:
                scores.view(groups).add_(bias)
            if drop is not None:
                scores.view(groups).masked_fill_(drop, float("-inf"))
            scores = scores.softmax(-1)
            return (scores @ value).view(shape)

        return call


def _drop(inputs: Inputs) -> torch.Tensor | None:
    """Return True where a key is hidden: [B or 1, 1, 1, Tq, Tk]."""
    keep = inputs.keep()
    return None if keep is None else keep.logical_not_().unsqueeze(2)
