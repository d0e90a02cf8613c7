"""The tiled backend: online softmax over blocks of keys, in plain torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.attention.backend import Backend, Call, backend
from harness.cases.masks import MASKS, alibi_slopes

if TYPE_CHECKING:
    import torch

    from harness.attention.inputs import Inputs
    from harness.cases.case import Case

# Rows × keys of a block. 128 × 256 of float32 over four heads is 512 KiB: it stays in the cache.
BLOCK_QUERY = 128
BLOCK_KEY = 256


@backend
class Tiled(Backend):
    """Walk over blocks of keys with a running maximum and sum, as FlashAttention does.

    Accumulates in float32 (float64 for float64), skips blocks that are hidden throughout and
    masks those on an edge only. Peak memory is the output and a few blocks. Its rule for a row
    without a key is 0. Source of the update: Milakov and Gimelshein, arXiv 1805.02867.
    """

    name = "tiled"
    dense = skips_hidden = True

    def unsupported(self, case: Case) -> str | None:
        """Refuse backward: it is not written, and autograd would keep every block."""
        if case.phase != "forward":
            return "forward only: autograd over the blocks would keep all T x T weights"
        return None

    def prepare(self, case: Case, inputs: Inputs) -> Call:
        """Plan the blocks, and make the row bounds that edge blocks compare with."""
        import torch

        groups = case.heads // case.heads_kv
        query = inputs.query.view(case.batch, case.heads_kv, groups, -1, case.dim_key)
        key, value, scale = inputs.key, inputs.value, inputs.scale
        wide = torch.promote_types(query.dtype, torch.float32)
        shape = (case.batch, case.heads, case.length_query, case.dim_value)
        bounds = _bounds(inputs)
        plan, slopes = _plan(case), _slopes(inputs, wide)

        def call() -> torch.Tensor:
            output = query.new_empty((*query.shape[:4], case.dim_value))
            for rows, blocks in plan:
                picked = query[:, :, :, rows].flatten(2, 3).to(wide) * scale
                state = OnlineSoftmax(picked, dim_value=case.dim_value)
                for columns, edge in blocks:
                    drop = _drop(bounds[:, :, rows], columns, groups=groups) if edge else None
                    keys, values = key[:, :, columns].to(wide), value[:, :, columns].to(wide)
                    bias = None if slopes is None else _bias(slopes, rows, columns)
                    state.add(keys, values, drop=drop, bias=bias)
                output[:, :, :, rows] = state.result().view_as(output[:, :, :, rows])
            return output.view(shape)

        return call


class OnlineSoftmax:
    """Hold the running maximum, sum and weighted sum of some scaled query rows [B, Hkv, n, Dk]."""

    def __init__(self, query: torch.Tensor, *, dim_value: int) -> None:
        import torch

        self.query = query
        # A finite start: exp(-inf - top) is then 0, not NaN, while a row has seen no key.
        lowest = torch.finfo(query.dtype).min
        self.top = query.new_full((*query.shape[:3], 1), lowest)
        self.total = torch.zeros_like(self.top)
        self.output = query.new_zeros((*query.shape[:3], dim_value))

    def add(
        self,
        key: torch.Tensor,
        value: torch.Tensor,
        *,
        drop: torch.Tensor | None,
        bias: torch.Tensor | None = None,
    ) -> None:
        """Take in a block of keys [B, Hkv, m, Dk] and values [B, Hkv, m, Dv]."""
        scores = self.query @ key.mT
        if bias is not None:
            scores += bias
        if drop is not None:
            scores.masked_fill_(drop, float("-inf"))
        top = scores.amax(-1, keepdim=True).maximum(self.top)
        weights = scores.sub_(top).exp_()
        fade = self.top.sub_(top).exp_()
        self.total.mul_(fade).add_(weights.sum(-1, keepdim=True))
        self.output.mul_(fade).add_(weights @ value)
        self.top = top

    def result(self) -> torch.Tensor:
        """Return the output rows; the sum is at least 1 unless the row saw no key."""
        return self.output.div_(self.total.clamp_(min=1.0))


def _plan(case: Case) -> list[tuple[slice, list[tuple[slice, bool]]]]:
    """List the query blocks, each with its key blocks and whether a mask edge crosses them."""
    kept = case.kept_keys()
    plan = []
    for first in range(0, case.length_query, BLOCK_QUERY):
        last = min(first + BLOCK_QUERY, case.length_query) - 1
        some_start, some_stop = (
            case.key_span(first, kept=max(kept))[0],
            case.key_span(last, kept=max(kept))[1],
        )
        all_start, all_stop = (
            case.key_span(last, kept=min(kept))[0],
            case.key_span(first, kept=min(kept))[1],
        )
        blocks = []
        for start in range(some_start, some_stop, BLOCK_KEY):
            stop = min(start + BLOCK_KEY, some_stop)
            blocks.append((slice(start, stop), start < all_start or stop > all_stop))
        plan.append((slice(first, last + 1), blocks))
    return plan


def _bounds(inputs: Inputs) -> torch.Tensor:
    """Return the span of keys of each row: integers [2, B or 1, Tq]; charged as mask bytes."""
    import torch

    case = inputs.case
    kept = sorted(set(case.kept_keys())) if case.batch > 1 else case.kept_keys()
    spans = [
        [case.key_span(row, kept=entry) for row in range(case.length_query)]
        for entry in (case.kept_keys() if len(kept) > 1 else kept)
    ]
    bounds = torch.tensor(spans, device=inputs.key.device).movedim(2, 0)
    if case.mask != "full":
        inputs.mask_bytes += bounds.numel() * bounds.element_size()
    return bounds


def _drop(bounds: torch.Tensor, columns: slice, *, groups: int) -> torch.Tensor:
    """Return True where a key of the block is hidden: [B or 1, 1, G·n, m]."""
    import torch

    keys = torch.arange(columns.start, columns.stop, device=bounds.device)
    start, stop = bounds.unsqueeze(-1)
    drop: torch.Tensor = ((keys < start) | (keys >= stop)).unsqueeze(1)
    return drop.repeat(1, 1, groups, 1)


def _slopes(inputs: Inputs, dtype: torch.dtype) -> torch.Tensor | None:
    """Return ALiBi's slopes [1, Hkv, G, 1, 1], or None under any other mask."""
    import torch

    case = inputs.case
    if not MASKS[case.mask].biased:
        return None
    slopes = torch.tensor(alibi_slopes(case.heads), dtype=dtype, device=inputs.key.device)
    inputs.mask_bytes += slopes.numel() * slopes.element_size()
    return slopes.view(1, case.heads_kv, -1, 1, 1)


def _bias(slopes: torch.Tensor, rows: slice, columns: slice) -> torch.Tensor:
    """Return the bias of a block [1, Hkv, G·n, m], made anew in each call as a kernel does."""
    import torch

    queries = torch.arange(rows.start, rows.stop, device=slopes.device)
    keys = torch.arange(columns.start, columns.stop, device=slopes.device)
    bias: torch.Tensor = (slopes * (keys - queries[:, None])).flatten(2, 3)
    return bias
