"""The packed backend: sequences of different lengths without padding, one call for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.attention.backend import Backend, Call, backend

if TYPE_CHECKING:
    import torch

    from harness.cases.case import Case


@backend
class PackedSdpa(Backend):
    """Call torch's scaled_dot_product_attention once per sequence, without any mask tensor.

    What a varlen kernel does in one launch: no padded key is read and no padded query answered.
    """

    name = "packed-sdpa"
    work = "packed"

    def prepare(self, case: Case, inputs: Any) -> Call:
        """Cut views of each sequence; the answers are joined as [1, heads, tokens, dim]."""
        import torch
        from torch.nn.functional import scaled_dot_product_attention

        tensors = (inputs.query, inputs.key, inputs.value)
        sequences = [[t[:, :, where] for t in tensors] for where in inputs.sequences()]
        causal = inputs.causal

        def call() -> torch.Tensor:
            answers = [
                scaled_dot_product_attention(query, key, value, is_causal=causal)
                for query, key, value in sequences
            ]
            return torch.cat(answers, dim=2)

        return call
