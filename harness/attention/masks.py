"""Masks: which (query, key) pairs a case allows, as tensors and row by row."""

from __future__ import annotations

import torch

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
    if case.mask in ("causal", "causal-padding", "sliding-window"):
        keep &= key <= query
    if case.mask == "causal-bottom-right":
        keep &= key <= query + (case.length_key - case.length_query)
    if case.window is not None:
        keep &= key > query - case.window
    if case.mask in ("padding", "causal-padding"):
        kept = torch.tensor(case.kept_keys(), device=device)
        return keep[None, None] & (key < kept[:, None, None])[:, None]
    return keep[None, None]
