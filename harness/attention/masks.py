"""Masks: which (query, key) pairs a case allows, and ALiBi's bias, as tensors, row by row."""

from __future__ import annotations

import torch

from harness.attention.spans import alibi_slopes
from harness.case import Case


def keep_mask(
    case: Case, *, rows: torch.Tensor | None = None, device: torch.device | str = "cpu"
) -> torch.Tensor:
    """Return True where a query may look at a key: [B or 1, 1, rows, Tk].

    `rows` are query positions (default: all), so that a reference can ask for a few rows and
    never build the whole matrix. The batch axis is longer than 1 only under padding.
    """
    if rows is None:
        rows = torch.arange(case.length_query, device=device)
    query = rows.to(device)[:, None]
    key = torch.arange(case.length_key, device=device)[None, :]
    keep = torch.ones(len(rows), case.length_key, dtype=torch.bool, device=device)
    if case.mask in ("causal", "causal-padding", "sliding-window", "alibi"):
        keep &= key <= query
    if case.mask == "causal-bottom-right":
        keep &= key <= query + (case.length_key - case.length_query)
    if case.window is not None:
        keep &= key > query - case.window
    if case.mask in ("padding", "causal-padding"):
        kept = torch.tensor(case.kept_keys(), device=device)
        return keep[None, None] & (key < kept[:, None, None])[:, None]
    return keep[None, None]


def linear_bias(
    case: Case, *, rows: torch.Tensor, columns: slice, dtype: torch.dtype
) -> torch.Tensor:
    """Return ALiBi's bias [1, H, rows, columns]: slope times (key - query position).

    It is 0 at the query's own position and falls to the left; the causal mask is not in it.
    Added to the scores after the scale (Press et al. 2022, arXiv 2108.12409).
    """
    wide = torch.promote_types(dtype, torch.float32)  # bfloat16 has no 257
    slopes = torch.tensor(alibi_slopes(case.heads), dtype=wide, device=rows.device)
    keys = torch.arange(columns.start, columns.stop, device=rows.device)
    distance = (keys - rows[:, None]).to(wide)
    return (slopes[:, None, None] * distance)[None].to(dtype)
