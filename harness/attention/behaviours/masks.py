"""Masks: which value of a mask keeps, and that a hidden key is hidden (claims A4, A7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.attention.behaviours.behaviour import behaviour, raw
from harness.records.record import Seen

if TYPE_CHECKING:
    from harness.attention.behaviours.subject import Subject

KEEP = (1, 1, 1, 1, 0, 0)


@behaviour(
    "mask-polarity",
    "in a boolean mask True keeps: two of six keys are hidden",
    "A4",
    "trouble-5",
)
def mask_polarity(subject: Subject) -> Seen:
    """All rows keep the first four of six keys."""
    from harness.attention.behaviours.example import weights_of

    inputs = subject.inputs(6, keep=[KEEP] * 6, heads=1)
    found = weights_of(subject, inputs)
    kept = "".join("1" if column.all() else "0" for column in (found > 0).unbind(-1))
    return Seen("111100", kept, kept == "111100")


@behaviour(
    "additive-equals-boolean", "an additive mask of 0 and -inf equals the boolean keep mask", "A4"
)
def additive_equals_boolean(subject: Subject) -> Seen:
    """A random mask of which every row keeps the first key at least."""
    import torch

    from harness.attention.behaviours.subject import same

    query, key, value = (subject.draw(2, 2, 9, 16, seed=seed) for seed in range(3))
    keep = torch.rand(9, 9, generator=torch.Generator().manual_seed(4)) < 0.5
    keep[:, 0] = True
    keep = keep.to(subject.device)[None, None]
    bias = torch.zeros(keep.shape, dtype=query.dtype, device=query.device)
    bias.masked_fill_(~keep, float("-inf"))
    boolean = raw(subject.backend, query, key, value, attn_mask=keep)
    additive = raw(subject.backend, query, key, value, attn_mask=bias)
    equal = same(additive, boolean)
    apart = (additive - boolean).abs().max().item()
    return Seen("equal", "equal" if equal else f"differ by {apart:.2g}", equal)


@behaviour(
    "key-padding-mask-polarity",
    "in nn.MultiheadAttention's key_padding_mask True drops, the opposite of the functional form",
    "A4",
    "trouble-5",
    alone=True,
)
def key_padding_mask_polarity(subject: Subject) -> Seen:
    """Ask for the weights over six keys."""
    import torch

    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(8, 1, batch_first=True, device=subject.device)
    hidden = torch.randn(1, 6, 8, generator=torch.Generator().manual_seed(0)).to(subject.device)
    drop = torch.tensor([KEEP], device=subject.device).bool()
    with torch.no_grad():
        _, weights = module(hidden, hidden, hidden, key_padding_mask=drop, need_weights=True)
    kept = "".join("1" if column.all() else "0" for column in (weights[0] > 0).unbind(-1))
    return Seen("000011", kept, kept == "000011")


@behaviour("padding-hides-keys", "what lies in padded keys and values changes no output row", "A7")
def padding_hides_keys(subject: Subject) -> Seen:
    """Replace padded keys and values by loud numbers."""
    from harness.attention.behaviours.invariants import masked_keys

    case = subject.inputs(12, batch=2, mask="padding").case
    # Asked for once through the subject, so that what it refuses is refused here.
    subject.output(subject.inputs(12, batch=2, mask="padding"))
    changed = masked_keys(subject.backend, case)
    return Seen("unchanged", changed or "unchanged", changed is None)


@behaviour(
    "padding-rows-still-answer",
    "rows of padded queries still give output, not 0: a loss has to leave them out",
    "A7",
)
def padding_rows(subject: Subject) -> Seen:
    """Look at the rows whose own position is padding."""
    inputs = subject.inputs(12, batch=2, mask="padding")
    output = subject.output(inputs)
    rows = [output[entry, :, kept:] for entry, kept in enumerate(inputs.case.kept_keys())]
    lively = all(bool((row.abs().amax(-1) > 0).all() and row.isfinite().all()) for row in rows)
    return Seen("finite and not 0", "finite and not 0" if lively else "0 or NaN", lively)


@behaviour("padding", "a batch with padding agrees with the oracle", "A7")
def padding(subject: Subject) -> Seen:
    """Two entries that keep different numbers of keys."""
    return subject.agrees(subject.inputs(24, batch=2, mask="padding"))
