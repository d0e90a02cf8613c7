"""Reference: the float64 oracle and the plain formulas it is compared with, by chunks of rows.

An output row depends on its own query alone, so rows are computed a few at a time and memory
stays bounded whatever the length. Nothing here comes from a backend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from harness.attention.inputs import Inputs, keep_mask, linear_bias
from harness.cases.masks import MASKS

# Bytes of one chunk of float64 scores. Measured at T=4096, 4 heads of 64, one core: 1.05 s with
# 8 MiB, which stays in the cache, against 2.6 s with 1 MiB and 2.2 s with 64 MiB.
CHUNK_BYTES = 8 * 2**20
FULL_ROWS = 4096  # up to this length every row is checked
SUBSET_ROWS = 256  # above it, at least so many
EDGE = 64  # tiles of kernels are multiples of it

Mask = torch.Tensor | None
# (scaled query [.., n, Dk], key [.., m, Dk], value [.., m, Dv], drop [.., n, m] or None, bias
# [.., n, m] or None) -> output
Formula = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, Mask, Mask], torch.Tensor]


def checked_rows(length: int, *, seed: int = 0) -> torch.Tensor:
    """Return the sorted query positions to check: all up to 4096, else a seeded subset.

    The subset holds the first and last rows, rows on both sides of tile edges, and random rows,
    at least 256 in all.
    """
    if length <= FULL_ROWS:
        return torch.arange(length)
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randperm(length // EDGE, generator=generator)[: SUBSET_ROWS // 4] * EDGE
    spots = [torch.arange(4), torch.arange(length - 4, length), edges, edges - 1, edges + 1]
    spots.append(torch.randperm(length, generator=generator)[:SUBSET_ROWS])
    rows = torch.cat(spots)
    return torch.tensor(sorted({row for row in rows.tolist() if 0 <= row < length}))


def scored(query: torch.Tensor, key: torch.Tensor, bias: Mask) -> torch.Tensor:
    """Return query keyᵀ, plus the bias where there is one, in the dtype of the query."""
    scores = query @ key.mT
    return scores if bias is None else scores.add_(bias)


def exact(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, drop: Mask, bias: Mask = None
) -> torch.Tensor:
    """Compute softmax(query keyᵀ) value in place; a row with every key dropped gives 0."""
    scores = scored(query, key, bias)
    if drop is not None:
        scores.masked_fill_(drop, float("-inf"))
    # The clamp keeps an empty row's exp(-inf - max) at 0; any other row's sum is at least 1.
    top = scores.amax(-1, keepdim=True).clamp_(min=torch.finfo(scores.dtype).min)
    weights = scores.sub_(top).exp_()
    return (weights @ value).div_(weights.sum(-1, keepdim=True).clamp_(min=1.0))


def plain(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, drop: Mask, bias: Mask = None
) -> torch.Tensor:
    """Compute the naive formula in the dtype given; an empty row gives NaN."""
    scores = scored(query, key, bias)
    if drop is not None:
        scores.masked_fill_(drop, float("-inf"))
    return scores.softmax(-1) @ value


def float32_scores(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, drop: Mask, bias: Mask = None
) -> torch.Tensor:
    """Compute scores and softmax in float32, round the weights to value's dtype, and sum."""
    scores = scored(query.float(), key.float(), bias)
    if drop is not None:
        scores.masked_fill_(drop, float("-inf"))
    return scores.softmax(-1).to(value.dtype) @ value


def oracle(inputs: Inputs, rows: torch.Tensor | None = None) -> torch.Tensor:
    """Return the float64 output [batch, heads, rows, dim_value]; empty rows give 0.

    `rows` are query positions (default: all of them). The scale goes onto the float64 query.
    """
    return by_rows(inputs, exact, rows=rows, dtype=torch.float64)


def by_rows(
    inputs: Inputs,
    formula: Formula,
    *,
    rows: torch.Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """Apply a formula chunk by chunk, in `dtype` (default: the inputs'), over these rows."""
    parts = [
        formula(chunk.query * inputs.scale, chunk.key, chunk.value, chunk.drop, chunk.bias).view(
            *chunk.query.shape[:2], -1, len(chunk.rows), inputs.case.dim_value
        )
        for chunk in chunks(inputs, rows=rows, dtype=dtype or inputs.query.dtype)
    ]
    return torch.cat(parts, dim=3).flatten(1, 2)


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Hold some query rows and the keys that they may see.

    The query heads that share a key head are stacked as rows: query [B, Hkv, G·n, Dk], key
    [B, Hkv, m, Dk], value [B, Hkv, m, Dv], drop [B or 1, 1, G·n, m] (True hides) or None, bias
    [1, Hkv, G·n, m] (added to the scores) or None.
    """

    rows: torch.Tensor
    columns: slice
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    drop: Mask
    bias: Mask = None


def chunks(inputs: Inputs, *, rows: torch.Tensor | None, dtype: torch.dtype) -> Iterator[Chunk]:
    """Cut the rows into chunks whose scores take about CHUNK_BYTES, casting key and value once."""
    case, device = inputs.case, inputs.query.device
    positions = torch.arange(case.length_query) if rows is None else rows.cpu()
    key, value = inputs.key.detach().to(dtype), inputs.value.detach().to(dtype)
    grouped = (case.batch, case.heads_kv, -1, case.length_query, case.dim_key)
    query = inputs.query.detach().view(grouped)
    step = max(1, CHUNK_BYTES // (case.batch * case.heads * case.length_key * 8))
    for first in range(0, len(positions), step):
        part = positions[first : first + step]
        drop, columns = _drop(inputs, part)
        picked = query[:, :, :, part.to(device)].flatten(2, 3).to(dtype)
        yield Chunk(
            rows=part,
            columns=columns,
            query=picked,
            key=key[:, :, columns],
            value=value[:, :, columns],
            drop=drop,
            bias=_bias(inputs, part, columns=columns, dtype=dtype),
        )


def _bias(inputs: Inputs, rows: torch.Tensor, *, columns: slice, dtype: torch.dtype) -> Mask:
    """Return ALiBi's bias stacked as the query is, or None under any other mask."""
    case = inputs.case
    if not MASKS[case.mask].biased:
        return None
    bias = linear_bias(case, rows=rows.to(inputs.query.device), columns=columns, dtype=dtype)
    return bias.view(1, case.heads_kv, -1, bias.shape[-1])


def _drop(inputs: Inputs, rows: torch.Tensor) -> tuple[torch.Tensor | None, slice]:
    """Return what to hide, repeated for each group, and the slice of keys that any row sees."""
    case = inputs.case
    if inputs.explicit is not None:
        keep = inputs.explicit[:, :, rows.to(inputs.query.device)]
    elif case.mask == "full":
        return None, slice(0, case.length_key)
    else:
        keep = keep_mask(case, rows=rows, device=inputs.query.device)
    seen = keep.any(0).any(0).any(0).nonzero().flatten().tolist() or [0]
    columns = slice(seen[0], seen[-1] + 1)
    drop = ~keep[..., columns]
    return drop.repeat(1, 1, case.heads // case.heads_kv, 1), columns
