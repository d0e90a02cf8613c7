"""Layer: what holds of positions and of a whole layer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour
from harness.records.record import Seen

if TYPE_CHECKING:
    import torch

    from harness.attention.behaviours.subject import Subject

ROW = 3
HEADS, DIM, LENGTH, BATCH = 4, 16, 6, 2


@behaviour(
    "rows-are-independent",
    "output i depends on query i alone among the queries: no position waits for another's output",
    "A8",
)
def rows_are_independent(subject: Subject) -> Seen:
    """Replace one query; its row alone may change, and has to."""
    from harness.attention.behaviours.subject import same

    inputs = subject.inputs(9, mask="causal")
    moved = inputs.query.clone()
    moved[:, :, ROW] = -2 * moved[:, :, ROW]
    before, after = subject.output(inputs), subject.output(replace(inputs, query=moved))
    changed = [row for row in range(9) if not same(after[:, :, row], before[:, :, row])]
    return Seen(f"row {ROW} changes", f"rows {changed} change", changed == [ROW])


@behaviour(
    "values-reach-allowed-rows",
    "a changed value reaches exactly the rows that may see it",
    "A8",
)
def values_reach_allowed_rows(subject: Subject) -> Seen:
    """Replace one value under a causal mask: rows from its position on change."""
    from harness.attention.behaviours.subject import same

    inputs = subject.inputs(9, mask="causal")
    moved = inputs.value.clone()
    moved[:, :, ROW] += 8
    before, after = subject.output(inputs), subject.output(replace(inputs, value=moved))
    changed = [row for row in range(9) if not same(after[:, :, row], before[:, :, row])]
    right = list(range(ROW, 9))
    return Seen(f"rows {right} change", f"rows {changed} change", changed == right)


@behaviour("shapes", "Q, K and V of [B, H, T, D] give an output of [B, H, T, D]", "A9")
def shapes(subject: Subject) -> Seen:
    """Batch, heads, length and dim all differ, so that a mixed-up axis shows."""
    found = subject.output(subject.inputs(7, batch=2, heads=3, dim_key=16, dim_value=16))
    right, shape = [2, 3, 7, 16], list(found.shape)
    seen = subject.agrees(subject.inputs(7, batch=2, heads=3, dim_key=16, dim_value=16))
    conforms = seen.conforms and shape == right
    return Seen(f"{right}, as the oracle", f"{shape}, {seen.observed}", conforms)


@behaviour("value-dim-differs", "dim_value may differ from dim_key", "A9", "trouble-9")
def value_dim_differs(subject: Subject) -> Seen:
    """dim_key 128 and dim_value 64."""
    return subject.agrees(subject.inputs(20, dim_key=128, dim_value=64))


@behaviour("cross-attention", "five queries of one sequence over nine keys of another", "A13")
def cross_attention(subject: Subject) -> Seen:
    """Tq = 5, Tk = 9."""
    return subject.agrees(subject.inputs(5, 9, batch=2))


@behaviour("cross-attention-tall", "nine queries over five keys", "A13")
def cross_attention_tall(subject: Subject) -> Seen:
    """Tq = 9, Tk = 5."""
    return subject.agrees(subject.inputs(9, 5, batch=2))


@behaviour("grouped-heads", "query heads share key heads in runs: head h takes h // (H / H_kv)")
def grouped_heads(subject: Subject) -> Seen:
    """Six query heads over two key heads, causal."""
    return subject.agrees(subject.inputs(18, heads=6, heads_kv=2, mask="causal"))


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
