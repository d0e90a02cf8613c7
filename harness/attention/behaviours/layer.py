"""Layer: heads side by side, times W^O, are nn.MultiheadAttention (claim A10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour
from harness.conformance import Seen

if TYPE_CHECKING:
    import torch

    from harness.attention.behaviours.subject import Subject

HEADS, DIM, LENGTH, BATCH = 4, 16, 6, 2


@behaviour(
    "multi-head", "concatenated heads times W^O equal nn.MultiheadAttention with copied weights",
    "A10",
)  # fmt: skip
def multi_head(subject: Subject) -> Seen:
    """Project, attend with the backend, concatenate, project; self-attention without a mask."""
    return compared(subject, causal=False)


@behaviour(
    "multi-head-causal", "the same with a causal mask, which the module takes as a keep-out mask",
    "A10",
)  # fmt: skip
def multi_head_causal(subject: Subject) -> Seen:
    """As above; in the module's attn_mask True keeps out."""
    return compared(subject, causal=True)


def compared(subject: Subject, *, causal: bool) -> Seen:
    """Compute the layer both ways from the same weights."""
    import torch

    from harness.attention.behaviours.subject import compare

    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(HEADS * DIM, HEADS, batch_first=True)
    module = module.to(device=subject.device, dtype=subject.torch_dtype)
    hidden = subject.draw(BATCH, LENGTH, HEADS * DIM)
    drop = torch.ones(LENGTH, LENGTH, dtype=torch.bool, device=subject.device).triu(1)
    options = {"attn_mask": drop} if causal else {}
    with torch.no_grad():
        right, _ = module(hidden, hidden, hidden, need_weights=False, **options)
        found = by_hand(subject, module, hidden, mask="causal" if causal else "full")
    seen = compare(found, right)
    apart = (found - right).abs().max().item()
    return Seen("equal", "equal" if seen.conforms else f"off by {apart:.2g}", seen.conforms)


def by_hand(
    subject: Subject, module: torch.nn.MultiheadAttention, hidden: torch.Tensor, *, mask: str
) -> torch.Tensor:
    """Return Concat(heads) W^O [B, T, H·D], the heads computed by the backend."""
    from dataclasses import replace

    weight, bias = module.in_proj_weight, module.in_proj_bias
    assert weight is not None
    projected = hidden @ weight.mT + bias
    query, key, value = (
        part.view(BATCH, LENGTH, HEADS, DIM).transpose(1, 2) for part in projected.chunk(3, dim=-1)
    )
    inputs = subject.inputs(
        LENGTH, batch=BATCH, heads=HEADS, dim_key=DIM, dim_value=DIM, mask=mask
    )
    heads = subject.output(replace(inputs, query=query, key=key, value=value))
    joined = heads.transpose(1, 2).flatten(2)
    return joined @ module.out_proj.weight.mT + module.out_proj.bias
